"""Mistakes in a schedule, found before a cluster starts, each with its path in the step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from faults.schedules.entries import NestedEntry, ScheduleEntry, SequencePart, TogetherPart
from faults.schedules.state import brokers_down_limit
from faults.schedules.tracks import At, Following, Repeating, Track, WhenTrue, tracks
from faults.shared.fault_spec import FaultSpec
from faults.targets import Followers
from faults.targets.target_context import ClusterShape
from harness.model.errors import did_you_mean

_MANY = 200
"""The greatest number of occurrences of a repeated fault that are compared with other faults."""

Window = tuple[float, float]
Windows = tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """A mistake in words, and its path within the step (`faults[1].random.menu[0].fault`); what is expected
    and what was found, if `what` does not say so."""

    where: str
    what: str
    expected: str | None = None
    found: str | None = None

    @property
    def message(self) -> str:
        """All of it but the path, in one line."""
        parts = (("expected", self.expected), ("found", self.found))
        more = ", ".join(f"{label} {text}" for label, text in parts if text is not None)
        return f"{self.what}: {more}" if more else self.what


def schedule_problems(
    entries: Sequence[ScheduleEntry],
    shape: ClusterShape,
    *,
    seconds: float | None = None,
    at_most_down: int | None = None,
    before: Mapping[str, FaultSpec] | None = None,
) -> list[Problem]:
    """All mistakes in a step's entries.

    `seconds` is when the step ends at the latest (None: not known); `before` holds the faults that were
    injected before it and are open, by their path in the file.
    """
    before = before or {}
    all_tracks = tracks(entries)
    return [
        *_names(entries, all_tracks),
        *(problem for track in all_tracks for problem in _times(track, seconds)),
        *(_too_late(all_tracks, seconds) if seconds is not None else ()),
        *(problem for track in all_tracks for problem in _condition(track, shape)),
        *(problem for track in all_tracks for problem in _impossible(track, shape)),
        *_limits(all_tracks, shape, brokers_down_limit(entries, at_most_down), before),
        *_contradictions(all_tracks, shape, seconds, before),
    ]


def _with_paths(
    entries: Sequence[NestedEntry | ScheduleEntry], around: str
) -> Iterator[tuple[str, NestedEntry | ScheduleEntry]]:
    """Every entry with its path, including entries inside others."""
    for number, entry in enumerate(entries):
        where = f"{around}[{number}]"
        yield where, entry
        if isinstance(entry, SequencePart):
            yield from _with_paths(entry.sequence, f"{where}.sequence")
        elif isinstance(entry, TogetherPart):
            yield from _with_paths(entry.together, f"{where}.together")


def _names(entries: Sequence[ScheduleEntry], found: Sequence[Track]) -> Iterator[Problem]:
    names = {where: entry.name for where, entry in _with_paths(entries, "faults") if entry.name is not None}
    counts = Counter(names.values())
    yield from (
        Problem(where, f"two entries are named {name!r}") for where, name in names.items() if counts[name] > 1
    )
    for number, track in enumerate(found):
        awaited = track.begin.condition.awaits if isinstance(track.begin, WhenTrue) else None
        if awaited is None:
            continue
        if awaited not in counts:
            hint = did_you_mean(awaited, counts, f"the named entries are: {', '.join(counts) or 'none'}")
            yield Problem(f"{track.where}.after", f"no entry has the name {awaited!r}: {hint}")
        elif _waits_for_itself(found, number):
            yield Problem(
                f"{track.where}.after", f"it waits for {awaited!r}, which waits for it: neither begins"
            )


def _waits_for_itself(found: Sequence[Track], number: int) -> bool:
    before = set(_predecessors(found, number))
    while more := {predecessor for each in before for predecessor in _predecessors(found, each)} - before:
        before |= more
    return number in before


def _predecessors(found: Sequence[Track], number: int) -> tuple[int, ...]:
    how = found[number].begin
    if isinstance(how, Following):
        return how.tracks
    if isinstance(how, WhenTrue) and how.condition.awaits is not None:
        return tuple(other for other, track in enumerate(found) if how.condition.awaits in track.names)
    return ()


def _times(track: Track, seconds: float | None) -> Iterator[Problem]:
    how = track.begin
    if isinstance(how, At) and seconds is not None and how.seconds >= seconds:
        yield Problem(track.where, f"the step lasts {seconds:g} s: a fault at {how.seconds:g} s never comes")
    if not isinstance(how, Repeating):
        return
    first = how.first + (how.gap[1] if how.ahead else 0.0)
    ends = [end for end in (seconds, how.until) if end is not None]
    if how.until is not None and first > how.until:
        yield Problem(
            track.where, f"`until` is {how.until:g} s, but the first may come as late as {first:g} s"
        )
    elif seconds is not None and first >= seconds:
        yield Problem(track.where, f"the step lasts {seconds:g} s: a fault at {first:g} s never comes")
    elif how.times is not None and ends and not how.ahead:
        last = first + (how.times - 1) * how.gap[0]
        if last >= min(ends):
            yield Problem(
                track.where,
                f"the last of {how.times} comes at {last:g} s, but none begins after {min(ends):g} s",
            )


def _too_late(found: Sequence[Track], seconds: float) -> Iterator[Problem]:
    """Parts of sequences that cannot begin before the step ends, even if heals took no time."""
    earliest: list[float | None] = []
    for track in found:
        how = track.begin
        begin = how.seconds if isinstance(how, At) else None
        if isinstance(how, Following):
            # The predecessors of a track come before it in the list.
            ends = [(earliest[before], found[before].picks[0].lasting[0]) for before in how.tracks]
            known = [start + lasting for start, lasting in ends if start is not None]
            begin = max(known) + how.pause if len(known) == len(ends) else None
            if begin is not None and begin >= seconds:
                yield Problem(
                    track.where, f"it cannot begin before {begin:g} s, and the step lasts {seconds:g} s"
                )
        earliest.append(begin)


def _condition(track: Track, shape: ClusterShape) -> Iterator[Problem]:
    if not isinstance(track.begin, WhenTrue):
        return
    condition, where = track.begin.condition, f"{track.where}.after"
    for partition in (condition.partition, condition.leader_moved):
        if partition is not None and partition >= shape.partitions:
            yield Problem(where, f"no partition {partition}: the topic has 0 to {shape.partitions - 1}")
    if condition.isr_below is not None and condition.isr_below > shape.replication_factor:
        yield Problem(
            where,
            f"an ISR never has {condition.isr_below} members: topic.replication_factor is "
            f"{shape.replication_factor}",
        )


def _impossible(track: Track, shape: ClusterShape) -> Iterator[Problem]:
    for pick in track.picks:
        try:
            pick.fault.warnings(shape)
        except ValueError as error:
            yield Problem(pick.where, str(error))


def _limits(
    found: Sequence[Track], shape: ClusterShape, limit: int | None, before: Mapping[str, FaultSpec]
) -> Iterator[Problem]:
    if limit is None:
        return
    down = {where: fault.max_brokers_down(shape) for where, fault in before.items()}
    since = [where for where, count in down.items() if count]
    for track in found:
        for pick in track.picks:
            downs = pick.fault.max_brokers_down(shape)
            if downs and downs + sum(down.values()) > limit:
                already = f", and {sum(down.values())} down since {', '.join(since)}" if since else ""
                yield Problem(
                    pick.where,
                    f"it takes up to {downs} broker(s) down{already}: "
                    f"with at_most_down {limit} it never begins",
                )


def _contradictions(
    found: Sequence[Track], shape: ClusterShape, seconds: float | None, before: Mapping[str, FaultSpec]
) -> Iterator[Problem]:
    """Pairs of faults that stop the process of the same node at overlapping times."""
    always = ((0.0, float("inf")),)
    held = [(where, fault, always) for where, fault in before.items() if fault.injection.stops_process]
    mine = [
        (track.where, track.picks[0].fault, _windows(track, seconds))
        for track in found
        if not track.from_menu and track.picks[0].fault.injection.stops_process
    ]
    pairs = [*((earlier, later) for earlier in held for later in mine), *combinations(mine, 2)]
    for (first, fault, windows), (second, other, others) in pairs:
        for (start, end), (begin, until) in _overlaps(windows, others):
            nodes = _same_nodes(fault, other, shape, at_once=start == begin)
            if nodes is not None:
                span = f"from {start:g} s to {end:g} s" if end != float("inf") else "when the step begins"
                yield Problem(
                    second,
                    f"{other.name()} of {nodes} from {begin:g} s to {until:g} s contradicts the "
                    f"{fault.name()} at {first}, which has it {span}",
                )
                break


def _windows(track: Track, seconds: float | None) -> Windows:
    """When its fault is open, as far as that is known (if heals took no time)."""
    how, lasting = track.begin, track.picks[0].lasting[0]
    if isinstance(how, At):
        return ((how.seconds, how.seconds + lasting),)
    if not isinstance(how, Repeating):
        return ()
    end = min(value for value in (seconds, how.until, float("inf")) if value is not None)
    begins = (how.first + number * how.gap[0] for number in range(min(how.times or _MANY, _MANY)))
    return tuple((begin, begin + lasting) for begin in begins if begin <= end)


def _overlaps(one: Windows, two: Windows) -> Iterator[tuple[Window, Window]]:
    return ((a, b) for a in one for b in two if a[0] < b[1] and b[0] < a[1])


def _same_nodes(one: FaultSpec, two: FaultSpec, shape: ClusterShape, *, at_once: bool) -> str | None:
    """Nodes that both always mean, in words. Targets that move, such as a leader, are the same only at the
    same time: a second kill of the leader some time later hits another broker."""
    for mine in one.targets():
        for theirs in two.targets():
            ours, others = mine.fixed_nodes(shape) or frozenset(), theirs.fixed_nodes(shape) or frozenset()
            if ours & others:
                return "node " + ", ".join(map(str, sorted(ours & others)))
            if theirs.possible_nodes(shape) <= ours or mine.possible_nodes(shape) <= others:
                return f"`{theirs}`"
            if mine == theirs and (at_once or isinstance(mine, Followers)):
                return f"`{theirs}`"
    return None
