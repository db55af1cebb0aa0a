"""Counts of sends by outcome."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from harness.model.journal import SendOutcome


@dataclass(frozen=True, slots=True)
class Progress:
    """Sends so far by outcome; `open` have no report yet. `errors` counts reports by error name."""

    sent: int = 0
    acked: int = 0
    unconfirmed: int = 0
    rejected: int = 0
    indeterminate: int = 0
    last_error: str | None = None
    errors: Mapping[str, int] = field(default_factory=dict)

    @property
    def open(self) -> int:
        return self.sent - self.acked - self.unconfirmed - self.rejected - self.indeterminate


class Tally:
    """Counts of one producer: its own thread adds to them, any thread may read them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent = 0
        self._outcomes: Counter[SendOutcome] = Counter()
        self._errors: Counter[str] = Counter()
        self._last_error: str | None = None

    def sent(self, count: int) -> None:
        with self._lock:
            self._sent += count

    def succeeded(self, outcome: SendOutcome, count: int) -> None:
        with self._lock:
            self._outcomes[outcome] += count

    def ended(self, outcomes: Iterable[SendOutcome], errors: list[str]) -> None:
        """Count sends by outcome, and the error names of those that have one."""
        with self._lock:
            self._outcomes.update(outcomes)
            self._errors.update(errors)
            self._last_error = errors[-1] if errors else self._last_error

    def open(self) -> int:
        with self._lock:
            return self._sent - self._outcomes.total()

    def progress(self) -> Progress:
        with self._lock:
            return Progress(
                sent=self._sent,
                last_error=self._last_error,
                errors=dict(self._errors),
                **{one.value: self._outcomes[one] for one in SendOutcome},
            )


def total(parts: Iterable[Progress]) -> Progress:
    """Sum over producers; `last_error` is that of the last producer that has one."""
    parts = list(parts)
    errors: Counter[str] = Counter()
    for part in parts:
        errors.update(part.errors)
    return Progress(
        sent=sum(part.sent for part in parts),
        last_error=next((part.last_error for part in reversed(parts) if part.last_error), None),
        errors=dict(errors),
        **{one.value: sum(getattr(part, one.value) for part in parts) for one in SendOutcome},
    )
