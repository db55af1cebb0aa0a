"""What a schedule will do: a run of `decide` with faults that take no time to inject and heal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from faults.schedules.decide import begin, decide
from faults.schedules.state import FaultState, HealDecision, Now, Occurrence, Schedule, ScheduleState, Start


@dataclass(frozen=True, slots=True)
class Simulation:
    """The faults in order, and the greatest number of brokers that they take down at once. `cut`: a track
    without an end was simulated up to a number of faults only."""

    faults: tuple[Start, ...]
    most_down: int
    cut: bool


def simulate(schedule: Schedule, *, down_before: int = 0, each: int = 10) -> Simulation:
    """All faults that do not depend on brokers or workload; at most `each` faults per track if the step's end
    is not known."""
    found: list[Start] = []
    most = down_before
    limit = each if schedule.seconds is None else None
    for start, state in _starts(schedule, down_before, limit):
        found.append(start)
        most = max(most, down_before + sum(one.downs for one in state.open))
    cut = limit is not None and any(one.occurrence.number >= limit - 1 for one in found)
    return Simulation(tuple(found), most, cut)


def _starts(schedule: Schedule, down_before: int, limit: int | None) -> Iterator[tuple[Start, ScheduleState]]:
    """Every start with the state after it."""
    state = begin(schedule)
    phases: dict[Occurrence, FaultState] = {}
    seconds: float | None = 0.0
    while seconds is not None:
        decisions, state = decide(schedule, state, Now(seconds, phases, down_before=down_before))
        for decision in decisions:
            if isinstance(decision, HealDecision):
                phases[decision.occurrence] = FaultState.HEALED
            elif isinstance(decision, Start):
                phases[decision.occurrence] = FaultState.SHOWN
                yield decision, state
        if not decisions:
            seconds = _next(schedule, state, seconds, limit)


def _next(schedule: Schedule, state: ScheduleState, seconds: float, limit: int | None) -> float | None:
    """When something may happen again; None: never."""
    times = [one.start.at + one.start.lasting for one in state.open]
    for cursor in state.cursors:
        if cursor.due is not None and (limit is None or cursor.begun < limit):
            times.append(cursor.due)
    later = [time for time in times if time > seconds]
    if schedule.seconds is not None:
        later = [time for time in later if time < schedule.seconds]
    return min(later, default=None)
