"""Experiments as data: cluster, topic, workload, steps, and the arms to compare."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from checkers.judge import check_promise
from faults.base import FaultSpec
from faults.schedules.check import Problem, check_schedule
from faults.sight import Shape
from harness.model.errors import BadInput
from harness.model.settings import Setting
from harness.spec import ClusterSpec
from harness.steps import Inject, Step, Write
from workloads.reader_spec import ReaderSpec
from workloads.spec import ProducerSettings, WorkloadSpec

_NAME = r"^[a-z0-9][a-z0-9=+._-]{0,59}$"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TopicSpec(_Frozen):
    """The topic that every run of the experiment gets anew."""

    partitions: int = Field(default=3, ge=1, le=10000)
    replication_factor: int = Field(default=3, ge=1)
    config: dict[str, Setting] = Field(default_factory=dict)


class Arm(_Frozen):
    """One configuration of the experiment, and what it promises.

    `promise` maps classes of findings to bounds: `0`, `N`, `>= N`, `<= N`, `any`, or `acked in STEP`
    (exactly as many as were acknowledged in that write step). Left out means: nothing lost, phantom,
    corrupt, misplaced or rejected_present; no duplicate where the producer is idempotent.
    """

    name: str = Field(pattern=_NAME)
    producer: ProducerSettings = ProducerSettings()
    workload: WorkloadSpec | None = Field(default=None, description="in place of the experiment's")
    readers: tuple[ReaderSpec, ...] | None = Field(
        default=None, description="in place of the experiment's; [] for none"
    )
    topic: dict[str, Setting] = Field(default_factory=dict, description="topic settings of this arm only")
    promise: dict[str, Setting] = Field(default_factory=dict)


class Experiment(_Frozen):
    """Everything that one execution needs; the same text gives the same experiment."""

    name: str = Field(pattern=_NAME)
    title: str
    description: str = ""
    cluster: ClusterSpec = ClusterSpec()
    topic: TopicSpec = TopicSpec()
    workload: WorkloadSpec = WorkloadSpec()
    readers: tuple[ReaderSpec, ...] = Field(
        default=(), description="live readers: they read while the steps go on"
    )
    steps: tuple[Step, ...] = Field(min_length=1)
    arms: tuple[Arm, ...] = Field(min_length=1)

    def workload_of(self, arm: Arm) -> WorkloadSpec:
        return arm.workload or self.workload

    def readers_of(self, arm: Arm) -> tuple[ReaderSpec, ...]:
        return self.readers if arm.readers is None else arm.readers

    @property
    def write_names(self) -> tuple[str, ...]:
        return tuple(step.write.name for step in self.steps if step.write is not None)

    @model_validator(mode="after")
    def _fits_together(self) -> Experiment:
        if self.topic.replication_factor > self.cluster.brokers:
            raise ValueError(
                f"topic.replication_factor is {self.topic.replication_factor}, "
                f"but the cluster has {self.cluster.brokers} broker(s)"
            )
        for what, names in (
            ("write step", self.write_names),
            ("arm", tuple(arm.name for arm in self.arms)),
        ):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise ValueError(f"two {what}s are named {twice!r}")
        if not self.write_names:
            raise ValueError("no step writes anything: add a `write` step")
        for arm in self.arms:
            try:
                check_promise(arm.promise, self.write_names)
            except BadInput as error:
                raise ValueError(f"arm {arm.name!r}: {error}") from error
        problem = next(self._problems(), None)
        if problem is not None:
            raise PydanticCustomError("misplaced", "{what}", {"place": problem.place, "what": problem.what})
        return self

    @property
    def shape(self) -> Shape:
        """Cluster and topic, as faults want to know them before they run."""
        return Shape(
            brokers=self.cluster.brokers,
            controllers=self.cluster.controllers,
            combined=self.cluster.combined,
            partitions=self.topic.partitions,
            replication_factor=self.topic.replication_factor,
            disk_mib=self.cluster.disk_mib,
            skewable=self.cluster.skewable_clocks,
        )

    def open_before(self, index: int) -> dict[str, FaultSpec]:
        """What inject steps before a step have left open, by its place in the file."""
        found: dict[str, FaultSpec] = {}
        for number, step in enumerate(self.steps[:index]):
            if step.inject is not None:
                found[f"steps[{number}].inject"] = step.inject.fault
            elif step.heal is not None:
                found.clear()
        return found

    def _problems(self) -> Iterator[Problem]:
        """What does not fit together, with its place in the file."""
        yield from self._reader_problems(self.readers, "readers")
        for number, arm in enumerate(self.arms):
            yield from self._reader_problems(arm.readers or (), f"arms[{number}].readers")
            if self.workload_of(arm).transactional:
                try:
                    arm.producer.check_transactional()
                except ValueError as error:
                    yield Problem(f"arms[{number}]", f"its workload has transactions: {_told(error)}")
        yield from self._fault_problems()

    def _reader_problems(self, readers: tuple[ReaderSpec, ...], place: str) -> Iterator[Problem]:
        taken: set[str] = set()
        for number, reader in enumerate(readers):
            twice = taken.intersection(reader.member_names)
            if twice:
                yield Problem(f"{place}[{number}].name", f"two readers are named {min(twice)!r}")
            taken.update(reader.member_names)
            if reader.rack is None:
                continue
            if not self.cluster.racks:
                yield Problem(
                    f"{place}[{number}].rack",
                    "the cluster has no racks: set `racks: true` below `cluster`, or leave rack out",
                )
            elif reader.rack not in self.cluster.rack_names:
                yield Problem(
                    f"{place}[{number}].rack",
                    f"there is no rack {reader.rack!r}: the racks are {', '.join(self.cluster.rack_names)}",
                )

    def _fault_problems(self) -> Iterator[Problem]:
        for number, step in enumerate(self.steps):
            place = f"steps[{number}]"
            if isinstance(step.action, Inject):
                try:
                    step.action.fault.expect(self.shape)
                except ValueError as error:
                    yield Problem(f"{place}.inject", str(error))
            elif isinstance(step.action, Write):
                found = check_schedule(
                    step.action.faults,
                    self.shape,
                    seconds=step.action.ends,
                    at_most_down=step.action.at_most_down,
                    before=self.open_before(number),
                )
                yield from (Problem(f"{place}.write.{one.place}", one.what) for one in found)


def _told(error: ValueError) -> str:
    """The words of a validator, without pydantic's own around them."""
    if isinstance(error, ValidationError):
        return str(error.errors()[0]["msg"]).removeprefix("Value error, ")
    return str(error)
