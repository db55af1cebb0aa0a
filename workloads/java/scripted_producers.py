"""Java producers that carry out drive steps, with journals like those of librdkafka's producers."""

from __future__ import annotations

from functools import partial
from itertools import count, islice

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

from harness.cluster.containers import docker_engine
from harness.cluster.managed import ManagedCluster
from harness.model.errors import ClusterError
from harness.model.journal import RowSink
from workloads.groups.group_steps import SendOffsetsCall
from workloads.java.drive_step import Drive, Send, SendCall
from workloads.java.java_client import create_producer, error_of
from workloads.java.java_settings import scripted_properties
from workloads.java.jvm import Jvm, client_jar
from workloads.java.scripted_producer import ScriptedProducer
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import WorkloadSpec
from workloads.records.journal.parquet_parts import ClosesAtEnd
from workloads.records.producer.orders import RivalOrder
from workloads.records.producer.producers import CLOSE_SECONDS
from workloads.records.producer.reports import Progress, total
from workloads.records.producer.send_journal import SendJournal

_COORDINATOR_SECONDS = 30.0
_TRIED_NAMES = 100


class PyScriptedProducers(ClosesAtEnd):
    """Producers of one topic in their own JVM, each created when a drive step first names it.

    Use as a context manager or call `close`; the caller closes the journals.

    Raises:
        PrerequisiteMissing: the client library is not available.
        ClusterError: the JVM does not start.
    """

    def __init__(
        self,
        spec: WorkloadSpec,
        settings: ProducerSettings,
        *,
        cluster: ManagedCluster,
        topic: str,
        run_id: int,
        seed: int,
        journal: SendJournal,
        transactions: RowSink | None,
        commits: RowSink,
    ) -> None:
        self._spec = spec
        self._settings = settings
        self._cluster = cluster
        self._producers: dict[str, ScriptedProducer] = {}
        self._ids: dict[str, str | None] = {}
        self._closed = False
        self._names = (f"kafka-chaos-driven-{number}" for number in count())
        version = spec.drive.version or cluster.image.kafka_version
        self._jvm = Jvm(client_jar(docker_engine.connect(), version))
        self._producer_of = partial(
            ScriptedProducer,
            self._jvm.packages,
            topic=topic,
            run_id=run_id,
            seed=seed,
            acks=settings.acks,
            size=spec.record_size,
            journal=journal,
            transactions=transactions,
            commits=commits,
        )

    def drive(self, step: int, drive: Drive) -> list[str]:
        """Make the calls of a drive step; returns a sentence for each call that could not be made at all.

        Raises:
            BadInput: the client refuses the settings.
            ClusterError: the coordinator does not accept the producer, or is not the required one.
        """
        producer = self._producers.get(drive.by) or self._create_producer(drive.by)
        problems = []
        for call in drive.do:
            if isinstance(call, SendCall):
                producer.send(step, call.send)
            elif isinstance(call, SendOffsetsCall):
                refusal = producer.send_offsets(call.send_offsets)
                problems += [f"step {drive.name}: send_offsets: {refusal}"] if refusal else []
            elif call == "begin":
                refusal = producer.begin()
                problems += [f"step {drive.name}: begin: {refusal}"] if refusal else []
            elif call == "flush":
                producer.flush()
            else:
                producer.end(call)
        return problems

    def begin_rival(self, step: int, rival: RivalOrder) -> list[str]:
        """Carry out a rival step; returns a sentence for each transaction that could not begin.

        Raises:
            BadInput, ClusterError: as `drive`.
        """
        name, first = list(self._producers.items())[rival.of]
        send = Send(records=rival.records)
        refusals = [first.begin()]
        first.send(step, send)
        second = self._create_producer(rival.name, self._ids[name] if rival.same_id else None)
        refusals.append(second.begin())
        second.send(step, send)
        second.end("commit")
        first.send(step, send)
        first.end("commit", taken_over=rival.same_id)
        return [f"step {rival.name}: begin: {refusal}" for refusal in refusals if refusal]

    def transactional_id_of(self, name: str) -> str:
        """The transactional.id of a producer, which a later drive step may be the first to name.

        Raises:
            ClusterError: the coordinator is not the required one.
        """
        transactional_id = self._ids.get(name)
        if transactional_id is None:
            transactional_id = self._ids[name] = self._transactional_id()
        return transactional_id

    def _create_producer(self, name: str, transactional_id: str | None = None) -> ScriptedProducer:
        drive, bootstrap = self._spec.drive, self._cluster.bootstrap
        if transactional_id is None and drive.transactional:
            transactional_id = self.transactional_id_of(name)
        given = scripted_properties(drive, self._settings, bootstrap, transactional_id)
        properties = {"client.id": name, **given}
        client = create_producer(self._jvm.packages, properties, self._cluster.access.java())
        try:
            producer = self._producer_of(client, number=len(self._producers))
        except Py4JJavaError as error:
            raise ClusterError(
                "the coordinator does not accept a producer",
                where=transactional_id or name,
                expected="initTransactions returns within max.block.ms",
                found=error_of(error).str(),
                next_step="see the brokers' logs in the experiment's folder",
            ) from error
        self._producers[name] = producer
        self._ids[name] = transactional_id
        return producer

    def _transactional_id(self) -> str:
        """A new transactional.id, whose coordinator is the required broker if there is one.

        Raises:
            ClusterError: none of `_TRIED_NAMES` names has that coordinator.
        """
        wanted = self._spec.drive.coordinator
        if wanted is None:
            return next(self._names)
        coordinators: set[str] = set()
        for name in islice(self._names, _TRIED_NAMES):
            # The topic of transactions is created when the first client asks for its coordinator.
            broker = self._cluster.coordinator(name, transactional=True, within=_COORDINATOR_SECONDS)
            if broker == wanted:
                return name
            coordinators.add(str(broker))
        raise ClusterError(
            "no transactional.id has the required coordinator",
            where=f"broker {wanted}",
            expected=f"one of {_TRIED_NAMES} names",
            found=f"coordinators {sorted(coordinators)}",
            next_step="more partitions: transaction.state.log.num.partitions",
        )

    def start(self, step: int, **_: object) -> None:
        """There are no write steps: an experiment that has them is refused."""
        raise RuntimeError(f"step {step}: client driven knows no write steps")

    def ready(self, seconds: float) -> bool:  # noqa: ARG002
        """Whether producers may begin: each is made when it is first named."""
        return True

    def finish(self, deadline: float | None = None) -> bool:
        """Wait until `deadline` (time.monotonic()) at most; returns whether every send has its report."""
        until = float("inf") if deadline is None else deadline
        return all(producer.finish(until) for producer in self._producers.values())

    def stop(self) -> None:
        """Does nothing: no call continues after its step."""

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Abort open transactions, wait at most `seconds` per producer for reports, and end the clients and
        their JVM. Safe to call again."""
        if self._closed:
            return
        self._closed = True
        try:
            for producer in self._producers.values():
                producer.close(seconds)
        finally:
            self._jvm.close()

    def progress(self) -> Progress:
        """Counts over all steps so far."""
        return total(producer.tally.progress() for producer in self._producers.values())

    @property
    def problems(self) -> tuple[str, ...]:
        """Empty: what goes wrong with a producer is in the journals."""
        return ()
