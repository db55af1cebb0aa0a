"""Entries unfolded into tracks: one fault each (or one menu), and the rule by which it begins.

Sequences and groups are resolved here: a part of a sequence is a track that begins when the one before it has
been healed. Random choices are a function of (seed, track, number), so they are known beforehand.
"""

from __future__ import annotations

import random
from collections.abc import Sequence as Many
from dataclasses import dataclass

from faults.schedules.entries import (
    IfImpossible,
    NestedEntry,
    Random,
    ScheduleEntry,
    SequencePart,
    StepCondition,
    TimedFault,
    TogetherPart,
)
from faults.shared.fault_spec import FaultSpec


@dataclass(frozen=True, slots=True)
class At:
    """Once, at a time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class WhenTrue:
    """Once, when a condition holds; given up after `within` seconds."""

    condition: StepCondition
    within: float | None


@dataclass(frozen=True, slots=True)
class Following:
    """Once, `pause` seconds after every one of these tracks has been healed."""

    tracks: tuple[int, ...]
    pause: float


@dataclass(frozen=True, slots=True)
class Repeating:
    """Repeatedly: first at `first`, then every `gap` seconds (least, greatest); at most `at_once` open.

    `ahead`: the first one is a gap later than `first`.
    """

    first: float
    gap: tuple[float, float]
    ahead: bool
    times: int | None
    until: float | None
    at_once: int


Begin = At | WhenTrue | Following | Repeating


@dataclass(frozen=True, slots=True)
class Pick:
    """A fault that may be drawn, in proportion to its weight, and its duration in seconds (least, most).
    `where` is the path of the fault in the step (`faults[0].random.menu[2].fault`)."""

    fault: FaultSpec
    lasting: tuple[float, float]
    where: str
    weight: float = 1.0
    if_impossible: IfImpossible = "refuse"


@dataclass(frozen=True, slots=True)
class Track:
    """One fault, or one menu of faults, and when it begins.

    `where` is its path in the step (`faults[1].sequence[0]`), `key` what its random choices depend on,
    `names` are its own name and those of the entries around it.
    """

    where: str
    key: str
    names: tuple[str, ...]
    begin: Begin
    picks: tuple[Pick, ...]

    @property
    def from_menu(self) -> bool:
        """Whether its faults are drawn from a menu."""
        return isinstance(self.begin, Repeating) and self.begin.ahead

    def draw(self, seed: str, number: int) -> tuple[FaultSpec, float]:
        """The fault and its duration in seconds of its nth occurrence (from 0)."""
        rng = self._rng(seed, number, "fault")
        (pick,) = rng.choices(self.picks, weights=[pick.weight for pick in self.picks])
        return pick.fault, _between(rng, pick.lasting)

    def gap(self, seed: str, number: int) -> float:
        """Seconds from its nth occurrence to the next; before the first one: number -1."""
        assert isinstance(self.begin, Repeating)
        return _between(self._rng(seed, number, "gap"), self.begin.gap)

    def _rng(self, seed: str, number: int, what: str) -> random.Random:
        return random.Random(f"{seed}/{self.key}/{number}/{what}")


def _between(rng: random.Random, span: tuple[float, float]) -> float:
    # To the millisecond, so that what is printed is what happens.
    return span[0] if span[0] == span[1] else round(rng.uniform(*span), 3)


def tracks(entries: Many[ScheduleEntry]) -> tuple[Track, ...]:
    """Every track of a step's entries, in the order of the file."""
    all_tracks: list[Track] = []
    for number, entry in enumerate(entries):
        _unfold(entry, f"faults[{number}]", _begin(entry), (), all_tracks)
    return tuple(all_tracks)


def _begin(entry: ScheduleEntry) -> Begin:
    if isinstance(entry, Random):
        menu = entry.random
        return Repeating(menu.first, menu.every, True, menu.times, menu.until, menu.at_once)
    if entry.after is not None:
        return WhenTrue(entry.after, entry.within)
    if isinstance(entry, TimedFault) and entry.every is not None:
        first = entry.every if entry.first is None else entry.first
        return Repeating(first, (entry.every, entry.every), False, entry.times, entry.until, 1)
    return At(entry.at or 0.0)


def _unfold(
    entry: NestedEntry | ScheduleEntry, where: str, begin: Begin, around: tuple[str, ...], found: list[Track]
) -> tuple[int, ...]:
    """Add an entry's tracks; returns the numbers of those that end it."""
    names = (*around, entry.name) if entry.name is not None else around
    if isinstance(entry, SequencePart):
        last: tuple[int, ...] = ()
        for number, part in enumerate(entry.sequence):
            starts = Following(last, entry.pause) if last else begin
            last = _unfold(part, f"{where}.sequence[{number}]", starts, names, found)
        return last
    if isinstance(entry, TogetherPart):
        ends: list[int] = []
        for number, part in enumerate(entry.together):
            ends += _unfold(part, f"{where}.together[{number}]", begin, names, found)
        return tuple(ends)
    if isinstance(entry, Random):
        picks = tuple(
            Pick(
                item.fault,
                item.lasting,
                f"{where}.random.menu[{index}].fault",
                item.weight,
                item.if_impossible,
            )
            for index, item in enumerate(entry.random.menu)
        )
    else:
        span = (entry.lasting, entry.lasting)
        picks = (Pick(entry.fault, span, f"{where}.fault", if_impossible=entry.if_impossible),)
    found.append(Track(where, entry.name or where, names, begin, picks))
    return (len(found) - 1,)
