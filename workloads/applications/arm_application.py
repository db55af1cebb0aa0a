"""The application under test of an arm: its output topic, its life beside the steps, and its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from typing import Literal

from harness.cluster.convergence import await_isr
from harness.cluster.live import LiveCluster
from harness.cluster.running_cluster import running_cluster
from harness.model.application_journal import (
    APPLICATION_DIR,
    APPLICATION_EVENTS,
    HANDLER_FAILURES,
    HANDLER_FAILURES_DIR,
)
from harness.model.application_meta import ApplicationMeta
from harness.model.errors import KafkaChaosError
from harness.model.frozen import Setting
from harness.model.group_journal import OFFSETS, OFFSETS_DIR
from harness.model.run import FinalRead
from harness.run.arm_setting import ArmSetting
from harness.run.reads.final_read import FinalReadTarget
from harness.spec.cluster import output_cluster_spec
from harness.spec.wait_conditions import ApplicationState
from workloads.applications.application_spec import ApplicationSpec
from workloads.applications.deliveries import DeliveryFiles
from workloads.applications.launch import Prepared, Surroundings, group_of, identity_of, launch, prepare
from workloads.applications.output_read import (
    TRANSACTION_SECONDS,
    OutputRead,
    line_rows,
    parquet_rows,
    read_output_table,
    read_output_topic,
)
from workloads.applications.outputs.identity_spec import Identity
from workloads.applications.running_application import RunningApplication
from workloads.applications.source_input import open_source
from workloads.applications.source_read import source_read
from workloads.base import RunningWorkload
from workloads.groups.offset_rows import journal_logged_commits
from workloads.records.journal.row_journal import RowJournal

_TIMESTAMPS = "message.timestamp.type"


class ArmApplication(RunningWorkload):
    """The application of one arm.

    `topic` is its output topic, derived from the arm's; None: its output is a table. It is on the
    run's cluster, or on a second one, which lives from `create` to the end of the stack.

    Raises:
        BadInput: no such built-in, or wrong options.
        PrerequisiteMissing: what the built-in runs is not available.
    """

    def __init__(self, spec: ApplicationSpec, setting: ArmSetting) -> None:
        self._prepared: Prepared = prepare(spec)
        self._setting = setting
        self._folder = setting.folder / APPLICATION_DIR
        self.spec = spec
        self.topic = None if spec.output.table is not None else f"{setting.topic}-output"
        if spec.input is not None:
            self.topic = setting.topic
        self.partitions = spec.output.of_topic.partitions or setting.partitions
        self.second_cluster = spec.output.cluster
        self.replicas = spec.output.of_topic.replication_factor or (
            setting.experiment.topic.replication_factor if self.second_cluster is None else 1
        )
        self._output_cluster: LiveCluster = setting.cluster
        self.running: RunningApplication | None = None
        self._problems: list[str] = []
        self._deliveries = DeliveryFiles()
        self._read: OutputRead | None = None

    @classmethod
    def of(cls, setting: ArmSetting) -> ArmApplication | None:
        """None: the arm has no application."""
        spec = setting.experiment.application_of(setting.arm)
        return None if spec is None else cls(spec, setting)

    @property
    def topics(self) -> tuple[str, ...]:
        if self.topic is None or self.topic == self._setting.topic or self.second_cluster is not None:
            return ()
        return (self.topic,)

    def topic_config(self, topic: str, config: Mapping[str, Setting]) -> Mapping[str, Setting]:
        """As an output topic, if it is that of the run."""
        return output_config({}, config) if topic == self.topic else config

    def create(self, stack: ExitStack, seconds: float) -> None:
        """Start the second cluster if there is one, create the output topic, and wait for its full ISRs.

        Leaving the stack removes the second cluster; its logs go to the run's folder.

        Raises:
            BadInput: the broker refuses the topic's settings.
            PrerequisiteMissing, ClusterError: the second cluster could not be started.
            ClusterError: an ISR did not become full within `seconds`.
        """
        if self.second_cluster is not None:
            spec = output_cluster_spec(self._setting.cluster.spec, self.second_cluster)
            logs = self._folder / "output-cluster"
            self._output_cluster = stack.enter_context(running_cluster(spec, logs))
        if self.topic in (None, self._setting.topic):
            return
        inherited = dict(self._setting.experiment.topic.config)
        if self.second_cluster is not None:
            inherited.pop("min.insync.replicas", None)  # It has one broker.
        config = output_config(inherited, self.spec.output.of_topic.config)
        self._output_cluster.admin().create(
            self.topic,
            partitions=self.partitions,
            replication_factor=self.replicas,
            config=config,
            assignment=self.spec.output.of_topic.assignment,
        )
        await_isr(self._output_cluster, self.topic, self.partitions, self.replicas, seconds)

    def groups(self) -> dict[str, str]:
        """The consumer group that a run creates; one without a name in the experiment is `application`."""
        group = self.spec.group or group_of(self._setting.topic)
        return {self.spec.group or "application": group} if self._prepared.reads_in_group else {}

    def open(self, stack: ExitStack) -> None:
        """Make the instances, in the run's folder; leaving the stack ends them, and closes their journal."""
        events = stack.enter_context(RowJournal(self._folder, APPLICATION_EVENTS))
        workload, patience = (
            self._setting.workload_spec,
            self._setting.arm.producer.delivery_timeout_ms / 1000,
        )
        source = open_source(self.spec, workload, self._setting.cluster, self._folder, patience)
        if source is not None:
            self._setting.source = source
            stack.callback(source.close)
        around = Surroundings(
            cluster=self._setting.cluster,
            output_cluster=self._output_cluster,
            input=self._setting.topic,
            partitions=self._setting.partitions,
            output=self.topic,
            output_partitions=self.partitions,
            transactional=workload.transactional,
            folder=self._setting.folder,
            value_bytes=workload.record_size,
            source=source,
        )
        self.running = launch(self._prepared, around, events)
        stack.callback(self.running.remove)

    def start(self) -> None:
        """Start every instance, and wait until the application is ready."""
        assert self.running is not None, "open comes first"
        self.running.start()

    def instances(self) -> RunningApplication | None:
        return self.running

    def await_state(self, wanted: ApplicationState, within: float) -> str | None:
        """What is missing when a wait step for the application has timed out; None: nothing."""
        assert self.running is not None, "open comes first"
        return self.running.await_state(wanted, within)

    def end(self) -> list[str]:
        """Wait until it has drained, and stop it. What goes wrong is told with its metadata."""
        assert self.running is not None, "open comes first"
        try:
            self.running.drain()
            self.running.stop()
        except KafkaChaosError as error:
            self._problems.append(str(error))
        return []

    def finish(self) -> list[str]:
        """Read what it has written to its end, into the run's folder. What goes wrong is told with its
        metadata."""
        self._read = self._read_output()
        if self.spec.output.table == "deliveries":
            self._journal_deliveries()
        return []

    def _journal_deliveries(self) -> None:
        """Journal what judges deliveries beside them: failures of the handler, and what its group has
        committed."""
        setting = self._setting
        with RowJournal(setting.folder / HANDLER_FAILURES_DIR, HANDLER_FAILURES) as failures:
            for failure in self._deliveries.failures:
                failures.append({"topic": setting.topic, **asdict(failure)})
        group = self.running.group.group if self.running else None
        if group is not None:
            with RowJournal(setting.folder / OFFSETS_DIR, OFFSETS) as offsets:
                journal_logged_commits(setting.cluster, {group}, (setting.topic,), offsets)

    def _read_output(self) -> OutputRead:
        spec, run_id, folder = self.spec, self._setting.run_id, self._setting.folder
        identity = identity_of(spec, self._setting.workload_spec)
        if self.topic is None:
            states = [self._folder / f"state-{number}" for number in range(spec.instances)]
            tables = [state / spec.output.path for state in states]
            rows_of = {"parquet": parquet_rows, "lines": line_rows, "deliveries": self._deliveries.rows}
            form = spec.output.table or "lines"
            return read_output_table(tables, rows_of[form], spec.output.path, identity, run_id, folder)
        seconds = TRANSACTION_SECONDS if spec.guarantee == "exactly-once" else None
        target = FinalReadTarget(self.topic, self.partitions, self.replicas, run_id, seconds)
        return read_output_topic(self._output_cluster, target, identity, folder)

    def final_read(self) -> FinalRead | None:
        """What its file or endpoint was given."""
        setting, source = self._setting, self._setting.source
        if source is None:
            return None
        return source_read(setting.folder, setting.input_name, setting.run_id, source.last_error)

    def _reasons(self) -> tuple[str, ...]:
        """Why it could not do its work, or why its output could not be read, in sentences."""
        running = self.running.problems if self.running else ()
        return (*self._problems, *running, *(self._read.reasons if self._read else ()))

    def meta(self) -> dict[str, ApplicationMeta]:
        return {"application": self._meta()}

    def _meta(self) -> ApplicationMeta:
        spec = self.spec
        return ApplicationMeta(
            output=self.topic or spec.output.path,
            table=self.topic is None,
            source=_source_kind(spec),
            group=self.running.group.group if self.running else None,
            guarantee=spec.guarantee,
            order=spec.order,
            identity=describe_identity(spec.identity),
            instances=spec.instances,
            outputs_per_input=spec.output.per_input,
            output_times=output_times(self.topic, self._own_settings()),
            drained=self.running is not None and self.running.drained,
            failed=self.running is not None and self.running.failed,
            exits=tuple(self.running.exits) if self.running else (),
            deliveries=spec.output.table == "deliveries",
            markers=self._deliveries.markers,
            records=self._read.records if self._read else 0,
            read_complete=self._read is not None and self._read.complete,
            problems=self._reasons(),
        )

    def _own_settings(self) -> Mapping[str, Setting]:
        """The settings that the experiment gives the output topic."""
        if self.topic != self._setting.topic:
            return self.spec.output.of_topic.config
        return {**self._setting.experiment.topic.config, **self._setting.arm.topic}


def _source_kind(spec: ApplicationSpec) -> Literal["topic", "file", "HTTP endpoint"]:
    if spec.input is None:
        return "topic"
    return "file" if spec.input.file is not None else "HTTP endpoint"


def output_times(topic: str | None, own: Mapping[str, Setting]) -> Literal["broker", "application"]:
    """Who gives the outputs of a topic with these settings (None: of a table) their timestamps."""
    brokers = topic is not None and output_config({}, own)[_TIMESTAMPS] == "LogAppendTime"
    return "broker" if brokers else "application"


def output_config(of_input: Mapping[str, Setting], own: Mapping[str, Setting]) -> dict[str, Setting]:
    """Settings of an output topic: the input's, without what deletes records, and its own.

    Its timestamps are those of the brokers, which say when an output was written, unless its own settings
    say otherwise: applications pass on the timestamps of their inputs.
    """
    inherited = {
        name: value
        for name, value in of_input.items()
        if not name.startswith("retention.") and name != "cleanup.policy"
    }
    return {**inherited, _TIMESTAMPS: "LogAppendTime", **own}


def describe_identity(identity: Identity) -> str:
    """How an output names its inputs, in words: "value", "header NAME", "json $.path", "callable m:f"."""
    if isinstance(identity, str):
        return identity
    ((kind, name),) = identity.model_dump(by_alias=True).items()
    return f"{kind} {name}"
