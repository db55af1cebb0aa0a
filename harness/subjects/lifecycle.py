"""The line that built-in applications print when they are ready, and how they are stopped."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

READY = "kafka-chaos application: ready"
"""The line that an application prints once it reads; its `ready` condition waits for it."""


JARS_VARIABLE = "APPLICATION_JARS"
"""Names the jars of an application that has some, as a class path."""


def given_jars() -> tuple[Path, ...]:
    """The jars that this application was given; none if it was started by hand."""
    return tuple(Path(one) for one in os.environ.get(JARS_VARIABLE, "").split(os.pathsep) if one)


def ready() -> None:
    print(READY, flush=True)


def say(text: str) -> None:
    print(f"kafka-chaos application: {text}", flush=True)


def stop_event() -> threading.Event:
    """Is set by SIGTERM and by SIGINT."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    return stopping
