"""Experiments as data: cluster, topic, workload, steps, and the arms to compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, count, islice
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from checkers import check_promise
from faults.schedules.problems import Problem
from faults.targets import named_brokers
from faults.targets.target_context import ClusterShape, listed_ids
from harness.model.errors import BadInput, words_of
from harness.model.frozen import Frozen, Setting
from harness.spec.cluster import ClusterSpec
from harness.spec.cluster_shape import shape_of
from harness.spec.problems import fault_problems, reader_problems
from harness.spec.step import KIND, Sending, Step
from harness.spec.step_faults import needs_proxy, request_problems
from harness.spec.topic import TopicSpec
from harness.spec.version_problems import version_problems
from harness.spec.workload_problems import CHECKS, CLUSTER_CHECKS, SHAPE_CHECKS
from workloads.applications.application_plan import describe_application
from workloads.applications.application_spec import ApplicationSpec, merged
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.reader_spec import ReaderSpec
from workloads.records.config.workload_spec import WorkloadSpec
from workloads.share.share_spec import ShareSpec

_NAME = r"^[a-z0-9][a-z0-9=+._-]{0,59}$"


class Arm(Frozen):
    """One configuration of the experiment, and its promise.

    `promise` maps classes of findings to bounds: `0`, `N`, `>= N`, `<= N`, `any`, or `acked in STEP`
    (exactly the number of records acknowledged in that write step). Without it: nothing lost, phantom,
    corrupt, misplaced or rejected_present; no duplicate if the producer is idempotent.
    """

    name: str = Field(pattern=_NAME)
    producer: ProducerSettings = ProducerSettings()
    workload: WorkloadSpec | None = Field(None, description="replaces the experiment's")
    readers: tuple[ReaderSpec, ...] | None = Field(None, description="replaces the experiment's; [] for none")
    share: tuple[ShareSpec, ...] | None = Field(
        None, description="replaces the experiment's share groups; [] for none"
    )
    topic: dict[str, Setting] = Field(default_factory=dict, description="topic settings for this arm only")
    application: dict[str, Any] | None = Field(None, description="fields of `application` for this arm only")
    without_faults: bool = Field(
        False, description="a control: faults of write steps, `inject` and `heal` are passed over"
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
        "when_needed", description="read every replica's own files at the end, or only if records are missing"
    )
    readers: tuple[ReaderSpec, ...] = Field((), description="live readers: they read during the steps")
    application: ApplicationSpec | None = Field(
        None, description="an application under test, which reads the topic and writes an output"
    )
    share: tuple[ShareSpec, ...] = Field(
        (), description="share groups: their members take records during the steps"
    )
    steps: tuple[Step, ...] = Field(min_length=1)
    arms: tuple[Arm, ...] = Field(min_length=1)
    together: bool = Field(
        False,
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

    def application_in_words(self, arm: Arm) -> str | None:
        """The application under test of an arm, on one line; None: it has none."""
        application = self.application_of(arm)
        return None if application is None else describe_application(application)

    def share_of(self, arm: Arm) -> tuple[ShareSpec, ...]:
        return self.share if arm.share is None else arm.share

    @property
    def write_names(self) -> tuple[str, ...]:
        """Names of the steps in which producers send."""
        actions = (step.action for step in self.steps)
        return tuple(action.name for action in actions if isinstance(action, Sending))

    @model_validator(mode="after")
    def _turn_proxies_on(self) -> Experiment:
        """Steps that act on single requests, or wait for them, need the proxies."""
        if not self.cluster.proxy and needs_proxy(self.steps):
            object.__setattr__(self, "cluster", self.cluster.model_copy(update={"proxy": True}))
        return self

    @model_validator(mode="after")
    def _check_consistency(self) -> Experiment:
        # What the later checks assume comes first.
        problems = list(self._shape_problems()) or [*self._arm_problems(), *self._problems()]
        if problems:
            what = "; ".join(problem.message for problem in problems)
            raise PydanticCustomError("inconsistent", "{what}", {"what": what, "problems": problems})
        return self

    def _shape_problems(self) -> Iterator[Problem]:
        """Sizes and names that contradict each other."""
        if self.topic.replication_factor > self.cluster.brokers:
            yield Problem(
                "topic.replication_factor",
                f"topic.replication_factor is {self.topic.replication_factor}, "
                f"but the cluster has {self.cluster.brokers} broker(s)",
            )
        ids = self._own_ids() or tuple(range(1, self.cluster.brokers + 1))
        if len(ids) > self.cluster.brokers:
            yield Problem(
                "cluster.brokers",
                f"it is {self.cluster.brokers}, but the file names the brokers {listed_ids(ids)}",
            )
        assigned = {broker for brokers in self.topic.assignment or () for broker in brokers}
        if strangers := sorted(assigned - set(ids)):
            yield Problem(
                "topic.assignment",
                f"topic.assignment names broker(s) {', '.join(map(str, strangers))}; "
                f"the cluster has brokers {listed_ids(ids)}",
            )
        faults = {
            f"steps[{number}].inject.name": step.inject.name
            for number, step in enumerate(self.steps)
            if step.inject and step.inject.name
        }
        writes = {
            f"steps[{number}].{KIND[type(step.action)]}.name": step.action.name
            for number, step in enumerate(self.steps)
            if isinstance(step.action, Sending)
        }
        arms = {f"arms[{number}].name": arm.name for number, arm in enumerate(self.arms)}
        for what, names in (("fault", faults), ("write step", writes), ("arm", arms)):
            seen: set[str] = set()
            for where, name in names.items():
                if name in seen:
                    yield Problem(where, f"two {what}s are named {name!r}")
                seen.add(name)
        if not writes:
            yield Problem("steps", "no step writes records: add a `write` step")
        yield from chain.from_iterable(check(self) for check in SHAPE_CHECKS)

    def _arm_problems(self) -> Iterator[Problem]:
        """Promises that cannot be read, and settings that an arm's client does not have."""
        for number, arm in enumerate(self.arms):
            where = f"arms[{number}]"
            for key, text in arm.promise.items():
                try:
                    check_promise({key: text}, self.write_names)
                except BadInput as error:
                    expected = error.next_step if "did you mean" in str(error.next_step) else error.expected
                    yield Problem(
                        f"{where}.{error.where}", f"arm {arm.name!r}: {error.what}", expected, error.found
                    )
            workload = self.workload_of(arm)
            named = {name for reader in self.readers_of(arm) for name in reader.member_names}
            if twice := named & {reader.name for reader in workload.poll_readers}:
                yield Problem(
                    "readers" if arm.readers is None else f"{where}.readers",
                    f"arm {arm.name!r}: {min(twice)!r} is the name of the reader of a producer whose "
                    "transactions poll: rename the other reader",
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
        # Faults cannot tell the instances of arms in one run apart.
        applications = [] if self.together else [self.application_of(arm) for arm in self.arms]
        return replace(
            shape_of(self.cluster, self.topic),
            applications=min(
                (application.instances if application else 0 for application in applications), default=0
            ),
            application_in_container=bool(applications)
            and all(application is not None and application.in_container for application in applications),
            own_ids=self._own_ids(),
        )

    def _own_ids(self) -> tuple[int, ...]:
        """The broker ids of an existing cluster. As long as they are not known they are those that the file
        names, with the lowest others up to `brokers`; empty: the cluster is not an existing one."""
        if self.cluster.existing is None:
            return ()
        if self.cluster.existing.broker_ids is not None:
            return self.cluster.existing.broker_ids
        named = {*named_brokers(self.steps), *chain.from_iterable(self.topic.assignment or ())}
        others = (number for number in count(1) if number not in named)
        return tuple(sorted({*named, *islice(others, max(0, self.cluster.brokers - len(named)))}))

    def cluster_problems(self) -> Iterator[Problem]:
        """What the cluster cannot have of the workloads, with its path in the file."""
        yield from chain.from_iterable(check(self) for check in CLUSTER_CHECKS)

    def _problems(self) -> Iterator[Problem]:
        """What is inconsistent, with its path in the file."""
        yield from reader_problems(self.readers, self.cluster, "readers")
        for number, arm in enumerate(self.arms):
            yield from reader_problems(arm.readers or (), self.cluster, f"arms[{number}].readers")
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
                    why = words_of(error) if isinstance(error, ValidationError) else error
                    yield Problem(f"arms[{number}]", f"its workload has transactions: {why}")
        yield from chain.from_iterable(check(self) for check in CHECKS)
        yield from fault_problems(self.steps, self.shape, together=self.together)
        yield from version_problems(self.steps, self.cluster)
        yield from request_problems(self.steps, self.cluster)

    def _not_together(self, arm: Arm) -> str | None:
        """The arm's first resource whose name is not unique per run."""
        workload = self.workload_of(arm)
        if workload.transactional:
            return "transactional.id"
        application = self.application_of(arm)
        if application is not None and not application.has_names_of_the_run:
            return "application"
        if any(reader.group for reader in self.readers_of(arm)):
            return "consumer group"
        return None if workload.client in ("librdkafka", "own") else "Java client"
