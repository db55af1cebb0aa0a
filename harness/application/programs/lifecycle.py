"""What built-in applications say, and how they are told to stop."""

from __future__ import annotations

import signal
import threading

READY = "kafka-chaos application: ready"
"""The line that an application prints once it reads; its `ready` condition waits for it."""


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
