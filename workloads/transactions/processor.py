"""Exactly-once consume-process-produce: a member of a group that writes one record for each record it reads.

The records written for a batch and the offsets after it are committed in one transaction (KIP-98, KIP-447).
If the transaction does not commit, the batch was not processed: the member returns to the offsets that its
group has committed, which begins a new session in the journal.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from confluent_kafka import KafkaException, Producer, TopicPartition

from harness.model.errors import ClusterError
from harness.model.journal import RowSink, TxnOutcome
from workloads.records.clients import purge_and_close
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.reader_spec import ReaderSpec
from workloads.records.config.workload_spec import ProcessSpec, TransactionSpec, WorkloadSpec
from workloads.records.producer.orders import RecordStream
from workloads.records.producer.producers import make_client, transactional_id
from workloads.records.producer.reports import DeliveryReports, Tally
from workloads.records.producer.send_journal import SendBatch, SendJournal
from workloads.records.producer.transaction_calls import SLICE_SECONDS
from workloads.records.producer.transactions import TransactionManager
from workloads.records.reader.live_reader import LiveReader
from workloads.records.reader.reader_journal import Source
from workloads.records.record.identity import ValueBuilder, encode_key

GROUP = "processors"
"""The group.id of all processors."""
OFFSET_BITS = 48
"""A key id holds the offset of the input record in this many low bits, its partition above them."""
_REWIND_SECONDS = 120.0
_PAUSE_SECONDS = 0.05
_STEP = -1
"""`step` of sends that belong to no write step."""


def key_of_input(partition: int, offset: int) -> int:
    """The key id of the record that is written for the record at this partition and offset."""
    return partition << OFFSET_BITS | offset


@dataclass(frozen=True, slots=True)
class ProcessorOutput:
    """Where all processors of a run write. Their producer numbers follow those of the workload."""

    topic: str
    spec: WorkloadSpec
    settings: ProducerSettings
    seed: int
    sends: SendJournal
    transactions: RowSink


class Processor(LiveReader):
    """A member that reads and writes in one thread. `stream` is where it writes and under which identity,
    `connect` creates its transactional client."""

    def __init__(
        self,
        spec: ReaderSpec,
        name: str,
        source: Source,
        *,
        process: ProcessSpec,
        stream: RecordStream,
        output: ProcessorOutput,
        connect: Callable[[], Any],
    ) -> None:
        super().__init__(spec, name, source)
        self.batch = process.records
        self.commits = "transaction"
        self._stream = stream
        self._sends = output.sends
        self._build = ValueBuilder(stream.run_id, stream.producer, output.spec.record_size, stream.seed)
        self._reports = DeliveryReports(stream.producer, output.settings, output.sends, Tally())
        self._seq = 0
        self._offsets: list[TopicPartition] = []
        self._closing_by: float | None = None
        self._txns = TransactionManager(
            connect,
            connect(),
            TransactionSpec(records=process.records, abort=process.abort),
            producer=stream.producer,
            seed=stream.seed,
            journal=output.transactions,
            take=self._reports.take,
            until=lambda: self._closing_by,
            patience=output.settings.transaction_timeout() / 1000,
            prepare=self._send_offsets,
        )

    def give_up(self) -> None:
        """End soon, without waiting for the open transaction."""
        self._closing_by = time.monotonic()
        self.close()

    def _process(self, records: list[Any]) -> None:
        if not records:
            return
        self._offsets = [
            TopicPartition(self._topic, number, self._assignment.positions[number])
            for number in sorted({record.partition() for record in records})
        ]
        self._txns.begin()
        self._write([key_of_input(record.partition(), record.offset()) for record in records])
        asked_ns = time.time_ns()
        outcome = self._txns.end()
        if outcome is not None:
            error = None if outcome is TxnOutcome.COMMITTED else outcome.name
            self._journal.committed(error, self._offsets, kind="transaction", asked=lambda _: asked_ns)
        if outcome is not TxnOutcome.COMMITTED:
            self._rewind()

    def _write(self, keys: list[int]) -> None:
        produce, report, stream = self._txns.client.produce, self._reports.callback, self._stream
        sent: list[int] = []
        broken: str | None = None
        for seq, key in enumerate(keys, self._seq):
            value, stamp = self._build(seq), time.time_ns()
            try:
                produce(stream.topic, value, encode_key(key), seq % stream.partitions, report)
            except KafkaException as error:
                broken = error.args[0].name()
                self._reports.refused(value, broken)
            sent.append(stamp)
            if broken is not None:
                break
        partitions = np.arange(self._seq, self._seq + len(sent), dtype=np.int64) % stream.partitions
        self._sends.opened(
            SendBatch(
                producer=stream.producer,
                first=self._seq,
                step=_STEP,
                size=self._build.size,
                sent_ns=np.array(sent, dtype=np.int64),
                partition=partitions.astype(np.int32),
                key=np.array(keys[: len(sent)], dtype=np.int64),
                txn=self._txns.number,
            )
        )
        self._seq += len(sent)
        self._txns.count_sends(len(sent), broken)

    def _send_offsets(self, client: Any) -> None:
        client.send_offsets_to_transaction(
            self._offsets, self._consumer.consumer_group_metadata(), SLICE_SECONDS
        )

    def _rewind(self) -> None:
        """Return to the offsets that the group has committed.

        Raises:
            ClusterError: these offsets cannot be read; continuing without them would skip records.
        """
        give_up = time.monotonic() + _REWIND_SECONDS
        while not self._read_committed_offsets():
            if self._closing.is_set():
                return
            if time.monotonic() >= give_up:
                raise ClusterError(
                    "the committed offsets of a group cannot be read", where=self.name, found=self.last_error
                )
            time.sleep(_PAUSE_SECONDS)
        while self._assignment.resets and not self._closing.is_set():
            self._assignment.apply_resets(self._consumer, self._bounds)
            time.sleep(_PAUSE_SECONDS if self._assignment.resets else 0)

    def _read_committed_offsets(self) -> bool:
        """Read the committed offsets of all assigned partitions, to continue there; False: it failed."""
        mine = [TopicPartition(self._topic, number) for number in sorted(self._assignment.partitions)]
        try:
            committed = self._consumer.committed(mine, timeout=SLICE_SECONDS) if mine else []
        except KafkaException as error:
            self.last_error = str(error)
            return False
        failed = next((partition.error for partition in committed if partition.error is not None), None)
        if failed is not None:
            self.last_error = str(failed)
            return False
        self._assignment.resets = {
            partition.partition: partition.offset if partition.offset >= 0 else None
            for partition in committed
        }
        return True

    def _close_client(self) -> None:
        try:
            super()._close_client()
        finally:
            if self._closing.is_set():
                purge_and_close(self._txns.client)
                self._reports.take()


def reader_spec_of(process: ProcessSpec) -> ReaderSpec:
    """The group of processors as readers."""
    return ReaderSpec(
        name="processor",
        group=GROUP,
        members=process.members,
        isolation="read_committed",
        restarts=process.restarts,
    )


def processors(process: ProcessSpec, output: ProcessorOutput, source: Source) -> list[Processor]:
    """One processor per member.

    Raises:
        BadInput: the client refuses the settings.
    """
    spec = reader_spec_of(process)
    members = []
    for number, name in enumerate(spec.member_names, output.spec.producers):
        config = output.settings.to_librdkafka(source.bootstrap, transactional_id(number), source.security)
        seed = output.seed * 1_000_003 + number
        members.append(
            Processor(
                spec,
                name,
                source,
                process=process,
                stream=RecordStream(number, output.topic, source.partitions, source.run_id, seed),
                output=output,
                connect=partial(make_client, Producer, output.settings, config),
            )
        )
    return members
