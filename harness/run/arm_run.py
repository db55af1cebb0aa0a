"""The resources of one arm during a run: its topics, clients, journals and final read.

A run has one arm, or several side by side under the same steps and faults (`Experiment.together`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from harness.cluster.convergence import await_isr
from harness.cluster.topic_admin import TopicAdmin
from harness.model import journal
from harness.model.polling import wait_until
from harness.model.progress import progress_under
from harness.model.run import ApplicationMeta, Deletion, FinalRead, RunMeta, StepInfo
from harness.run.arm_application import ArmApplication, output_config
from harness.run.arm_setting import ArmSetting
from harness.run.clients.client_factory import WorkloadBackend
from harness.run.clients.run_clients import RunClients
from harness.run.faults.ledger import FaultLedger
from harness.run.offsets.offset_rows import journal_logged_commits
from harness.run.offsets.pollers import BrokerPoller, CoordinatorPoller
from harness.run.reads.final_read import FinalReadTarget, final_read, merge_reads
from harness.run.reads.source_read import source_read
from harness.run.sampler import Sampler
from harness.spec.group_steps import AskOffsets
from workloads.journal.row_journal import RowJournal, TableFile
from workloads.own.producer_folder import PRODUCERS_DIR, ProducerFolder, ProducerTarget
from workloads.producer.processor import GROUP as PROCESSORS
from workloads.producer.processor import reader_spec_of

_START_SECONDS = 30.0
_PARTITIONS_A_SECOND = 50


class ArmRun(ArmSetting):
    """One arm in its run folder. Call `create` first, then `open` and `produce`, and at the end `finish`.

    `answers` takes the brokers' answers in ask steps, `faults` every fault event.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._deletions: list[Deletion] = []
        """Those of steps."""
        self._polled: list[tuple[str, int]] = []
        """The partitions whose committed offsets are asked for."""
        spec = self.experiment.application_of(self.arm)
        self.application = None if spec is None else ArmApplication(spec, self)
        own = self.application is not None and self.application.second_cluster is None
        output = self.application.topic if self.application is not None and own else None
        self.topics = self.written if output in (None, self.topic) else (*self.written, output)

    def create(self, skipped: tuple[str, ...], stack: ExitStack) -> None:
        """Create the topics, wait until every ISR is full, and save the metadata. Leaving the stack ends the
        second cluster of an application that has one.

        Raises:
            BadInput: the broker refuses the arm's settings.
            ClusterError: an ISR did not become full in time.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        admin = self.cluster.admin()
        for name in self.written:
            self._create(admin, name)
        if self.application is not None:
            self.application.create(stack, self._start_seconds)
        topic_config = admin.config(self.topic)
        self.meta = self.metadata(topic_config, skipped, self._application_meta())
        self.meta.save(self.folder)
        if self.workload_spec.client == "own":
            # Saved before `started` is called, because programs wait for it.
            target = ProducerTarget(self.run_id, self.topic, self.arm.producer.acks, self.cluster.bootstrap)
            ProducerFolder(self.folder / PRODUCERS_DIR).create(target)

    def _create(self, admin: TopicAdmin, name: str) -> None:
        topic, config = self.experiment.topic, {**self.experiment.topic.config, **self.arm.topic}
        if self.application is not None and self.application.topic == name:
            config = output_config({}, config)
        partitions = self.partitions if name == self.topic else topic.partitions
        admin.create(
            name,
            partitions=partitions,
            replication_factor=topic.replication_factor,
            config=config,
            # It names the partitions of the experiment, and a fault may have added others before a step
            # creates the topic again.
            assignment=topic.assignment if partitions == topic.partitions else None,
        )
        await_isr(self.cluster, name, partitions, topic.replication_factor, self._start_seconds)

    @property
    def _start_seconds(self) -> float:
        """How long a new topic may take until every ISR is full."""
        return _START_SECONDS + self.partitions / _PARTITIONS_A_SECOND

    def delete_records(self, before: int) -> None:
        """Delete the topic's records below an offset of each partition.

        Raises:
            ClusterError: a leader refuses, or does not answer.
        """
        self.cluster.delete_records(self.topic, dict.fromkeys(range(self.partitions), before))
        self._deleted(before)

    def recreate_topic(self) -> None:
        """Delete the topic, and create it again.

        Raises:
            ClusterError: it could not be deleted, was not gone in time, or could not be created.
        """
        admin = self.cluster.admin()
        admin.delete(self.topic)
        self._deleted(None)
        wait_until(
            lambda: "a broker still has it" if admin.exists(self.topic) else None,
            what="the deleted topic is gone",
            seconds=_START_SECONDS,
        )
        self._create(admin, self.topic)

    def _deleted(self, before: int | None) -> None:
        self._deletions.append(Deletion(topic=self.topic, before=before, at_ns=time.time_ns()))
        self._save(deletions=tuple(self._deletions))

    def _save(self, **update: Any) -> None:
        """Save the metadata of the run with these changes."""
        self.meta = self.meta.model_copy(update=update)
        self.meta.save(self.folder)

    def share_groups(self) -> dict[str, str]:
        """The share groups' names in this run, by those in the experiment."""
        specs = self.experiment.share_of(self.arm)
        return {spec.group or spec.name: spec.group_id(self.run_id) for spec in specs}

    def groups(self) -> set[str]:
        """Names of the groups of the arm's readers, processors, share groups and application."""
        readers = self.experiment.readers_of(self.arm)
        groups = {reader.group for reader in readers if reader.group is not None}
        groups |= set(self.share_groups().values())
        if self.workload_spec.process is not None:
            groups.add(PROCESSORS)
        if self.application is not None:
            groups |= self.application.groups()
        return groups

    def committing(self) -> dict[str, str]:
        """The groups that commit offsets, by reader."""
        readers = self.experiment.readers_of(self.arm)
        readers = tuple(one for one in readers if one.group is not None and one.commits != "none")
        if (process := self.workload_spec.process) is not None:
            readers = (*readers, reader_spec_of(process))
        return {name: str(reader.group) for reader in readers for name in reader.member_names}

    def open(self, stack: ExitStack) -> None:
        """Open the journals, start the sampler and the pollers of offsets; leaving the stack ends them."""
        samples = stack.enter_context(RowJournal(self.folder / journal.SAMPLES_DIR, journal.SAMPLES))
        self.faults = stack.enter_context(TableFile(self.folder / journal.FAULTS_FILE, journal.FAULTS))
        self.answers = stack.enter_context(RowJournal(self.folder / journal.ANSWERS_DIR, journal.ANSWERS))
        if self.application is not None:
            self.application.open(stack)
        self.sampler = Sampler(self.cluster.connection, self.cluster.broker_ids, self.topic, samples)
        stack.callback(self.sampler.stop)
        self.coordinator_poller: CoordinatorPoller | None = None
        self.broker_poller: BrokerPoller | None = None
        self._polled = [(self.topic, number) for number in range(self.partitions)]
        groups = self.committing()
        if groups or self.experiment.commits_offsets:
            self.coordinator_poller = CoordinatorPoller(
                self.cluster.connection,
                self.cluster.broker_ids,
                groups,
                self._polled,
                stack.enter_context(RowJournal(self.folder / journal.OFFSETS_DIR, journal.OFFSETS)),
            )
            stack.callback(self.coordinator_poller.stop)
            self.coordinator_poller.start()
            self.broker_poller = BrokerPoller(
                self.cluster.connection, self.cluster.broker_ids, self.topic, self.coordinator_poller.sink
            )
            stack.callback(self.broker_poller.end)

    def produce(self, stack: ExitStack) -> None:
        """Create the producers and readers; leaving the stack closes them.

        Raises:
            BadInput: the client refuses their settings.
        """
        answered = None if self.coordinator_poller is None else self.coordinator_poller.answered
        self.clients = stack.enter_context(RunClients(self, answered))

    def ask_offsets(self, step: AskOffsets) -> None:
        """Start to poll the committed offsets of the groups that the step names."""
        assert self.broker_poller is not None, "checked when the experiment was made"
        groups = {
            group: commit.partition
            for commit in (one.commit_offsets for one in self.experiment.steps)
            if commit is not None and commit.name in step.of
            for group in commit.group_names
        }
        self.broker_poller.ask(groups, step.seconds, stable=step.stable)

    @property
    def workload(self) -> WorkloadBackend:
        return self.clients.workload

    def note(self, steps: Sequence[StepInfo], ledger: FaultLedger, problems: list[str]) -> None:
        """Save the metadata of the unfinished run."""
        self._grow(ledger.partitions(self.topic))
        self._save(
            steps=tuple(steps),
            partitions=self.partitions,
            windows=ledger.windows(),
            deletions=(*self._deletions, *ledger.deletions(self.topic)),
            changed_configs=ledger.changed_configs(self.topic),
            readers=(*self.clients.readers.infos(), *self.clients.commits.infos()),
            share=self.clients.share.infos(),
            problems=(*problems, *self.clients.problems),
            application=self._application_meta(),
        )

    def _grow(self, partitions: int) -> None:
        """The topic has at least this number of partitions from now on."""
        self._polled += [(self.topic, number) for number in range(self.partitions, partitions)]
        self._partitions = max(self.partitions, partitions)

    def finish(self, timings: dict[str, float]) -> RunMeta:
        """Do the final read, and save the metadata of the run; `timings` are the seconds of other phases."""
        began = time.monotonic()
        with ThreadPoolExecutor(max_workers=1) as beside:
            memory = beside.submit(self.cluster.memory_mib)
            read = self._final_read() if self.source is None else None
            if self.application is not None:
                self.application.read_output()
            if read is None and self.source is not None:
                read = source_read(self.folder, self.input_name, self.run_id, self.source.last_error)
        assert read is not None
        problems = [*self.meta.problems, *self._ask_at_the_end()]
        if self.sampler.failure is not None:
            problems.append(f"the sampler ended early: {self.sampler.failure}")
        cluster = self.cluster.info().model_copy(update={"memory_mib": memory.result()})
        took = time.monotonic() - began
        settled = min(read.settled_seconds or 0.0, took)
        self._save(
            final_read=read,
            application=self._application_meta(),
            ended_ns=time.time_ns(),
            problems=tuple(problems),
            finished=True,
            cluster=cluster,
            timings=timings | {"brokers agreeing": round(settled, 3), "final read": round(took - settled, 3)},
        )
        return self.meta

    def _application_meta(self) -> ApplicationMeta | None:
        return None if self.application is None else self.application.meta()

    def _final_read(self) -> FinalRead:
        topic = self.experiment.topic
        reads = []
        for number, name in enumerate(self.written):
            subject = FinalReadTarget(
                name,
                self.partitions if name == self.topic else topic.partitions,
                topic.replication_factor,
                self.run_id,
                self.transaction_seconds,
                every_replica=self.experiment.replicas == "always",
                compacted="compact" in self.meta.topic_config.get("cleanup.policy", ""),
                first_part=number * self.partitions,
            )
            with progress_under(f"{self.experiment.name} · {self.arm.name}"):
                reads.append(final_read(self.cluster, subject, self.folder))
        return merge_reads(reads)

    def _ask_at_the_end(self) -> tuple[str, ...]:
        """Journal what the groups' coordinators and the replicas' files hold now; returns what went wrong."""
        coordinators, brokers = self.coordinator_poller, self.broker_poller
        if coordinators is None or brokers is None:
            return ()
        brokers.end()
        coordinators.stop()
        coordinators.add(self.clients.commits.answered)
        coordinators.last()
        groups = set(coordinators.groups.values())
        journal_logged_commits(self.cluster, groups, self.topics, coordinators.sink)
        failures = ([] if coordinators.failure is None else [coordinators.failure]) + brokers.failures
        return tuple(f"asking for committed offsets ended early: {one!r}" for one in failures)
