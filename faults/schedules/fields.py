"""The values in schedule entries: faults and durations as files write them, and conditions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
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
