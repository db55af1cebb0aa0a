"""Measures how long each phase of a run takes."""

from __future__ import annotations

import time
from collections.abc import Callable

CLEAN, TOPICS, CLIENTS, STEPS, HEAL, CLOSE = (
    "looking for faults left open",
    "topics",
    "clients ready",
    "steps",
    "healing",
    "clients closing",
)
SETTLE, READ = "brokers agreeing", "final read"


class PhaseTimer:
    """Seconds by phase. Entering a phase ends the one before; the times of a repeated phase are added."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seconds: dict[str, float] = {}
        self._phase: str | None = None
        self._since = 0.0

    def enter(self, phase: str | None) -> None:
        """Enter this phase (None: no phase)."""
        now = self._clock()
        if self._phase is not None:
            self._seconds[self._phase] = self._seconds.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = phase, now

    def seconds(self) -> dict[str, float]:
        """Phase -> seconds so far, rounded to milliseconds, in the order of first entry."""
        return {phase: round(seconds, 3) for phase, seconds in self._seconds.items()}
