"""The steps of an experiment, as data: what is written, waited for, broken, healed, asked and changed."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from faults.requests import RequestMatch
from faults.schedules.entries import NAME, IfImpossible, ScheduleEntry, WrittenFault
from faults.targets import Target
from harness.model.frozen import Frozen
from harness.spec.wait_conditions import (
    ApplicationState,
    Checkpoint,
    ClusterCondition,
    HighWatermark,
    Leads,
    LogEnd,
    Logged,
    Members,
)


class Write(Frozen):
    """Producers write `records` in total, or for `seconds`; `faults` happen meanwhile.

    The step ends when every send has its report, or `at_most` seconds after it began: sends that are
    still open then continue, and are closed at the end of the run. No fault begins after `seconds` or
    `at_most`, or once everything is written and reported; open faults last until their own end.

    With `until_faults_end`, writing goes on after `seconds` until every fault has begun, also one that had to
    wait for others, and has ended. `until_faults_end` is the longest time for this, in seconds.
    """

    name: str = Field(pattern=NAME)
    records: int | None = Field(None, ge=1)
    seconds: float | None = Field(None, gt=0)
    at_most: float | None = Field(None, gt=0)
    rate: float | None = Field(None, gt=0, description="records/s in total; default: the workload's")
    faults: tuple[ScheduleEntry, ...] = ()
    at_most_down: int | None = Field(
        None, ge=0, description="maximum number of brokers down at once: a fault that would exceed it waits"
    )
    until_faults_end: float | None = Field(
        None, gt=0, description="seconds beyond `seconds`, at most, until every fault has begun and ended"
    )

    @model_validator(mode="after")
    def _amount(self) -> Write:
        if (self.records is None) == (self.seconds is None):
            raise ValueError("a write step takes either `records` or `seconds`")
        if self.until_faults_end is not None and (self.seconds is None or self.at_most is not None):
            raise ValueError("`until_faults_end` extends a step with `seconds` and without `at_most`")
        return self

    @property
    def ends(self) -> float | None:
        """Seconds after which no fault is due any more; None: once everything is written."""
        return min((end for end in (self.seconds, self.at_most) if end is not None), default=None)


class Wait(Frozen):
    """Wait until the cluster is in a state; a timeout makes the verdict `unknown`.

    `replicated: true` - every replica's log end offset equals the leader's high watermark.
    `isr: N` - every partition's ISR has N members, according to its leader; `isr: {is: TARGET}` - exactly
    these. `leader: {is: TARGET}` - one of these leads. `log_end`, `high_watermark`: {of: TARGET, at_least: N}
    (or `exactly: N`) - as each of these brokers reports its own. `checkpoint: {of, file, exactly}` - on their
    disks. `logged: {of, text}` - printed since the run began. `application: drained` - the application under
    test has nothing left to do; `application: {output: N}` - its output topic has N offsets. All of these but
    `replicated` and `application` are about one `partition` (default 0). `request: {api: EndTxn, client: p1}`
    (as `on` of the fault `requests`) with `seen: N` - N of them have been sent since the first step began, or
    with `held: N` - the faults that are open hold N of them now.
    """

    replicated: Literal[True] | None = None
    isr: int | Members | None = None
    leader: Leads | None = None
    log_end: LogEnd | None = None
    high_watermark: HighWatermark | None = None
    checkpoint: Checkpoint | None = None
    logged: Logged | None = None
    application: ApplicationState | None = None
    request: RequestMatch | None = None
    seen: int | None = Field(None, ge=1, description="with request: the number since the run began")
    held: int | None = Field(None, ge=1, description="with request: the number that faults hold now")
    within: float = Field(30.0, gt=0, description="seconds")

    @model_validator(mode="after")
    def _one(self) -> Wait:
        kinds = [name for name in type(self).model_fields if name not in ("seen", "held", "within")]
        if sum(getattr(self, name) is not None for name in kinds) != 1:
            raise ValueError(f"a wait step takes exactly one of {', '.join(kinds)}")
        if isinstance(self.isr, int) and self.isr < 1:
            raise ValueError(f"isr: {self.isr} - an ISR has at least one member")
        numbers = sum(number is not None for number in (self.seen, self.held))
        if numbers != (self.request is not None):
            raise ValueError("`request` takes either `seen: N` or `held: N`, and nothing else takes them")
        if self.request is not None and (self.request.nth or self.request.share):
            raise ValueError("a wait step counts every such request: leave `nth` and `share` out")
        return self

    @property
    def condition(self) -> ClusterCondition | None:
        """The condition on single brokers; None: `replicated`, or the size of every ISR."""
        members = None if isinstance(self.isr, int) else self.isr
        return members or self.leader or self.log_end or self.high_watermark or self.checkpoint or self.logged

    @property
    def requests_in_words(self) -> str:
        """The requests that it waits for."""
        number, what = (self.seen, "have been sent") if self.held is None else (self.held, "are held")
        return f"{number} of {self.request} {what}"

    def __str__(self) -> str:
        size = f"the ISR has {self.isr} members" if isinstance(self.isr, int) else "replicated"
        until = size if self.condition is None else f"{self.condition}"
        if self.application is not None:
            until = f"the application: {self.application}"
        elif self.request is not None:
            until = self.requests_in_words
        return f"wait until {until}, {self.within:g} s at most"


class Inject(Frozen):
    """Inject a fault and wait until it is verified; it lasts until a heal step or the end.

    `if_impossible` and `name` are written beside the fault: `inject: {partition: {...}, name: cut}`.
    """

    fault: WrittenFault
    if_impossible: IfImpossible = "refuse"
    name: str | None = Field(None, pattern=NAME, description="for heal steps that refer to it")

    @model_validator(mode="before")
    @classmethod
    def _beside(cls, value: Any) -> Any:
        if isinstance(value, dict) and "fault" not in value:
            fault = {key: body for key, body in value.items() if key not in ("if_impossible", "name")}
            return {"fault": fault, **{key: value[key] for key in value if key not in fault}}
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        # In a file the step is the fault itself.
        properties = handler.resolve_ref_schema(handler(core))["properties"]
        beside = ("if_impossible", "name")
        kinds = [
            {**kind, "properties": {**kind["properties"], **{key: properties[key] for key in beside}}}
            for kind in properties["fault"]["oneOf"]
        ]
        return {"oneOf": kinds}


class Heal(Frozen):
    """Heal every open fault, or `only` those of inject steps with these names, in this order.

    With `awaited: false` the faults are undone without waiting until the cluster has recovered: a broker that
    is started while its partition has no leader does not join an ISR.
    """

    only: tuple[str, ...] = ()
    awaited: bool = True

    @model_validator(mode="after")
    def _named(self) -> Heal:
        if not self.awaited and not self.only:
            raise ValueError(
                "`awaited: false` needs `only`: all other faults are healed and verified at the end"
            )
        return self

    def __str__(self) -> str:
        return f"heal {', '.join(self.only) or 'everything'}" + ("" if self.awaited else ", not awaited")


_Request = Literal[
    "leader", "log_end", "high_watermark", "list_offsets", "fetch", "fetch_v10", "produce", "epoch_ends"
]
Question = Literal[_Request, "checkpoint", "files", "printed"]


class Ask(Frozen):
    """Ask single brokers, one question after the other, and store the answers (`answers/` in the run folder).

    `leader`: the leader, its epoch and its ISR. `log_end`, `high_watermark`: the broker's own.
    `list_offsets`: the end of the partition for a consumer. `fetch`: the records for a consumer from the
    beginning; `fetch_v10`: the same by the protocol from before Kafka 2.3. `produce`: its response to a
    record sent to it, whether it leads or not. `epoch_ends`: the end of each leader epoch. From its disk,
    whether it runs or not: `checkpoint`, its replication-offset-checkpoint; `files`, its segment files and
    leader epochs. `printed`: the lines with `text` that it (or a controller) has printed since the run
    began.
    """

    name: str = Field(pattern=NAME)
    of: Target = Field(description="which brokers")
    what: tuple[Question, ...] = Field(min_length=1)
    partition: int = Field(0, ge=0)
    text: str | None = Field(None, min_length=1)
    seconds: float | None = Field(None, gt=0, description="repeat the questions for this many seconds")

    @model_validator(mode="after")
    def _text(self) -> Ask:
        if ("printed" in self.what) != (self.text is not None):
            raise ValueError("`printed` needs `text`, and the other questions take none")
        return self

    def __str__(self) -> str:
        asked = f"ask {self.of} for {', '.join(self.what)} of partition {self.partition}"
        return asked + (f", for {self.seconds:g} s" if self.seconds else "")


class Sleep(Frozen):
    """Do nothing for a while. Prefer a wait step, which verifies a state."""

    seconds: float = Field(gt=0)

    def __str__(self) -> str:
        return f"sleep {self.seconds:g} s"
