"""The environment variables for programs of the user."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

ENGINE_SERVER_VARIABLE = "KAFKA_CHAOS_ENGINE_SERVER"
"""The URLs of a command's engine servers, for its worker processes: JSON (`harness.check_jobs.engines`)."""

_OF_THIS_PROCESS = ("SPARK_CONNECT_MODE_ENABLED", ENGINE_SERVER_VARIABLE)
"""Variables that this process has set for itself and its workers. PySpark looks at the first to know that its
functions are for a Spark Connect server; an application with a Spark of its own must not inherit it."""


def users_environment() -> dict[str, str]:
    """The variables of this process, as its user set them, for a program that it starts."""
    return {name: value for name, value in os.environ.items() if name not in _OF_THIS_PROCESS}


def check_passable(arguments: Iterable[str], environment: Mapping[str, str]) -> None:
    """Refuse arguments and variables that no program can be given.

    Raises:
        ValueError: a name cannot be that of a variable, or a text holds a zero byte or half of a surrogate
            pair.
    """
    for name in environment:
        if not name or "=" in name:
            raise ValueError(f"{name!r} cannot be the name of an environment variable")
    for text in (*arguments, *environment, *environment.values()):
        if "\0" in text or not _encodable(text):
            raise ValueError(f"{text!r} holds a character that no program can be given")


def _encodable(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True
