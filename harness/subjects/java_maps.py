"""Settings for a JVM of Kafka's own applications."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LOG = "-Dorg.slf4j.simpleLogger"
LOG_TO_STDERR = (
    f"{_LOG}.defaultLogLevel=warn",
    f"{_LOG}.showDateTime=true",
    f"{_LOG}.dateTimeFormat=HH:mm:ss.SSS",
    f"{_LOG}.showShortLogName=true",
)
"""Options by which slf4j-simple prints warnings and errors, with their times."""


def java_map(gateway: Any, settings: Mapping[str, str]) -> Any:
    """The settings as a java.util.Map."""
    made = gateway.jvm.java.util.HashMap()
    for name, value in settings.items():
        made.put(name, value)
    return made
