"""Runs one arm of an experiment on a running cluster: workload, faults, journals, final read."""

from __future__ import annotations

import importlib.metadata
import platform
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from faults.base import Scene
from harness.cleanliness import traces
from harness.cluster import Cluster
from harness.experiment import Arm, Experiment
from harness.faultbook import FaultBook
from harness.final_read import Subject, final_read, together
from harness.healing import heal_cluster
from harness.model.errors import ClusterError, FaultError
from harness.model.journal import (
    ANSWERS,
    ANSWERS_DIR,
    FAULTS,
    FAULTS_FILE,
    READS_DIR,
    SAMPLES,
    SAMPLES_DIR,
    RowSink,
)
from harness.model.run import RunMeta
from harness.model.secrets import masked
from harness.ports import HOST
from harness.sampler import Sampler
from harness.spec import SESSION_SECONDS
from harness.stepping import Stepping, await_isr
from harness.traffic import Traffic, topics_of, transaction_seconds
from harness.writing import properties_of
from workloads.row_journal import RowJournal, TableFile
from workloads.text_identity import codec_of

_START_SECONDS = 30.0


class Run:
    """One execution of one arm. `execute` leaves a complete run folder, or a partial one that says why.

    `tell` gets a line about what is going on, a few times a second; `skipped` says what the experiment had
    and this machine cannot do; `started` is told the topic once it is there, before anything is written.
    """

    def __init__(
        self,
        cluster: Cluster,
        experiment: Experiment,
        arm: Arm,
        folder: Path,
        seed: int,
        tell: Callable[[str], None],
        skipped: tuple[str, ...] = (),
        started: Callable[[str], None] = lambda _topic: None,
    ) -> None:
        self._skipped = skipped
        self._started = started
        self._cluster = cluster
        self._experiment = experiment
        self._arm = arm
        self._folder = folder
        self._tell = tell
        self._seed = seed
        # Not from the seed alone: two runs of one seed on one cluster must not take each other's records
        # for their own.
        self._run_id = random.SystemRandom().getrandbits(62) + 1
        self._topic = f"{experiment.name}-{self._run_id:x}"

    def execute(self) -> RunMeta:
        """Run the steps, heal everything, read everything; returns the saved metadata.

        Raises:
            BadInput: the client or the broker refuses the arm's settings.
            KeyboardInterrupt: passed on, after the journals are closed.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        self._start_clean()
        topic = self._experiment.topic
        admin = self._cluster.admin()
        topics = topics_of(self._experiment, self._arm, self._topic)
        for name in topics:
            admin.create(
                name,
                partitions=topic.partitions,
                replication_factor=topic.replication_factor,
                config={**topic.config, **self._arm.topic},
                assignment=topic.assignment,
            )
            await_isr(self._cluster, name, topic.partitions, topic.replication_factor, _START_SECONDS)
        self._started(self._topic)
        meta = self._metadata(admin.config(self._topic))
        meta.save(self._folder)
        with ExitStack() as stack:
            samples = stack.enter_context(RowJournal(self._folder / SAMPLES_DIR, SAMPLES))
            events = stack.enter_context(TableFile(self._folder / FAULTS_FILE, FAULTS))
            answers = stack.enter_context(RowJournal(self._folder / ANSWERS_DIR, ANSWERS))
            brokers = {node.id: (HOST, node.host_port) for node in self._cluster.nodes if node.host_port}
            sampler = Sampler(brokers, self._topic, samples)
            stack.callback(sampler.stop)
            sampler.start()
            book = FaultBook(self._scene, events, self._cluster.name)
            stack.callback(self._cluster.on_start(book.restarted))
            meta = self._produce(meta, book, sampler, answers)
            workload = self._experiment.workload_of(self._arm)
            open_seconds = transaction_seconds(self._experiment, self._arm)
            copies = topic.replication_factor
            reads = []
            for number, name in enumerate(topics):
                first_part = number * topic.partitions
                subject = Subject(
                    name,
                    topic.partitions,
                    copies,
                    self._run_id,
                    open_seconds,
                    every_replica=self._experiment.replicas == "always",
                    codec=codec_of(workload.client),
                    compacted="compact" in meta.topic_config.get("cleanup.policy", ""),
                    first_part=first_part,
                )
                reads.append(final_read(self._cluster, subject, self._folder, self._say))
            read = together(reads)
            self._workload.account_for(self._folder / READS_DIR)
        problems = meta.problems
        if sampler.failure is not None:
            problems = (*problems, f"the sampler ended early: {sampler.failure}")
        meta = meta.model_copy(
            update={
                "final_read": read,
                "ended_ns": time.time_ns(),
                "problems": problems,
                "finished": True,
                "cluster": self._cluster.info(),
            }
        )
        meta.save(self._folder)
        return meta

    def _start_clean(self) -> None:
        """Heal what a run before this one has left open on the cluster.

        Raises:
            ClusterError: it does not become clean.
        """
        healed = heal_cluster(self._cluster, self._say)
        if not healed.clean:
            raise ClusterError(
                "the cluster is not clean at the start of a run",
                where=self._cluster.name,
                expected="nothing left of faults that were injected before",
                found="; ".join((*healed.failures, *healed.traces)),
                next_step="start a new cluster, or heal it by hand: `kafka-chaos heal`",
            )

    def _produce(self, meta: RunMeta, book: FaultBook, sampler: Sampler, answers: RowSink) -> RunMeta:
        """Carry out the steps, heal, close the producers; returns the metadata with what happened."""
        with Traffic(
            self._experiment,
            self._arm,
            cluster=self._cluster,
            topic=self._topic,
            run_id=self._run_id,
            seed=self._seed,
            folder=self._folder,
        ) as traffic:
            self._workload = traffic.workload
            stepping = Stepping(
                self._cluster,
                self._experiment,
                self._topic,
                traffic.workload,
                book,
                traffic.delivery_seconds,
                self._say,
                lambda now: self._with_events(meta, now, book, traffic).save(self._folder),
                view=lambda: sampler.latest,
                seed=self._seed,
                answers=answers,
            )
            try:
                self._say("waiting until the producers may begin")
                traffic.start()
                try:
                    stepping.all()
                except (ClusterError, FaultError) as error:
                    stepping.problems.append(str(error))
                self._say("healing")
                stepping.problems += book.heal_all()
                stepping.problems += traces(self._cluster)
                traffic.workload.stop()
                self._say("closing the producers, and the readers at the end")
                stepping.problems += traffic.end()
            except BaseException as error:
                # Journals first. Nobody waits to see the cluster whole again, which may end with this run.
                traffic.break_off()
                stepping.problems += book.undo_all()
                what = "interrupted" if isinstance(error, KeyboardInterrupt) else repr(error)
                stepping.problems.append(f"the run broke: {what}")
                self._with_events(meta, stepping, book, traffic).save(self._folder)
                raise
        return self._with_events(meta, stepping, book, traffic)

    def _with_events(self, meta: RunMeta, stepping: Stepping, book: FaultBook, traffic: Traffic) -> RunMeta:
        return meta.model_copy(
            update={
                "steps": tuple(stepping.done),
                "windows": book.windows(),
                "readers": traffic.readers.infos(),
                "problems": (*stepping.problems, *traffic.problems),
            }
        )

    def _say(self, what: str) -> None:
        self._tell(f"{self._experiment.name} · {self._arm.name} · {what}")

    def _scene(self, name: str) -> Scene:
        return Scene(
            cluster=self._cluster,
            topic=self._topic,
            session_seconds=SESSION_SECONDS[self._cluster.spec.profile],
            tag=f"kafka-chaos-{self._run_id:x}-{name}",
            seed=f"{self._seed}/{name}",
        )

    def _metadata(self, topic_config: dict[str, str]) -> RunMeta:
        settings = self._arm.producer
        workload = self._experiment.workload_of(self._arm)
        given = properties_of(workload, settings, self._cluster)
        return RunMeta(
            run_id=self._run_id,
            experiment=self._experiment.name,
            arm=self._arm.name,
            seed=self._seed,
            topic=self._topic,
            partitions=self._experiment.topic.partitions,
            replication_factor=self._experiment.topic.replication_factor,
            topic_config=topic_config,
            producer_config={key: masked(key, str(value)) for key, value in given.items()},
            acks=settings.acks,
            idempotent=settings.enable_idempotence
            or workload.transactions is not None
            or workload.drive.transactional,
            transactional=workload.transactional,
            max_in_flight=settings.max_in_flight,
            client=workload.client,
            promise=self._arm.promise,
            cluster=self._cluster.info(),
            versions=versions(),
            skipped=self._skipped,
            started_ns=time.time_ns(),
        )


def versions() -> dict[str, str]:
    """Versions of what takes part, by name."""
    names = ("kafka-chaos", "confluent-kafka", "pyspark", "testcontainers")
    found = {name: importlib.metadata.version(name) for name in names}
    return {"python": platform.python_version(), **found}
