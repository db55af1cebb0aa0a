"""The steps of an experiment, as data: write, wait, inject, heal, sleep."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from faults import Fault

_NAME = r"^[a-z][a-z0-9-]{0,39}$"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


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


WrittenFault = Annotated[Fault, _OneKey()]


def _spread(value: Any) -> Any:
    """`{kill: {...}}` -> `{kind: kill, ...}`."""
    if isinstance(value, dict) and len(value) == 1:
        kind, body = next(iter(value.items()))
        if isinstance(body, dict):
            return {"kind": kind, **body}
    return value


class TimedFault(_Frozen):
    """A fault during a write step: `at` seconds after its start, healed `for` seconds after injection."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    fault: WrittenFault
    at: float = Field(ge=0, description="seconds after the step began")
    lasting: float = Field(alias="for", gt=0, description="seconds until it is healed")

    @model_validator(mode="before")
    @classmethod
    def _one_key(cls, value: Any) -> Any:
        if isinstance(value, dict) and "fault" in value:
            return {**value, "fault": _spread(value["fault"])}
        return value


class Write(_Frozen):
    """Producers write `records` in all, or for `seconds`; `faults` happen meanwhile.

    The step ends when every send has its report, or `at_most` seconds after it began: sends that are
    still open then go on, and are closed at the end of the run.
    """

    name: str = Field(pattern=_NAME)
    records: int | None = Field(default=None, ge=1)
    seconds: float | None = Field(default=None, gt=0)
    at_most: float | None = Field(default=None, gt=0)
    rate: float | None = Field(default=None, gt=0, description="records/s in all; default: the workload's")
    faults: tuple[TimedFault, ...] = ()

    @model_validator(mode="after")
    def _amount(self) -> Write:
        if (self.records is None) == (self.seconds is None):
            raise ValueError("a write step takes either `records` or `seconds`")
        return self


class Wait(_Frozen):
    """Wait until the cluster is seen in a state; a deadline that passes makes the verdict `unknown`.

    `replicated: true` - every replica's log end offset equals the leader's high watermark.
    `isr: N` - every partition's ISR has N members, as its leader sees it.
    """

    replicated: bool | None = None
    isr: int | None = Field(default=None, ge=1)
    within: float = Field(default=30.0, gt=0, description="seconds")

    @model_validator(mode="after")
    def _one(self) -> Wait:
        if (self.replicated is None) == (self.isr is None):
            raise ValueError("a wait step takes either `replicated: true` or `isr: N`")
        return self


class Inject(_Frozen):
    """Inject a fault and wait until it is verified; it stays until a heal step or the end."""

    fault: WrittenFault

    @model_validator(mode="before")
    @classmethod
    def _one_key(cls, value: Any) -> Any:
        if isinstance(value, dict) and "fault" not in value:
            return {"fault": _spread(value)}
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        # In a file the step is the fault itself.
        return dict(handler.resolve_ref_schema(handler(core))["properties"]["fault"])


class Heal(_Frozen):
    """Heal every fault that is open."""


class Sleep(_Frozen):
    """Do nothing for a while. Prefer a wait step: a sleep proves nothing."""

    seconds: float = Field(gt=0)


STEPS: dict[str, type[_Frozen]] = {
    "write": Write,
    "wait": Wait,
    "inject": Inject,
    "heal": Heal,
    "sleep": Sleep,
}
KIND = {model: name for name, model in STEPS.items()}


class Step(_Frozen):
    """One step of an experiment: exactly one of the keys."""

    write: Write | None = None
    wait: Wait | None = None
    inject: Inject | None = None
    heal: Heal | None = None
    sleep: Sleep | None = None

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        # `- heal:` reads as null.
        return {"heal": {}} if value == {"heal": None} else value

    @model_validator(mode="after")
    def _exactly_one(self) -> Step:
        if sum(getattr(self, name) is not None for name in STEPS) != 1:
            raise ValueError(f"a step is exactly one of {', '.join(STEPS)}")
        return self

    @property
    def action(self) -> Write | Wait | Inject | Heal | Sleep:
        chosen = self.write or self.wait or self.inject or self.heal or self.sleep
        assert chosen is not None, "checked when the step was made"
        return chosen
