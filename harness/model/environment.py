"""The environment variables for programs of the user."""

from __future__ import annotations

import os

ENGINE_SERVER_VARIABLE = "KAFKA_CHAOS_ENGINE_SERVER"
"""The URLs of a command's engine servers, for its worker processes: JSON (`harness.check_jobs.engines`)."""

_OF_THIS_PROCESS = ("SPARK_CONNECT_MODE_ENABLED", ENGINE_SERVER_VARIABLE)
"""Variables that this process has set for itself and its workers. PySpark looks at the first to know that its
functions are for a Spark Connect server; an application with a Spark of its own must not inherit it."""


def users_environment() -> dict[str, str]:
    """The variables of this process, as its user set them, for a program that it starts."""
    return {name: value for name, value in os.environ.items() if name not in _OF_THIS_PROCESS}
