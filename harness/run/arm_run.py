"""The resources of one arm during a run: its topics, clients, journals and final read.

A run has one arm, or several side by side under the same steps and faults (`Experiment.together`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import chain
from typing import Any, TypeVar

from harness.cluster.convergence import await_isr
from harness.cluster.topic_admin import TopicAdmin
from harness.model import journal
from harness.model.frozen import Setting
from harness.model.polling import wait_until
from harness.model.progress import progress_under
from harness.model.run import Deletion, FinalRead, RunMeta, StepInfo
from harness.run.arm_setting import ArmSetting
from harness.run.faults.ledger import FaultLedger
from harness.run.reads.final_read import FinalReadTarget, final_read, merge_reads
from harness.run.run_clients import RunClients
from harness.run.sampler import Sampler
from harness.run.workloads import properties_of, workloads_of
from workloads.base import ArmProducers, RunningWorkload
from workloads.records.journal.row_journal import RowJournal, TableFile

_Workload = TypeVar("_Workload", bound=RunningWorkload)
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
        self.workloads = workloads_of(self)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of the run on its cluster."""
        return (*self.written, *(topic for workload in self.workloads for topic in workload.topics))

    def create(self, skipped: tuple[str, ...], stack: ExitStack) -> None:
        """Create the topics, wait until every ISR is full, and save the metadata. Leaving the stack ends
        what the workloads have made.

        Raises:
            BadInput: the broker refuses the arm's settings.
            ClusterError: an ISR did not become full in time.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        admin = self.cluster.admin()
        for name in self.written:
            self._create(admin, name)
        for workload in self.workloads:
            workload.create(stack, self._start_seconds)
        known = self.metadata(admin.config(self.topic), skipped, properties_of(self))
        self.meta = known.model_copy(update=self._metadata_of_workloads())
        self.meta.save(self.folder)
        # Before `started` is called, because programs wait for what this makes.
        for workload in self.workloads:
            workload.created()

    def _create(self, admin: TopicAdmin, name: str) -> None:
        topic = self.experiment.topic
        config: Mapping[str, Setting] = {**topic.config, **self.arm.topic}
        for workload in self.workloads:
            config = workload.topic_config(name, config)
        partitions = self.partitions if name == self.topic else topic.partitions
        admin.create(
            name,
            partitions=partitions,
            replication_factor=topic.replication_factor,
            config=dict(config),
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

    def named_groups(self) -> dict[str, str]:
        """The names in this run of the workloads' groups, by those in the experiment."""
        return {name: group for workload in self.workloads for name, group in workload.groups().items()}

    def groups(self) -> set[str]:
        """Names of the groups of the arm's readers and workloads."""
        readers = self.experiment.readers_of(self.arm)
        groups = {reader.group for reader in readers if reader.group is not None}
        return groups | set(self.named_groups().values())

    def open(self, stack: ExitStack) -> None:
        """Open the journals, start the sampler and what the workloads watch; leaving the stack ends them."""
        samples = stack.enter_context(RowJournal(self.folder / journal.SAMPLES_DIR, journal.SAMPLES))
        self.faults = stack.enter_context(TableFile(self.folder / journal.FAULTS_FILE, journal.FAULTS))
        self.answers = stack.enter_context(RowJournal(self.folder / journal.ANSWERS_DIR, journal.ANSWERS))
        self.sampler = Sampler(self.cluster.connection, self.cluster.broker_ids, self.topic, samples)
        stack.callback(self.sampler.stop)
        for workload in self.workloads:
            workload.open(stack)

    def produce(self, stack: ExitStack) -> None:
        """Create the producers and readers; leaving the stack closes them.

        Raises:
            BadInput: the client refuses their settings.
        """
        self.clients = stack.enter_context(RunClients(self, self.workloads))

    def the(self, kind: type[_Workload]) -> _Workload:
        """The arm's workload of a kind, which it is known to have."""
        return next(workload for workload in self.workloads if isinstance(workload, kind))

    def instances(self) -> Any:
        """What faults see as nodes beside the cluster's (None: nothing)."""
        return next(
            (nodes for workload in self.workloads if (nodes := workload.instances()) is not None), None
        )

    def await_state(self, wanted: Any, within: float) -> str | None:
        """Wait for a state of a workload; returns what is missing after `within` seconds."""
        answers = (workload.await_state(wanted, within) for workload in self.workloads)
        return next((missing for missing in answers if missing is not None), None)

    @property
    def producers(self) -> ArmProducers:
        return self.clients.producers

    def note(self, steps: Sequence[StepInfo], ledger: FaultLedger, problems: list[str]) -> None:
        """Save the metadata of the unfinished run."""
        self._grow(ledger.partitions(self.topic))
        self._save(
            steps=tuple(steps),
            partitions=self.partitions,
            windows=ledger.windows(),
            deletions=(*self._deletions, *ledger.deletions(self.topic)),
            changed_configs=ledger.changed_configs(self.topic),
            readers=tuple(
                chain(self.clients.readers.infos(), *(workload.readers() for workload in self.workloads))
            ),
            problems=(*problems, *self.clients.problems),
            **self._metadata_of_workloads(),
        )

    def _grow(self, partitions: int) -> None:
        """The topic has at least this number of partitions from now on."""
        for workload in self.workloads:
            workload.grow(partitions)
        self._partitions = max(self.partitions, partitions)

    def finish(self, timings: dict[str, float]) -> RunMeta:
        """Do the final read, and save the metadata of the run; `timings` are the seconds of other phases."""
        began = time.monotonic()
        with ThreadPoolExecutor(max_workers=1) as beside:
            memory = beside.submit(self.cluster.memory_mib)
            read = self._final_read() if self.source is None else None
            problems = [
                *self.meta.problems,
                *(problem for workload in self.workloads for problem in workload.finish()),
            ]
            if read is None:
                read = next(
                    own_read for workload in self.workloads if (own_read := workload.final_read()) is not None
                )
        if self.sampler.failure is not None:
            problems.append(f"the sampler ended early: {self.sampler.failure}")
        cluster = self.cluster.info().model_copy(update={"memory_mib": memory.result()})
        took = time.monotonic() - began
        settled = min(read.settled_seconds or 0.0, took)
        self._save(
            final_read=read,
            **self._metadata_of_workloads(),
            ended_ns=time.time_ns(),
            problems=tuple(problems),
            finished=True,
            cluster=cluster,
            timings=timings | {"brokers agreeing": round(settled, 3), "final read": round(took - settled, 3)},
        )
        return self.meta

    def _metadata_of_workloads(self) -> dict[str, Any]:
        return {name: value for workload in self.workloads for name, value in workload.meta().items()}

    def _final_read(self) -> FinalRead:
        topic = self.experiment.topic
        reads = []
        for number, name in enumerate(self.written):
            target = FinalReadTarget(
                name,
                self.partitions if name == self.topic else topic.partitions,
                topic.replication_factor,
                self.run_id,
                self.transaction_seconds,
                every_replica=self.experiment.replicas == "always",
                compacted="compact" in self.meta.topic_config.get("cleanup.policy", ""),
                first_part=number * self.partitions,
                also=next(filter(None, (workload.also_read(name) for workload in self.workloads)), None),
            )
            with progress_under(f"{self.experiment.name} · {self.arm.name}"):
                reads.append(final_read(self.cluster, target, self.folder))
        return merge_reads(reads)
