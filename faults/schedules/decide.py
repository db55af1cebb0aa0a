"""When faults begin and end, as a pure function of seed, clock, topology views and the state of the faults.

`decide` is called repeatedly while a write step runs, and returns what to inject and what to heal now. It
reads no clock and queries no cluster. A fault that takes brokers down waits while more than `at_most_down`
would be down; waiting faults begin in the order in which they came due. `simulate` says what a schedule will
do: it runs `decide` with faults that take no time to inject and heal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from faults.schedules.brokers_down import Begun, most_brokers_down
from faults.schedules.entries import StepCondition
from faults.schedules.state import (
    Cursor,
    Decision,
    FaultState,
    GiveUp,
    HealDecision,
    Now,
    Occurrence,
    OpenFaultState,
    Schedule,
    ScheduleState,
    Start,
)
from faults.schedules.tracks import At, Following, Repeating, Track, WhenTrue

_RETRY_SECONDS = 0.5
"""A fault that was put off is tried again after this time."""


def begin(schedule: Schedule) -> ScheduleState:
    """The state at the beginning of a step."""
    cursors = []
    for track in schedule.tracks:
        how = track.begin
        due = None
        if isinstance(how, At):
            due = how.seconds
        elif isinstance(how, Repeating):
            due = how.first + (track.gap(schedule.seed, -1) if how.ahead else 0.0)
        cursors.append(Cursor(due=due))
    return ScheduleState(tuple(cursors))


def decide(schedule: Schedule, state: ScheduleState, now: Now) -> tuple[tuple[Decision, ...], ScheduleState]:
    """What to do now, and the new state. Call it again when something has changed, or soon."""
    state = _with_progress(schedule, state, now)
    decisions: list[Decision] = []
    still: list[OpenFaultState] = []
    for open_fault in state.open:
        shown = now.phases.get(open_fault.start.occurrence) is FaultState.SHOWN
        if shown and not open_fault.healing and now.seconds >= open_fault.start.at + open_fault.start.lasting:
            decisions.append(HealDecision(open_fault.start.occurrence))
            open_fault = replace(open_fault, healing=True)
        still.append(open_fault)
    state = replace(state, open=tuple(still))
    if now.ended or schedule.over(now.seconds):
        return tuple(decisions), state
    given_up, state = _due(schedule, state, now)
    started, state = _starts(schedule, state, now)
    return (*decisions, *given_up, *started), state


def unfinished(schedule: Schedule, state: ScheduleState) -> bool:
    """Whether a fault is open, or one that is due within the step has not begun."""
    each = zip(schedule.tracks, state.cursors, strict=True)
    return state.busy or bool(state.waiting) or any(_next_due(schedule, *pair) is not None for pair in each)


def describe_unmet(schedule: Schedule, state: ScheduleState) -> tuple[str, ...]:
    """The faults that had not begun when the step ended, one sentence each."""
    left = [
        f"{_describe_track(schedule, start.occurrence.track)} was put off, and never began"
        for start, _ in state.waiting
        # A menu may end anywhere.
        if start.occurrence.number == 0 or not schedule.tracks[start.occurrence.track].from_menu
    ]
    for number, (track, cursor) in enumerate(zip(schedule.tracks, state.cursors, strict=True)):
        how = track.begin
        wanted = (how.times or 1) if isinstance(how, Repeating) and not track.from_menu else 1
        if cursor.begun >= wanted or cursor.over:
            continue
        why = "the step ended before it was due"
        if cursor.late:
            why = "it waited for other faults to be healed until the step ended"
        elif isinstance(how, WhenTrue):
            why = f"it was not seen that {how.condition}"
        elif isinstance(how, Following):
            why = "the fault before it was not healed when the step ended"
        often = f" began {cursor.begun} of {wanted} times" if wanted > 1 else " never began"
        left.append(f"{_describe_track(schedule, number)}{often}: {why}")
    return tuple(left)


def _describe_track(schedule: Schedule, number: int) -> str:
    track = schedule.tracks[number]
    kinds = " or ".join(dict.fromkeys(pick.fault.name() for pick in track.picks))
    return f"{track.where} ({kinds})"


def _with_progress(schedule: Schedule, state: ScheduleState, now: Now) -> ScheduleState:
    """Add the progress of the faults, and the leaders at the beginning."""
    cursors = list(state.cursors)
    still, waiting = [], list(state.waiting)
    for open_fault in state.open:
        number = open_fault.start.occurrence.track
        phase = now.phases.get(open_fault.start.occurrence, FaultState.BEGUN)
        if phase in (FaultState.INJECTED, FaultState.SHOWN, FaultState.HEALED):
            cursors[number] = replace(cursors[number], injected=True)
        if phase is FaultState.HEALED:
            cursors[number] = replace(cursors[number], healed=now.seconds)
        elif phase is FaultState.PUT_OFF:
            waiting.append((open_fault.start, now.seconds + _RETRY_SECONDS))
        else:
            still.append(replace(open_fault, failed=phase is FaultState.FAILED))
    leaders = dict(state.leaders)
    for track in schedule.tracks:
        moved = track.begin.condition.leader_moved if isinstance(track.begin, WhenTrue) else None
        if moved is not None and moved not in leaders and (leader := _leader(now, moved)) is not None:
            leaders[moved] = leader
    return replace(state, cursors=tuple(cursors), open=tuple(still), waiting=tuple(waiting), leaders=leaders)


def _due(schedule: Schedule, state: ScheduleState, now: Now) -> tuple[list[GiveUp], ScheduleState]:
    """Find the tracks that are due because of a condition, or of their predecessors."""
    given_up: list[GiveUp] = []
    cursors = list(state.cursors)
    for number, track in enumerate(schedule.tracks):
        cursor, how = cursors[number], track.begin
        if cursor.over or cursor.begun or cursor.due is not None:
            continue
        if isinstance(how, Following):
            ends = [state.cursors[before].healed for before in how.tracks]
            times = [end for end in ends if end is not None]
            if len(times) == len(ends):
                cursors[number] = replace(cursor, due=max(times) + how.pause)
        elif isinstance(how, WhenTrue):
            if _is_met(schedule, state, how.condition, now):
                cursors[number] = replace(cursor, due=now.seconds)
            elif how.within is not None and now.seconds >= how.within:
                why = f"{_describe_track(schedule, number)} never began: within {how.within:g} s"
                given_up.append(GiveUp(number, f"{why} it was not seen that {how.condition}"))
                cursors[number] = replace(cursor, over=True)
    return given_up, replace(state, cursors=tuple(cursors))


def _starts(schedule: Schedule, state: ScheduleState, now: Now) -> tuple[list[Start], ScheduleState]:
    """Begin the faults that are due and permitted beside the open ones."""
    cursors, opened = list(state.cursors), list(state.open)
    waiting = dict(state.waiting)
    candidates = [start for start, retry in state.waiting if retry <= now.seconds]
    for number, (track, cursor) in enumerate(zip(schedule.tracks, cursors, strict=True)):
        due = _next_due(schedule, track, cursor)
        if due is not None and due <= now.seconds:
            fault, lasting = track.draw(schedule.seed, cursor.begun)
            candidates.append(Start(Occurrence(number, cursor.begun), fault, lasting, due, now.seconds))
    limit = math.inf if schedule.at_most_down is None else schedule.at_most_down - now.down_before
    started = []
    blocked = False
    for start in sorted(candidates, key=lambda candidate: (candidate.due, candidate.occurrence)):
        number = start.occurrence.track
        downs = start.fault.max_brokers_down(schedule.shape)
        full = downs > 0 and (blocked or downs + sum(open_fault.downs for open_fault in opened) > limit)
        # A fault that waits for brokers to come back is not overtaken by others that take some down.
        blocked = blocked or full
        if full or _is_full(schedule.tracks[number], number, opened, start in waiting):
            if start not in waiting:
                cursors[number] = replace(cursors[number], late=True)
            continue
        if start in waiting:
            del waiting[start]
        else:
            cursors[number] = _next(schedule, number, cursors[number], now)
        started.append(replace(start, at=now.seconds))
        opened.append(OpenFaultState(started[-1], downs))
    return started, replace(state, cursors=tuple(cursors), open=tuple(opened), waiting=tuple(waiting.items()))


def _next_due(schedule: Schedule, track: Track, cursor: Cursor) -> float | None:
    """When the next fault of a track is due, if that is known and within the step."""
    if cursor.due is None or _finished(track, cursor):
        return None
    if isinstance(track.begin, Repeating) and schedule.seconds is not None and cursor.due >= schedule.seconds:
        return None
    return cursor.due


def _finished(track: Track, cursor: Cursor) -> bool:
    """Whether a track begins no more faults."""
    how = track.begin
    if not isinstance(how, Repeating):
        return cursor.over or cursor.begun > 0
    assert cursor.due is not None
    too_late = how.until is not None and cursor.due > how.until
    return too_late or (how.times is not None and cursor.begun >= how.times)


def _is_full(track: Track, number: int, opened: Sequence[OpenFaultState], retried: bool) -> bool:
    """Whether a repeating track has the greatest permitted number of faults open."""
    mine = sum(open_fault.start.occurrence.track == number for open_fault in opened)
    return isinstance(track.begin, Repeating) and not retried and mine >= track.begin.at_once


def _next(schedule: Schedule, number: int, cursor: Cursor, now: Now) -> Cursor:
    """The state of a track after one of its faults has begun."""
    track = schedule.tracks[number]
    due = None
    if isinstance(track.begin, Repeating):
        # A late call does not shift later faults; having had to wait does.
        assert cursor.due is not None
        base = now.seconds if cursor.late else cursor.due
        due = round(base + track.gap(schedule.seed, cursor.begun), 6)
    return replace(cursor, begun=cursor.begun + 1, due=due, late=False)


def _is_met(schedule: Schedule, state: ScheduleState, condition: StepCondition, now: Now) -> bool:
    if condition.acked is not None:
        return now.acked >= condition.acked
    if condition.leader_moved is not None:
        leader = _leader(now, condition.leader_moved)
        before = state.leaders.get(condition.leader_moved)
        return leader is not None and before is not None and leader != before
    if condition.awaits is not None:
        named = zip(schedule.tracks, state.cursors, strict=True)
        mine = [cursor for track, cursor in named if condition.awaits in track.names]
        if condition.injected is not None:
            return any(cursor.injected for cursor in mine)
        return all(cursor.healed is not None for cursor in mine)
    assert condition.isr_below is not None
    if now.view is None:
        return False
    which = range(schedule.shape.partitions) if condition.partition is None else (condition.partition,)
    seen = [now.view.partition(now.topic, partition) for partition in which]
    return any(partition is not None and len(partition.isr) < condition.isr_below for partition in seen)


def _leader(now: Now, partition: int) -> int | None:
    """The leader of a partition; None: there is none, or it is not known."""
    seen = None if now.view is None else now.view.partition(now.topic, partition)
    return None if seen is None or seen.leader < 0 else seen.leader


@dataclass(frozen=True, slots=True)
class Simulation:
    """The faults in order, and the greatest number of brokers that they take down at once. `cut`: a track
    without an end was simulated up to a number of faults only."""

    faults: tuple[Start, ...]
    most_down: int
    cut: bool


def simulate(
    schedule: Schedule, *, down_before: int = 0, open_before: Sequence[Begun] = (), each: int = 10
) -> Simulation:
    """All faults that do not depend on brokers or workload; at most `each` faults per track if the step's end
    is not known. `down_before` is what the schedule's limit counts of the faults that are `open_before`."""
    faults: list[Start] = []
    most = most_brokers_down(open_before, schedule.shape)
    limit = each if schedule.seconds is None else None
    for start, state in _played(schedule, down_before, limit):
        faults.append(start)
        mine = [Begun(open_fault.start.fault, open_fault.start.at) for open_fault in state.open]
        most = max(most, most_brokers_down([*open_before, *mine], schedule.shape))
    cut = limit is not None and any(fault.occurrence.number >= limit - 1 for fault in faults)
    return Simulation(tuple(faults), most, cut)


def _played(schedule: Schedule, down_before: int, limit: int | None) -> Iterator[tuple[Start, ScheduleState]]:
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
            seconds = _next_moment(schedule, state, seconds, limit)


def _next_moment(schedule: Schedule, state: ScheduleState, seconds: float, limit: int | None) -> float | None:
    """When something may happen again; None: never."""
    times = [open_fault.start.at + open_fault.start.lasting for open_fault in state.open]
    for cursor in state.cursors:
        if cursor.due is not None and (limit is None or cursor.begun < limit):
            times.append(cursor.due)
    later = [time for time in times if time > seconds]
    if schedule.seconds is not None:
        later = [time for time in later if time < schedule.seconds]
    return min(later, default=None)
