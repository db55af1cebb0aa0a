"""A schedule, its input, its decisions and its state, as plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from faults.schedules.entries import Random, ScheduleEntry
from faults.schedules.tracks import Track, tracks
from faults.shared.fault_spec import FaultSpec
from faults.targets.target_context import ClusterShape
from harness.model.broker_views import TopologyView


@dataclass(frozen=True, slots=True)
class Schedule:
    """All tracks of a step. `seconds` is when the step ends at the latest (None: not known beforehand),
    `at_most_down` the number of brokers that may be down at once (None: any). Faults that have to wait begin
    for `extra` seconds more."""

    tracks: tuple[Track, ...]
    seed: str
    shape: ClusterShape
    seconds: float | None = None
    at_most_down: int | None = None
    extra: float = 0.0

    @classmethod
    def of(
        cls,
        entries: Sequence[ScheduleEntry],
        seed: str,
        shape: ClusterShape,
        *,
        seconds: float | None = None,
        at_most_down: int | None = None,
        extra: float = 0.0,
    ) -> Schedule:
        """The schedule of a step's entries; the lowest limit on brokers down applies to all of them."""
        return cls(tracks(entries), seed, shape, seconds, brokers_down_limit(entries, at_most_down), extra)

    def over(self, seconds: float) -> bool:
        """Whether no fault begins any more; `seconds` is the time since the step began."""
        return self.seconds is not None and seconds >= self.seconds + self.extra


def brokers_down_limit(entries: Sequence[ScheduleEntry], at_most_down: int | None = None) -> int | None:
    """The limit on brokers down of a step: the lowest of its own and those of its menus."""
    limits = [entry.random.at_most_down for entry in entries if isinstance(entry, Random)]
    limits += [] if at_most_down is None else [at_most_down]
    return min(limits, default=None)


def to_the_millisecond(seconds: float) -> float:
    """Seconds as journals store them, rounded down: in a replay, a fault that began just before the end of a
    step must not begin at its end. A rounded value does not change."""
    return math.floor(round(seconds * 1000, 3)) / 1000


class FaultState(StrEnum):
    """The state of a fault that was begun, as its executor reports it."""

    BEGUN = "begun"
    PUT_OFF = "put-off"
    """It could not be injected beside the open faults; nothing was done, try again later."""
    INJECTED = "injected"
    SHOWN = "shown"
    """Its verification has ended, with whatever result: it may be healed."""
    HEALED = "healed"
    FAILED = "failed"
    """It could not be injected or healed, and counts as open."""


@dataclass(frozen=True, slots=True, order=True)
class Occurrence:
    """The nth fault (from 0) of a track."""

    track: int
    number: int


@dataclass(frozen=True, slots=True)
class Start:
    """Inject this now. It came due at `due` and begins at `at`, which is later if it had to wait."""

    occurrence: Occurrence
    fault: FaultSpec
    lasting: float
    due: float
    at: float


@dataclass(frozen=True, slots=True)
class HealDecision:
    """Heal this now."""

    occurrence: Occurrence


@dataclass(frozen=True, slots=True)
class GiveUp:
    """A condition did not hold in time: this track's fault never begins."""

    track: int
    why: str


Decision = Start | HealDecision | GiveUp


@dataclass(frozen=True, slots=True)
class Now:
    """One moment of a write step: `seconds` since it began, the number `acked` of success reports since then,
    the `phases` of the faults that were begun, and the number of brokers that earlier faults keep down
    (`down_before`). `ended`: no more faults may begin."""

    seconds: float
    phases: Mapping[Occurrence, FaultState]
    view: TopologyView | None = None
    topic: str = ""
    acked: int = 0
    down_before: int = 0
    ended: bool = False


@dataclass(frozen=True, slots=True)
class OpenFaultState:
    """A fault that was begun and is not healed yet; `start` as it was decided."""

    start: Start
    downs: int
    healing: bool = False
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Cursor:
    """The progress of a track. `due` is when its next fault comes due, if that is known; `late`: it came due
    and had to wait."""

    begun: int = 0
    due: float | None = None
    late: bool = False
    over: bool = False
    injected: bool = False
    healed: float | None = None


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """The state of `decide` between calls. `waiting` holds faults that were put off, with the time of the
    next try; `leaders` are those when the step began."""

    cursors: tuple[Cursor, ...]
    open: tuple[OpenFaultState, ...] = ()
    waiting: tuple[tuple[Start, float], ...] = ()
    leaders: Mapping[int, int] = field(default_factory=dict)

    @property
    def busy(self) -> bool:
        """Whether a fault that was begun has not been healed yet."""
        return any(not open_fault.failed for open_fault in self.open)
