"""Objects of Java without a JVM."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from py4j.protocol import Py4JJavaError


class JavaError(Py4JJavaError):  # type: ignore[misc]
    """A Java exception without a JVM."""

    def __init__(self, name: str, message: str | None = None, cause: Any = None) -> None:
        Exception.__init__(self, name)
        kind = SimpleNamespace(getName=lambda: name)
        self.java_exception = SimpleNamespace(
            getClass=lambda: kind, getMessage=lambda: message, getCause=lambda: cause
        )

    def __str__(self) -> str:
        return self.args[0]
