"""What one producer is to do in a step, and where it writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class RecordStream:
    """Where one producer writes, and the identity of its records."""

    producer: int
    topic: str
    partitions: int
    run_id: int
    seed: int


@dataclass(frozen=True, slots=True)
class StepOrder:
    """One producer's share of a write step, which ends at the first limit that is reached (None: no limit).

    `until` is a time.monotonic(), `rate` is in records per second. With a `rival` the producer sends
    `records`, calls it, and sends as many more, all in one transaction. It begins another producer, waits for
    what that writes unless its argument says that the step is stopped, and returns whether that producer has
    taken over the transactional.id.
    """

    step: int
    records: int | None
    until: float | None = None
    rate: float | None = None
    rival: Callable[[Callable[[], bool]], bool] | None = None


@dataclass(frozen=True, slots=True)
class RivalOrder:
    """A rival `name` of producer `of` is to begin, with its transactional.id unless `same_id` is False, and
    each of the two to send `records`."""

    name: str
    of: int
    records: int
    same_id: bool


class Polled(Protocol):
    """The records that a reader has received, from which transactions take theirs."""

    def take(self) -> tuple[int, int]:
        """Take the next records: (`position` of the first one in the reader's journal, their number)."""
