"""Schedules in Python: the same entries as in a file, written as sentences.

at(2).for_(3).do(Kill(target=leader))
every(5, first=1, times=3).for_(2).do(Pause(target=follower))
after(isr_below(3), within=30).for_(3).do(Kill(target=leader), name="second")
sequence(for_(3).do(Kill(target=leader)), for_(2).do(Pause(target=leader)), pause=1)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from faults import Fault
from faults.schedules.entries import (
    Choice,
    FaultMenu,
    NestedEntry,
    Part,
    Random,
    Sequence,
    SequencePart,
    StepCondition,
    TimedFault,
    Together,
    TogetherPart,
)


@dataclass(frozen=True, slots=True)
class Moment:
    """When, and for how long; `do` makes it an entry."""

    when: dict[str, Any] = field(default_factory=dict)
    lasting: float | None = None

    def for_(self, seconds: float) -> Moment:
        """How long until the fault is healed."""
        return replace(self, lasting=seconds)

    def do(self, what: Fault | Sequence | Together, name: str | None = None) -> Any:
        """The entry: this fault, sequence or group at this moment.

        Raises:
            ValueError: contradictory times, or a fault without a duration.
        """
        if isinstance(what, (Sequence, Together)):
            return type(what).model_validate({**dict(what), **self.when, "name": name or what.name})
        body = {"fault": what, "for": self.lasting, "name": name, **self.when}
        return TimedFault.model_validate(body) if self.when else Part.model_validate(body)


def at(seconds: float) -> Moment:
    """A number of seconds after the step began."""
    return Moment({"at": seconds})


def every(
    seconds: float, *, first: float | None = None, times: int | None = None, until: float | None = None
) -> Moment:
    """Again and again, from `first` on (default: after `seconds`)."""
    return Moment({"every": seconds, "from": first, "times": times, "until": until})


def after(condition: StepCondition, *, within: float | None = None) -> Moment:
    """When a condition comes true, `within` this number of seconds of the step's beginning."""
    return Moment({"after": condition, "within": within})


def for_(seconds: float) -> Moment:
    """A part of a sequence or of a group: no time of its own."""
    return Moment({}, seconds)


def isr_below(members: int, partition: int | None = None) -> StepCondition:
    """A partition's ISR has fewer members (None: any partition's)."""
    return StepCondition(isr_below=members, partition=partition)


def acked(records: int) -> StepCondition:
    """A number of success reports since the step began."""
    return StepCondition(acked=records)


def leader_moved(partition: int) -> StepCondition:
    """The partition has another leader than when the step began."""
    return StepCondition(leader_moved=partition)


def injected(name: str) -> StepCondition:
    """A fault of the entry of this name is in place."""
    return StepCondition(injected=name)


def healed(name: str) -> StepCondition:
    """Each fault of the entry of this name has been healed once."""
    return StepCondition(healed=name)


def sequence(*parts: NestedEntry, pause: float = 0.0, name: str | None = None) -> Sequence:
    """One after the other, from the step's beginning on; `at(...).do(sequence(...))` for another time."""
    return Sequence(sequence=tuple(_part(one) for one in parts), pause=pause, name=name)


def together(*parts: NestedEntry, name: str | None = None) -> Together:
    """All at once, at the step's beginning; `at(...).do(together(...))` for another time."""
    return Together(together=tuple(_part(one) for one in parts), name=name)


def choice(fault: Fault, lasting: float | tuple[float, float], weight: float = 1.0) -> Choice:
    """A fault of a menu."""
    return Choice.model_validate({"fault": fault, "for": lasting, "weight": weight})


def menu(
    *choices: Choice, every: float | tuple[float, float], name: str | None = None, **limits: Any
) -> Random:
    """Faults drawn by the seed. `limits`: first, until, times, at_once, at_most_down."""
    return Random(random=FaultMenu.model_validate({"menu": choices, "every": every, **limits}), name=name)


def _part(entry: NestedEntry) -> NestedEntry:
    """A sequence inside another has no time of its own."""
    if isinstance(entry, Sequence):
        return SequencePart(sequence=entry.sequence, pause=entry.pause, name=entry.name)
    if isinstance(entry, Together):
        return TogetherPart(together=entry.together, name=entry.name)
    return entry
