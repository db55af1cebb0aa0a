"""The resources of one arm during a run: its topics, clients, journals and final read.

A run has one arm, or several side by side under the same steps and faults (`Experiment.together`).
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.cluster.convergence import await_isr
from harness.cluster.external import ExternalCluster
from harness.cluster.managed import ManagedCluster
from harness.cluster.topic_admin import TopicAdmin
from harness.model.journal import (
    ANSWERS,
    ANSWERS_DIR,
    FAULTS,
    FAULTS_FILE,
    OFFSETS,
    OFFSETS_DIR,
    SAMPLES,
    SAMPLES_DIR,
)
from harness.model.polling import wait_until
from harness.model.progress import progress_under
from harness.model.run import ApplicationMeta, Deletion, FaultWindow, FinalRead, RunMeta, StepInfo
from harness.run import phase_timer
from harness.run.arm_application import ArmApplication
from harness.run.arm_metadata import metadata_at_start
from harness.run.clients.run_clients import RunClients, topics_of, transaction_seconds
from harness.run.clients.workload_factory import WorkloadBackend
from harness.run.offsets.offset_rows import journal_logged_commits
from harness.run.offsets.pollers import BrokerPoller, CoordinatorPoller
from harness.run.phase_timer import PhaseTimer
from harness.run.reads.final_read import FinalReadTarget, final_read, merge_reads
from harness.run.sampler import Sampler
from harness.spec.experiment import Arm, Experiment
from harness.spec.group_steps import AskOffsets
from workloads.journal.row_journal import RowJournal, TableFile
from workloads.own.producer_folder import PRODUCERS_DIR, ProducerFolder, ProducerTarget
from workloads.producer.processor import GROUP as PROCESSORS
from workloads.producer.processor import reader_spec_of

_START_SECONDS = 30.0
_PARTITIONS_A_SECOND = 50


@dataclass(eq=False)
class ArmRun:
    """One arm in its run folder. Call `create` first, then `open` and `produce`, and at the end `finish`.

    No other arm uses `topic`. `answers` takes the brokers' answers in ask steps, `faults` every fault event.
    """

    cluster: ManagedCluster | ExternalCluster
    experiment: Experiment
    arm: Arm
    folder: Path
    seed: int
    answers: RowJournal = field(init=False)
    faults: TableFile = field(init=False)
    sampler: Sampler = field(init=False)
    clients: RunClients = field(init=False)

    def __post_init__(self) -> None:
        # Not derived from the seed: two runs with one seed on one cluster must not mistake each other's
        # records for their own.
        self.run_id = random.SystemRandom().getrandbits(62) + 1
        self.topic = f"{self.experiment.name}-{self.run_id:x}"
        spec = self.experiment.application_of(self.arm)
        self.application = (
            None
            if spec is None
            else ArmApplication(spec, self.cluster, self.experiment, self.arm, self.topic)
        )
        self._written = topics_of(self.experiment, self.arm, self.topic)
        own = self.application is not None and self.application.second_cluster is None
        output = self.application.topic if self.application is not None and own else None
        self.topics = self._written if output is None else (*self._written, output)

    def create(self, skipped: tuple[str, ...], stack: ExitStack) -> None:
        """Create the topics, wait until every ISR is full, and save the metadata. Leaving the stack ends the
        second cluster of an application that has one.

        Raises:
            BadInput: the broker refuses the arm's settings.
            ClusterError: an ISR did not become full in time.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        admin = self.cluster.admin()
        for name in self._written:
            self._create(admin, name)
        if self.application is not None:
            self.application.create(stack, self.folder, self._start_seconds)
        self.meta = metadata_at_start(
            self.experiment,
            self.arm,
            self.cluster,
            run_id=self.run_id,
            seed=self.seed,
            topic=self.topic,
            topic_config=admin.config(self.topic),
            skipped=skipped,
            application=self._application_meta(),
        )
        self.meta.save(self.folder)
        if self.experiment.workload_of(self.arm).client == "own":
            # Saved before `started` is called, because programs wait for it.
            target = ProducerTarget(self.run_id, self.topic, self.arm.producer.acks, self.cluster.bootstrap)
            ProducerFolder(self.folder / PRODUCERS_DIR).create(target)

    def _create(self, admin: TopicAdmin, name: str) -> None:
        topic = self.experiment.topic
        admin.create(
            name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            config={**topic.config, **self.arm.topic},
            assignment=topic.assignment,
        )
        await_isr(self.cluster, name, topic.partitions, topic.replication_factor, self._start_seconds)

    @property
    def _start_seconds(self) -> float:
        """How long a new topic may take until every ISR is full."""
        return _START_SECONDS + self.experiment.topic.partitions / _PARTITIONS_A_SECOND

    def delete_records(self, before: int) -> None:
        """Delete the topic's records below an offset of each partition.

        Raises:
            ClusterError: a leader refuses, or does not answer.
        """
        self.cluster.admin().delete_records(self.topic, self.experiment.topic.partitions, before)
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
        deletion = Deletion(topic=self.topic, before=before, at_ns=time.time_ns())
        self._save(deletions=(*self.meta.deletions, deletion))

    def _save(self, **update: Any) -> None:
        """Save the metadata of the run with these changes."""
        self.meta = self.meta.model_copy(update=update)
        self.meta.save(self.folder)

    def share_groups(self) -> dict[str, str]:
        """The share groups' names in this run, by those in the experiment."""
        specs = self.experiment.share_of(self.arm)
        return {spec.group or spec.name: spec.group_id(self.run_id) for spec in specs}

    def groups(self) -> set[str]:
        """Names of the groups of the arm's readers, processors and share groups."""
        readers = self.experiment.readers_of(self.arm)
        processing = self.experiment.workload_of(self.arm).process is not None
        application = set() if self.application is None else self.application.groups()
        shared = set(self.share_groups().values())
        return (
            application
            | {reader.group for reader in readers if reader.group is not None}
            | shared
            | ({PROCESSORS} if processing else set())
        )

    def committing(self) -> dict[str, str]:
        """The groups that commit offsets, by reader."""
        readers = [
            reader
            for reader in self.experiment.readers_of(self.arm)
            if reader.group is not None and reader.commits != "none"
        ]
        process = self.experiment.workload_of(self.arm).process
        if process is not None:
            readers.append(reader_spec_of(process))
        return {name: str(reader.group) for reader in readers for name in reader.member_names}

    def open(self, stack: ExitStack) -> None:
        """Open the journals, and start the sampler and the questions about committed offsets; leaving the
        stack ends them."""
        samples = stack.enter_context(RowJournal(self.folder / SAMPLES_DIR, SAMPLES))
        self.faults = stack.enter_context(TableFile(self.folder / FAULTS_FILE, FAULTS))
        self.answers = stack.enter_context(RowJournal(self.folder / ANSWERS_DIR, ANSWERS))
        if self.application is not None:
            self.application.open(stack, self.folder)
        self.sampler = Sampler(self.cluster.connection, self.cluster.broker_ids, self.topic, samples)
        stack.callback(self.sampler.stop)
        self.sampler.start()
        self.coordinator_poller: CoordinatorPoller | None = None
        self.broker_poller: BrokerPoller | None = None
        groups = self.committing()
        if groups or self.experiment.commits_offsets:
            self.coordinator_poller = CoordinatorPoller(
                self.cluster.connection,
                self.cluster.broker_ids,
                groups,
                [(self.topic, number) for number in range(self.experiment.topic.partitions)],
                stack.enter_context(RowJournal(self.folder / OFFSETS_DIR, OFFSETS)),
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
        self.clients = stack.enter_context(
            RunClients(
                self.experiment,
                self.arm,
                cluster=self.cluster,
                topic=self.topic,
                run_id=self.run_id,
                seed=self.seed,
                folder=self.folder,
                answered=None if self.coordinator_poller is None else self.coordinator_poller.answered,
            )
        )

    def ask_offsets(self, step: AskOffsets) -> None:
        """Start to poll the committed offsets of the groups that the step names."""
        assert self.broker_poller is not None, "checked when the experiment was made"
        commits = [one.commit_offsets for one in self.experiment.steps if one.commit_offsets is not None]
        groups = {
            group: commit.partition
            for commit in commits
            if commit.name in step.of
            for group in commit.group_names
        }
        self.broker_poller.ask(groups, step.seconds, stable=step.stable)

    @property
    def workload(self) -> WorkloadBackend:
        return self.clients.workload

    def note(self, steps: Sequence[StepInfo], windows: tuple[FaultWindow, ...], problems: list[str]) -> None:
        """Save the metadata of the unfinished run."""
        self._save(
            steps=tuple(steps),
            windows=windows,
            readers=(*self.clients.readers.infos(), *self.clients.commits.infos()),
            share=self.clients.share.infos(),
            problems=(*problems, *self.clients.problems),
            application=self._application_meta(),
        )

    def finish(self, timings: Mapping[str, float]) -> RunMeta:
        """Do the final read, and save the metadata of the finished run. `timings` holds the seconds of each
        phase so far, by its name."""
        timer = PhaseTimer()
        timer.enter(phase_timer.READ)
        with ThreadPoolExecutor(max_workers=1) as beside:
            memory = beside.submit(self.cluster.memory_mib)
            read = self._final_read()
            if self.application is not None:
                self.application.read_output(self.run_id, self.folder)
        problems = (*self.meta.problems, *self._ask_at_the_end())
        if self.sampler.failure is not None:
            problems = (*problems, f"the sampler ended early: {self.sampler.failure}")
        cluster = self.cluster.info().model_copy(update={"memory_mib": memory.result()})
        timer.enter(None)
        took = timer.seconds()
        settled = min(read.settled_seconds or 0.0, took[phase_timer.READ])
        self._save(
            final_read=read,
            application=self._application_meta(),
            ended_ns=time.time_ns(),
            problems=problems,
            finished=True,
            cluster=cluster,
            timings={
                **timings,
                phase_timer.SETTLE: round(settled, 3),
                **took,
                phase_timer.READ: round(took[phase_timer.READ] - settled, 3),
            },
        )
        return self.meta

    def _application_meta(self) -> ApplicationMeta | None:
        return None if self.application is None else self.application.meta()

    def _final_read(self) -> FinalRead:
        topic = self.experiment.topic
        reads = []
        for number, name in enumerate(self._written):
            subject = FinalReadTarget(
                name,
                topic.partitions,
                topic.replication_factor,
                self.run_id,
                transaction_seconds(self.experiment, self.arm),
                every_replica=self.experiment.replicas == "always",
                compacted="compact" in self.meta.topic_config.get("cleanup.policy", ""),
                first_part=number * topic.partitions,
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
