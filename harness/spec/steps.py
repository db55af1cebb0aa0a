"""The steps of an experiment, as data: what is written, waited for, broken, healed, asked and changed."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from faults.requests import RequestMatch
from faults.schedules.entries import NAME, IfImpossible, ScheduleEntry, WrittenFault
from faults.targets import Target
from harness.model.frozen import Frozen
from harness.spec.application import ApplicationState
from harness.spec.group_steps import AskOffsets, CommitOffsets, RestartReader, SendOffsets, SendOffsetsCall
from harness.spec.producer_ids import InitProducerId
from harness.spec.rival import Rival
from harness.spec.topic import DeleteRecords, RecreateTopic
from harness.spec.wait_conditions import (
    Checkpoint,
    ClusterCondition,
    HighWatermark,
    Leads,
    LogEnd,
    Logged,
    Members,
)
from workloads.record.identity import PREFIX


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


class Send(Frozen):
    """Send `records` to a partition, each of `size` bytes (default: the workload's record_size), and wait for
    their reports; with `awaited: false` wait only at the end of the run."""

    partition: int = Field(0, ge=0)
    records: int = Field(1, ge=1, le=100_000)
    size: int | None = Field(None, ge=PREFIX, le=100_000_000)
    awaited: bool = True


class SendCall(Frozen):
    """`send: {...}` in the list of calls."""

    send: Send


Call = Literal["begin", "commit", "abort", "flush"] | SendCall | SendOffsetsCall


class Drive(Frozen):
    """A Java producer makes calls one after the other, each when the previous one has returned.

    `by` names the producer, which is created when it is first named. The journals have the outcome of each
    call, even if it fails. `begin`, `commit`, `abort` and `send_offsets` are for transactions.
    """

    name: str = Field(pattern=NAME)
    by: str = Field("first", pattern=NAME)
    do: tuple[Call, ...] = Field(min_length=1)

    @property
    def sends(self) -> tuple[Send, ...]:
        return tuple(call.send for call in self.do if isinstance(call, SendCall))

    @property
    def offsets(self) -> tuple[SendOffsets, ...]:
        return tuple(call.send_offsets for call in self.do if isinstance(call, SendOffsetsCall))


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


class AlterShareGroup(Frozen):
    """Change a share group as an administrator does, while the run goes on. The check still judges it by its
    settings in `share`, so that this shows what its findings look like.

    `start` moves the group's start offset in every partition. Kafka allows this only while the group has no
    members, so they are closed first and new ones are started after it. `lock` (seconds) and `delivery_limit`
    apply to records that are acquired from then on.
    """

    group: str = Field(pattern=NAME, description="its name in `share`")
    start: Literal["earliest", "latest"] | Annotated[int, Field(ge=0)] | None = None
    lock: float | None = Field(None, ge=1, le=3600, description="seconds")
    delivery_limit: int | None = Field(None, ge=1, le=100)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.start is None and self.lock is None and self.delivery_limit is None:
            raise ValueError("say what changes: `start`, `lock` or `delivery_limit`")
        return self


class Sleep(Frozen):
    """Do nothing for a while. Prefer a wait step, which verifies a state."""

    seconds: float = Field(gt=0)


_OfGroup = RestartReader | CommitOffsets | AskOffsets | AlterShareGroup
Sending = Write | Drive | Rival
"""The steps in which producers send. Each has a name, by which promises and expectations refer to it."""
_OfTopic = DeleteRecords | RecreateTopic
Action = Sending | Wait | Inject | Heal | Ask | InitProducerId | _OfGroup | _OfTopic | Sleep
_BARE = ("heal", "recreate_topic")
"""Steps that are complete without settings."""


class Step(Frozen):
    """One step of an experiment: exactly one of the keys."""

    write: Write | None = None
    drive: Drive | None = None
    rival: Rival | None = None
    wait: Wait | None = None
    inject: Inject | None = None
    heal: Heal | None = None
    ask: Ask | None = None
    init_producer_id: InitProducerId | None = None
    restart_reader: RestartReader | None = None
    delete_records: DeleteRecords | None = None
    recreate_topic: RecreateTopic | None = None
    commit_offsets: CommitOffsets | None = None
    ask_offsets: AskOffsets | None = None
    alter_share_group: AlterShareGroup | None = None
    sleep: Sleep | None = None

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        # YAML reads `- heal:` as null.
        return next(({name: {}} for name in _BARE if value == {name: None}), value)

    @model_validator(mode="after")
    def _exactly_one(self) -> Step:
        if sum(action is not None for _, action in self) != 1:
            raise ValueError(f"a step is exactly one of {', '.join(type(self).model_fields)}")
        return self

    @property
    def action(self) -> Action:
        chosen: Action = next(action for _, action in self if action is not None)
        return chosen


KIND: dict[type[Action], str] = {
    get_args(field.annotation)[0]: name for name, field in Step.model_fields.items()
}
"""The name of a step in files, by what it does."""


def name_of(action: Action, index: int) -> str:
    """The name of a step in the metadata of a run; `index` is its place among the steps."""
    return action.name if isinstance(action, Sending) else f"{KIND[type(action)]}-{index}"
