"""The entries of a write step's `faults`: faults at a time, at intervals, on a condition, or from a random
menu.

    {fault: {kill: {...}}, at: 2, for: 3}                      once, 2 s after the step began
    {fault: {...}, every: 5, for: 2, from: 1, times: 3}        at 1 s, 6 s and 11 s
    {fault: {...}, after: {isr_below: 3}, for: 3, within: 30}  when a condition comes true
    {sequence: [...], pause: 1}                                each when the previous one is healed
    {together: [...], at: 2}                                   all at once
    {random: {menu: [...], every: [3, 6]}}                     drawn by the seed

Entries of one list may overlap. Seconds count from the beginning of the step.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    Tag,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from faults import Fault
from harness.model.frozen import Frozen

NAME = r"^[a-z][a-z0-9-]{0,39}$"
IfImpossible = Literal["refuse", "skip"]


class _OneKey:
    """The JSON schema of a fault as files write it: one key, its kind, and a mapping of the rest."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        kinds = handler(core)["discriminator"]["mapping"]
        return {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {kind: {"$ref": reference}},
                    "required": [kind],
                    "additionalProperties": False,
                }
                for kind, reference in kinds.items()
            ]
        }


def kind_from_key(value: Any) -> Any:
    """`{kill: {...}}` -> `{kind: kill, ...}`."""
    if isinstance(value, dict) and len(value) == 1:
        kind, body = next(iter(value.items()))
        if isinstance(body, dict):
            return {"kind": kind, **body}
    return value


WrittenFault = Annotated[Fault, _OneKey(), BeforeValidator(kind_from_key)]
"""Any fault, as files write it."""


def _pair(value: Any) -> Any:
    return (value, value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _ordered(value: tuple[float, float]) -> tuple[float, float]:
    if value[0] > value[1]:
        raise ValueError(f"the smaller number comes first: [{value[1]:g}, {value[0]:g}]")
    return value


Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
SecondsFromZero = Annotated[float, Field(ge=0, allow_inf_nan=False)]
SecondsRange = Annotated[
    tuple[Seconds, Seconds],
    BeforeValidator(_pair, json_schema_input_type=Seconds | tuple[Seconds, Seconds]),
    AfterValidator(_ordered),
]
"""Seconds, drawn uniformly between the least and the greatest; a single number is both."""


class StepCondition(Frozen):
    """A condition that may hold while the step runs; exactly one of the keys."""

    isr_below: int | None = Field(
        default=None, ge=1, description="a partition's ISR has fewer members, as its leader sees it"
    )
    partition: int | None = Field(
        default=None, ge=0, description="with isr_below: only this partition; default: any"
    )
    acked: int | None = Field(
        default=None, ge=1, description="number of success reports since the step began (also under acks=0)"
    )
    leader_moved: int | None = Field(
        default=None, ge=0, description="this partition has another leader than when the step began"
    )
    injected: str | None = Field(default=None, description="a fault of the entry of this name is in place")
    healed: str | None = Field(
        default=None, description="each fault of the entry of this name has been healed once"
    )

    @model_validator(mode="after")
    def _one(self) -> StepCondition:
        keys = ("isr_below", "acked", "leader_moved", "injected", "healed")
        if sum(getattr(self, key) is not None for key in keys) != 1:
            raise ValueError(f"a condition is exactly one of {', '.join(keys)}")
        if self.partition is not None and self.isr_below is None:
            raise ValueError("`partition` needs `isr_below`")
        return self

    @property
    def awaits(self) -> str | None:
        """The name of the entry that the condition waits for; None: it waits for no entry."""
        return self.injected or self.healed

    def __str__(self) -> str:
        if self.isr_below is not None:
            which = "any partition" if self.partition is None else f"partition {self.partition}"
            return f"the ISR of {which} has fewer than {self.isr_below} members"
        if self.acked is not None:
            return f"{self.acked:,} records are acknowledged"
        if self.leader_moved is not None:
            return f"the leader of partition {self.leader_moved} has moved"
        return f"{self.injected} is injected" if self.injected else f"{self.healed} is healed"


class _Named(Frozen):
    name: str | None = Field(default=None, pattern=NAME, description="name of this entry in conditions")


class Part(_Named):
    """A fault and its duration: it is healed `for` seconds after its injection began."""

    fault: WrittenFault
    lasting: Seconds = Field(alias="for", description="seconds until it is healed")
    if_impossible: IfImpossible = Field(
        default="refuse", description="what to do if the kernel or engine does not support this fault"
    )


class SequencePart(_Named):
    """Faults one after another: each begins when the previous one is healed."""

    sequence: tuple[NestedEntry, ...] = Field(min_length=1)
    pause: SecondsFromZero = Field(default=0.0, description="seconds between a heal and the next fault")


class TogetherPart(_Named):
    """Faults that begin at the same time."""

    together: tuple[NestedEntry, ...] = Field(min_length=1)


class _Timed(Frozen):
    """When an entry begins."""

    at: SecondsFromZero | None = Field(default=None, description="seconds after the step began")
    after: StepCondition | None = Field(default=None, description="when this condition holds")
    within: Seconds | None = Field(
        default=None,
        description="with after: seconds from the step's beginning within which the condition must hold; "
        "default: before the step ends. If it does not hold in time, the verdict is `unknown`",
    )

    @model_validator(mode="after")
    def _times(self) -> Any:
        if self.within is not None and self.after is None:
            raise ValueError("`within` needs `after`")
        if self.at is not None and self.after is not None:
            raise ValueError("give either `at` or `after`, not both")
        return self


class TimedFault(Part, _Timed):
    """A fault with its time: exactly one of `at`, `every`, `after`."""

    every: Seconds | None = Field(
        default=None, description="seconds from the beginning of one to that of the next"
    )
    first: SecondsFromZero | None = Field(
        default=None, alias="from", description="with every: when the first one begins; default: `every`"
    )
    times: int | None = Field(
        default=None, ge=1, description="with every: number of times; default: no limit"
    )
    until: Seconds | None = Field(default=None, description="with every: none begins later than this")

    @model_validator(mode="after")
    def _when(self) -> TimedFault:
        if sum(value is not None for value in (self.at, self.every, self.after)) != 1:
            raise ValueError("a fault needs exactly one of `at`, `every`, `after`")
        if self.every is None:
            extra = [key for key in ("first", "times", "until") if getattr(self, key) is not None]
            if extra:
                raise ValueError(f"`{'from' if extra[0] == 'first' else extra[0]}` needs `every`")
        elif self.lasting >= self.every:
            raise ValueError(
                f"`for` ({self.lasting:g}) must be shorter than `every` ({self.every:g}): "
                "each would still be open when the next is due"
            )
        return self


class Sequence(SequencePart, _Timed):
    """A sequence with its time; default: at 0."""


class Together(TogetherPart, _Timed):
    """Faults that begin at the same time, with their time; default: at 0."""


class Choice(Frozen):
    """One fault of a random menu, chosen in proportion to its weight."""

    fault: WrittenFault
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    lasting: SecondsRange = Field(alias="for", description="seconds until it is healed, or [least, most]")
    if_impossible: IfImpossible = "refuse"


class FaultMenu(Frozen):
    """Faults drawn from a menu by the run's seed, one after another."""

    menu: tuple[Choice, ...] = Field(min_length=1)
    every: SecondsRange = Field(
        description="seconds from the beginning of one to that of the next: [least, most]"
    )
    first: SecondsFromZero = Field(default=0.0, alias="from", description="start of the first interval")
    until: Seconds | None = Field(
        default=None, description="none begins later than this; default: the step's end"
    )
    times: int | None = Field(default=None, ge=1, description="number of faults; default: no limit")
    at_once: int = Field(
        default=1, ge=1, description="number of its faults that may be open at the same time"
    )
    at_most_down: int = Field(
        default=1,
        ge=0,
        description="greatest number of brokers down, for any reason: a fault that would exceed it waits",
    )


class Random(_Named):
    """A random menu as an entry."""

    random: FaultMenu


_KEYS = ("fault", "sequence", "together", "random")


def _key(value: Any) -> str | None:
    if isinstance(value, Frozen):
        return next((key for key in _KEYS if key in type(value).model_fields), None)
    if isinstance(value, dict):
        # A misspelt or missing key is reported as a fault that lacks its parts.
        return next((key for key in _KEYS if key in value), "fault")
    return None


NestedEntry = Annotated[
    Annotated[Part, Tag("fault")]
    | Annotated[SequencePart, Tag("sequence")]
    | Annotated[TogetherPart, Tag("together")],
    Discriminator(_key),
]
"""The members of sequences and groups."""

ScheduleEntry = Annotated[
    Annotated[TimedFault, Tag("fault")]
    | Annotated[Sequence, Tag("sequence")]
    | Annotated[Together, Tag("together")]
    | Annotated[Random, Tag("random")],
    Discriminator(_key),
]
"""One entry of a write step's `faults`."""

for _model in (SequencePart, TogetherPart, Sequence, Together):
    _model.model_rebuild()
