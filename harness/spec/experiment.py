"""Experiments as data: cluster, topic, workload, steps, and the arms to compare."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from checkers.judgement.judge import check_promise
from faults.base import FaultSpec
from faults.partition_fault import PartitionFault
from faults.schedules.check import Problem, check_schedule
from faults.schedules.tracks import tracks
from faults.target_context import ClusterShape
from harness.model.config_value import Setting
from harness.model.errors import BadInput, placed_words_of, words_of
from harness.model.frozen import Frozen
from harness.model.node_layout import FIRST_ZOOKEEPER_ID
from harness.spec.application import ApplicationSpec, merged
from harness.spec.assignment import with_counts_of_assignment
from harness.spec.cluster import ClusterSpec, Metadata
from harness.spec.share import altered_problems, share_problems
from harness.spec.steps import KIND, Drive, Heal, Inject, Step, Write
from workloads.config.java_settings import java_problem, settings_problem
from workloads.config.reader_spec import ReaderSpec
from workloads.config.share_spec import ShareSpec
from workloads.config.spec import ProducerSettings, WorkloadSpec

_NAME = r"^[a-z0-9][a-z0-9=+._-]{0,59}$"


class TopicSpec(Frozen):
    """The topic that is created for every run of the experiment.

    `assignment` lists each partition's brokers, the preferred leader first; it implies the numbers of
    partitions and replicas.
    """

    partitions: int = Field(default=3, ge=1, le=10000)
    replication_factor: int = Field(default=3, ge=1)
    assignment: tuple[tuple[int, ...], ...] | None = Field(default=None, min_length=1)
    config: dict[str, Setting] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _counts_of_assignment(cls, value: Any) -> Any:
        return with_counts_of_assignment(value)

    @model_validator(mode="after")
    def _consistent(self) -> TopicSpec:
        if self.assignment is None:
            return self
        for number, brokers in enumerate(self.assignment):
            if len(set(brokers)) != self.replication_factor or len(brokers) != self.replication_factor:
                expected = f"expected {self.replication_factor} different brokers"
                raise ValueError(f"assignment[{number}] is {list(brokers)}: {expected}")
        if len(self.assignment) != self.partitions:
            raise ValueError(
                f"assignment has {len(self.assignment)} partition(s), `partitions` says {self.partitions}"
            )
        return self


class Arm(Frozen):
    """One configuration of the experiment, and its promise.

    `promise` maps classes of findings to bounds: `0`, `N`, `>= N`, `<= N`, `any`, or `acked in STEP`
    (exactly the number of records acknowledged in that write step). Without it: nothing lost, phantom,
    corrupt, misplaced or rejected_present; no duplicate if the producer is idempotent.
    """

    name: str = Field(pattern=_NAME)
    producer: ProducerSettings = ProducerSettings()
    workload: WorkloadSpec | None = Field(default=None, description="replaces the experiment's")
    readers: tuple[ReaderSpec, ...] | None = Field(
        default=None, description="replaces the experiment's; [] for none"
    )
    share: tuple[ShareSpec, ...] | None = Field(
        default=None, description="replaces the experiment's share groups; [] for none"
    )
    topic: dict[str, Setting] = Field(default_factory=dict, description="topic settings for this arm only")
    application: dict[str, Any] | None = Field(
        default=None, description="fields of `application` for this arm only"
    )
    without_faults: bool = Field(
        default=False,
        description="a control: faults of write steps, `inject` and `heal` are passed over",
    )
    promise: dict[str, Setting] = Field(default_factory=dict)


class Experiment(Frozen):
    """Everything that one execution needs; the same file always means the same experiment."""

    name: str = Field(pattern=_NAME)
    title: str
    description: str = ""
    cluster: ClusterSpec = ClusterSpec()
    topic: TopicSpec = TopicSpec()
    workload: WorkloadSpec = WorkloadSpec()
    replicas: Literal["when_needed", "always"] = Field(
        default="when_needed",
        description="read every replica's own files at the end, or only if records are missing",
    )
    readers: tuple[ReaderSpec, ...] = Field(
        default=(), description="live readers: they read during the steps"
    )
    application: ApplicationSpec | None = Field(
        default=None, description="an application under test, which reads the topic and writes an output"
    )
    share: tuple[ShareSpec, ...] = Field(
        default=(), description="share groups: their members take records during the steps"
    )
    steps: tuple[Step, ...] = Field(min_length=1)
    arms: tuple[Arm, ...] = Field(min_length=1)
    together: bool = Field(
        default=False,
        description="all arms in one run, in parallel, each on its own topic, so that all get the same "
        "faults. Targets refer to the first arm's topic; an injected fault on partitions is applied to each "
        "topic",
    )

    def workload_of(self, arm: Arm) -> WorkloadSpec:
        return arm.workload or self.workload

    def readers_of(self, arm: Arm) -> tuple[ReaderSpec, ...]:
        return self.readers if arm.readers is None else arm.readers

    def application_of(self, arm: Arm) -> ApplicationSpec | None:
        """The application under test of an arm; None: it has none."""
        return self.application if arm.application is None else merged(self.application, arm.application)

    def share_of(self, arm: Arm) -> tuple[ShareSpec, ...]:
        return self.share if arm.share is None else arm.share

    @property
    def write_names(self) -> tuple[str, ...]:
        """Names of the write steps and drive steps."""
        actions = (step.action for step in self.steps)
        return tuple(action.name for action in actions if isinstance(action, Write | Drive))

    @model_validator(mode="after")
    def _check_consistency(self) -> Experiment:
        # What the later checks assume comes first.
        problems = list(self._shape_problems()) or [*self._arm_problems(), *self._problems()]
        if problems:
            what = "; ".join(problem.message for problem in problems)
            raise PydanticCustomError("misplaced", "{what}", {"what": what, "problems": problems})
        return self

    def _shape_problems(self) -> Iterator[Problem]:
        """Sizes and names that contradict each other."""
        if self.topic.replication_factor > self.cluster.brokers:
            yield Problem(
                "topic.replication_factor",
                f"topic.replication_factor is {self.topic.replication_factor}, "
                f"but the cluster has {self.cluster.brokers} broker(s)",
            )
        strangers = sorted(
            {broker for brokers in self.topic.assignment or () for broker in brokers}
            - set(range(1, self.cluster.brokers + 1))
        )
        if strangers:
            yield Problem(
                "topic.assignment",
                f"topic.assignment names broker(s) {', '.join(map(str, strangers))}; "
                f"the cluster has brokers 1 to {self.cluster.brokers}",
            )
        faults = {
            f"steps[{number}].inject.name": step.inject.name
            for number, step in enumerate(self.steps)
            if step.inject and step.inject.name
        }
        writes = {
            f"steps[{number}].{KIND[type(step.action)]}.name": step.action.name
            for number, step in enumerate(self.steps)
            if isinstance(step.action, Write | Drive)
        }
        arms = {f"arms[{number}].name": arm.name for number, arm in enumerate(self.arms)}
        for what, names in (("fault", faults), ("write step", writes), ("arm", arms)):
            seen: set[str] = set()
            for place, name in names.items():
                if name in seen:
                    yield Problem(place, f"two {what}s are named {name!r}")
                seen.add(name)
        if not writes:
            yield Problem("steps", "no step writes records: add a `write` step")
        for number, arm in enumerate(self.arms):
            yield from self._application_problems(arm, f"arms[{number}]")

    def _arm_problems(self) -> Iterator[Problem]:
        """Promises that cannot be read, and settings that an arm's client does not have."""
        for number, arm in enumerate(self.arms):
            place = f"arms[{number}]"
            for key, text in arm.promise.items():
                try:
                    check_promise({key: text}, self.write_names)
                except BadInput as error:
                    expected = error.next_step if "did you mean" in str(error.next_step) else error.expected
                    yield Problem(
                        f"{place}.{error.where}", f"arm {arm.name!r}: {error.what}", expected, error.found
                    )
            workload = self.workload_of(arm)
            if workload.client == "driven" and (unknown := settings_problem(arm.producer)) is not None:
                yield Problem(f"{place}.producer", f"arm {arm.name!r}: {unknown}")
            if workload.client == "java" and (java := java_problem(workload, arm.producer)) is not None:
                yield Problem(f"{place}.producer", f"arm {arm.name!r}: {java}")

    def _application_problems(self, arm: Arm, place: str) -> Iterator[Problem]:
        try:
            application = self.application_of(arm)
        except ValidationError as error:
            yield Problem(f"{place}.application", f"arm {arm.name!r}: {placed_words_of(error)}")
            return
        if application is None:
            return
        where = "application" if arm.application is None else f"{place}.application"
        if self.cluster.security is not None:
            yield Problem(where, "an application cannot be tested on a cluster with `security` yet")
        if self.cluster.existing is not None and application.in_container:
            yield Problem(
                f"{where}.run", "a container needs the network of a cluster that kafka-chaos starts"
            )
        if self.cluster.existing is not None and application.output.cluster is not None:
            yield Problem(
                f"{where}.output.cluster", "a second cluster needs a first one that kafka-chaos starts"
            )
        replicas = application.output.of_topic.replication_factor
        if replicas is not None and replicas > self.cluster.brokers:
            yield Problem(
                f"{where}.output.topic.replication_factor",
                f"it is {replicas}, but the cluster has {self.cluster.brokers} broker(s)",
            )
        if application.group in {reader.group for reader in self.readers_of(arm)} - {None}:
            yield Problem(
                f"{where}.group",
                f"a reader of arm {arm.name!r} is in the group {application.group!r} too, "
                "so each would get a part of the records",
            )

    @property
    def commits_offsets(self) -> bool:
        """Whether a step commits offsets of groups without members."""
        return any(
            step.commit_offsets is not None or (step.drive is not None and step.drive.offsets)
            for step in self.steps
        )

    @property
    def shape(self) -> ClusterShape:
        """The shape of cluster, topic and application, which faults check before a run."""
        applications = [self.application_of(arm) for arm in self.arms]
        return ClusterShape(
            brokers=self.cluster.brokers,
            controllers=self.cluster.controllers,
            combined=self.cluster.combined or self.cluster.metadata is Metadata.ZOOKEEPER,
            zookeepers=(FIRST_ZOOKEEPER_ID,) if self.cluster.metadata is Metadata.ZOOKEEPER else (),
            partitions=self.topic.partitions,
            replication_factor=self.topic.replication_factor,
            disk_mib=self.cluster.disk_mib,
            skewable=self.cluster.skewable_clocks,
            applications=min((one.instances if one else 0 for one in applications), default=0),
            application_in_container=all(one is not None and one.in_container for one in applications),
        )

    def open_before(self, index: int) -> dict[str, FaultSpec]:
        """Faults that inject steps before this step leave open, by their place in the file."""
        return {place: inject.fault for place, inject in self._left_open(index).items()}

    def _left_open(self, index: int) -> dict[str, Inject]:
        found: dict[str, Inject] = {}
        for number, step in enumerate(self.steps[:index]):
            if step.inject is not None:
                found[f"steps[{number}].inject"] = step.inject
            elif step.heal is not None:
                only = step.heal.only
                found = {place: one for place, one in found.items() if only and one.name not in only}
        return found

    def share_problems(self) -> Iterator[Problem]:
        """What the cluster cannot have of the share groups, with its place in the file."""
        yield from share_problems(self.share, self.cluster, "share")
        for number, arm in enumerate(self.arms):
            yield from share_problems(arm.share or (), self.cluster, f"arms[{number}].share")
        groups = {arm.name: self.share_of(arm) for arm in self.arms}
        yield from altered_problems(self.steps, groups, self.cluster)

    def _problems(self) -> Iterator[Problem]:
        """What is inconsistent, with its place in the file."""
        yield from self._reader_problems(self.readers, "readers")
        yield from self.share_problems()
        for number, arm in enumerate(self.arms):
            yield from self._reader_problems(arm.readers or (), f"arms[{number}].readers")
            if self.together and (what := self._not_together(arm)) is not None:
                yield Problem(f"arms[{number}]", f"its {what} cannot be shared with other arms in one run")
            if self.together and arm.without_faults:
                yield Problem(
                    f"arms[{number}].without_faults", "with `together: true` all arms get the same faults"
                )
            if self.workload_of(arm).transactional:
                try:
                    arm.producer.check_transactional()
                except ValueError as error:
                    yield Problem(f"arms[{number}]", f"its workload has transactions: {_message_of(error)}")
        yield from self._driving_problems()
        yield from self._restart_problems()
        yield from self._commit_problems()
        yield from self._fault_problems()

    def _not_together(self, arm: Arm) -> str | None:
        """What an arm has that has the same name in all runs."""
        workload = self.workload_of(arm)
        if workload.transactional:
            return "transactional.id"
        if self.application is not None or arm.application is not None:
            return "application"
        if any(reader.group for reader in self.readers_of(arm)):
            return "consumer group"
        return None if workload.client in ("librdkafka", "own") else "Java client"

    def _driving_problems(self) -> Iterator[Problem]:
        """Write steps and drive steps need different clients."""
        driven = {self.workload_of(arm).client == "driven" for arm in self.arms}
        own = any(self.workload_of(arm).client == "own" for arm in self.arms)
        for number, step in enumerate(self.steps):
            place = f"steps[{number}]"
            for name in ("records", "rate") if own and step.write is not None else ():
                if getattr(step.write, name) is not None:
                    yield Problem(
                        f"{place}.write.{name}",
                        f"`client: own` has no `{name}`: your program decides, and `seconds` is the most",
                    )
            if step.write is not None and True in driven:
                yield Problem(f"{place}.write", "`client: driven` has no write steps, only drive steps")
            if step.drive is None:
                continue
            if False in driven:
                yield Problem(f"{place}.drive", "drive steps need `client: driven`: set it below `workload`")
            numbers = [
                *(send.partition for send in step.drive.sends),
                *(one.partition for one in step.drive.offsets),
            ]
            for partition in numbers:
                if partition >= self.topic.partitions:
                    last = self.topic.partitions - 1
                    yield Problem(f"{place}.drive.do", f"the topic has partitions 0 to {last}")
            calls = {"begin", "commit", "abort"}
            if (step.drive.offsets or not calls.isdisjoint(step.drive.do)) and not all(
                self.workload_of(arm).transactional for arm in self.arms
            ):
                yield Problem(f"{place}.drive.do", "transactions need `driven: {transactional: true}`")

    def _restart_problems(self) -> Iterator[Problem]:
        """Steps that restart a reader which an arm does not have, or whose clients cannot be killed."""
        for number, step in enumerate(self.steps):
            restart = step.restart_reader
            for arm in self.arms if restart is not None else ():
                assert restart is not None
                place = f"steps[{number}].restart_reader"
                found = {reader.name: reader for reader in self.readers_of(arm)}.get(restart.reader)
                if found is None:
                    yield Problem(f"{place}.reader", f"arm {arm.name!r} has no reader {restart.reader!r}")
                elif restart.crash and not found.apart:
                    yield Problem(
                        f"{place}.crash",
                        f"a crash needs a reader whose clients have their own processes: set `process: true` "
                        f"for reader {restart.reader!r}",
                    )

    def _commit_problems(self) -> Iterator[Problem]:
        """Commits to partitions that the topic has not, or through the broker of a step that comes later, and
        questions about them."""
        earlier: set[str] = set()
        for number, step in enumerate(self.steps):
            commit = step.commit_offsets
            for name in () if step.ask_offsets is None else step.ask_offsets.of:
                if name not in earlier:
                    yield Problem(
                        f"steps[{number}].ask_offsets.of", f"no earlier step commits offsets as {name!r}"
                    )
            if commit is None:
                continue
            place = f"steps[{number}].commit_offsets"
            if commit.partition >= self.topic.partitions:
                yield Problem(
                    f"{place}.partition", f"the topic has partitions 0 to {self.topic.partitions - 1}"
                )
            for key in ("same_as", "other_than"):
                name = getattr(commit, key)
                if name is not None and name not in earlier:
                    yield Problem(f"{place}.{key}", f"no earlier step commits offsets as {name!r}")
            if commit.name in earlier:
                yield Problem(f"{place}.name", f"two such steps are named {commit.name!r}")
            earlier.add(commit.name)

    def _reader_problems(self, readers: tuple[ReaderSpec, ...], place: str) -> Iterator[Problem]:
        taken: set[str] = set()
        for number, reader in enumerate(readers):
            twice = taken.intersection(reader.member_names)
            if twice:
                yield Problem(f"{place}[{number}].name", f"two readers are named {min(twice)!r}")
            taken.update(reader.member_names)
            if reader.protocol == "consumer" and not self.cluster.has_consumer_protocol:
                mode = " with ZooKeeper" if self.cluster.metadata is Metadata.ZOOKEEPER else ""
                yield Problem(
                    f"{place}[{number}].protocol",
                    f"Kafka {self.cluster.version}{mode} has no consumer group protocol, 4.0 was the first "
                    "(KIP-848): set `version` below `cluster`, or `protocol: classic`",
                )
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
                    step.action.fault.warnings(self.shape)
                except ValueError as error:
                    yield Problem(f"{place}.inject", str(error))
            elif isinstance(step.action, Heal):
                names = {one.name for one in self._left_open(number).values()}
                for name in step.action.only:
                    if name not in names:
                        yield Problem(f"{place}.heal.only", f"no fault called {name!r} is open at this step")
            elif isinstance(step.action, Write):
                picks = (pick for track in tracks(step.action.faults) for pick in track.picks)
                if self.together and any(isinstance(pick.fault, PartitionFault) for pick in picks):
                    yield Problem(
                        place, "with `together: true` faults on partitions are possible in inject steps only"
                    )
                found = check_schedule(
                    step.action.faults,
                    self.shape,
                    seconds=step.action.ends,
                    at_most_down=step.action.at_most_down,
                    before=self.open_before(number),
                )
                yield from (Problem(f"{place}.write.{one.place}", one.what) for one in found)


def _message_of(error: ValueError) -> str:
    """The message of a validator, without the text that pydantic adds."""
    if isinstance(error, ValidationError):
        return words_of(error)
    return str(error)
