"""Consume-process-produce, exactly once: a member of a group that writes one record for each it is given.

What a batch gave and the offsets behind it are committed in one transaction (KIP-98, KIP-447). Where that
does not end in a commit, the batch was not processed: the member goes back to what its group has committed,
which is a session of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from confluent_kafka import KafkaException, Producer, TopicPartition

from harness.model.errors import ClusterError
from harness.model.journal import RowSink, TxnOutcome
from workloads.config.reader_spec import ReaderSpec
from workloads.config.spec import ProcessSpec, ProducerSettings, TransactionSpec, WorkloadSpec
from workloads.producer.open_sends import SendBatch
from workloads.producer.producer_loop import Stream
from workloads.producer.producers import connected, transactional_id
from workloads.producer.reports import DeliveryReports
from workloads.producer.send_journal import SendJournal
from workloads.producer.shutdown import bury
from workloads.producer.tally import Tally
from workloads.producer.transactions import SLICE_SECONDS, TransactionManager
from workloads.reader.live_reader import LiveReader
from workloads.reader.reader_journal import ReaderJournal, ReaderSinks
from workloads.record.identity import ValueBuilder, encode_key

GROUP = "processors"
"""The group.id of all processors."""
_OFFSET_BITS = 48
_REWIND_SECONDS = 120.0
_PAUSE_SECONDS = 0.05
_STEP = -1
"""Of sends that belong to no write step."""


def key_of(partition: int, offset: int) -> int:
    """The key id of the record that was made from the one at this place."""
    return partition << _OFFSET_BITS | offset


def source_of(key: int) -> tuple[int, int]:
    """(partition, offset) of the record that one with this key id was made from."""
    return key >> _OFFSET_BITS, key & (1 << _OFFSET_BITS) - 1


@dataclass(frozen=True, slots=True)
class ProcessorOutput:
    """Where all processors of a run write. Their producer numbers go on behind those of the workload."""

    topic: str
    spec: WorkloadSpec
    settings: ProducerSettings
    seed: int
    sends: SendJournal
    transactions: RowSink


class Processor(LiveReader):
    """A member that reads and writes, all in its own thread. `stream` is where and as what it writes,
    `connect` makes its transactional client, `reader` is what `LiveReader` takes."""

    def __init__(
        self,
        spec: ReaderSpec,
        name: str,
        journal: ReaderJournal,
        *,
        process: ProcessSpec,
        stream: Stream,
        output: ProcessorOutput,
        connect: Callable[[], Any],
        **reader: Any,
    ) -> None:
        super().__init__(spec, name, journal, **reader)
        self.batch = process.records
        self.commits = "transaction"
        self._stream = stream
        self._sends = output.sends
        self._build = ValueBuilder(stream.run_id, stream.producer, output.spec.record_size, stream.seed)
        self._tally = Tally()
        self._reports = DeliveryReports(stream.producer, output.settings, output.sends, self._tally)
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
        """End soon: what is under way is not waited for."""
        self._closing_by = time.monotonic()
        self.close()

    def _got(self, records: list[Any]) -> None:
        if not records:
            return
        self._offsets = [
            TopicPartition(self._topic, number, self._places[number])
            for number in sorted({record.partition() for record in records})
        ]
        self._txns.begin()
        self._write([key_of(record.partition(), record.offset()) for record in records])
        if self._txns.end() is TxnOutcome.COMMITTED:
            self._journal.committed(None, self._offsets)
        else:
            self._rewind()

    def _write(self, keys: list[int]) -> None:
        produce, report, stream = self._txns.client.produce, self._reports.callback, self._stream
        sent: list[int] = []
        broken: tuple[int, str, int] | None = None
        for seq, key in enumerate(keys, self._seq):
            stamp = time.time_ns()
            try:
                produce(stream.topic, self._build(seq), encode_key(key), seq % stream.partitions, report)
            except KafkaException as error:
                broken = (seq, error.args[0].name(), time.time_ns())
            sent.append(stamp)
            if broken is not None:
                break
        places = np.arange(self._seq, self._seq + len(sent), dtype=np.int64) % stream.partitions
        self._sends.opened(
            SendBatch(
                producer=stream.producer,
                first=self._seq,
                step=_STEP,
                size=self._build.size,
                sent_ns=np.array(sent, dtype=np.int64),
                partition=places.astype(np.int32),
                key=np.array(keys[: len(sent)], dtype=np.int64),
                txn=self._txns.number,
            )
        )
        self._seq += len(sent)
        self._tally.sent(len(sent))
        self._reports.refused([] if broken is None else [broken])
        self._txns.took(len(sent), None if broken is None else broken[1])

    def _send_offsets(self, client: Any) -> None:
        client.send_offsets_to_transaction(
            self._offsets, self._consumer.consumer_group_metadata(), SLICE_SECONDS
        )

    def _rewind(self) -> None:
        """Go back to what the group has committed.

        Raises:
            ClusterError: that cannot be learned; to go on regardless would leave records unprocessed.
        """
        give_up = time.monotonic() + _REWIND_SECONDS
        while not self._learned():
            if self._closing.is_set():
                return
            if time.monotonic() >= give_up:
                raise ClusterError(
                    "the offsets of a group cannot be learned", where=self.name, found=self.last_error
                )
            time.sleep(_PAUSE_SECONDS)
        while self._resets and not self._closing.is_set():
            self._go_on()
            time.sleep(_PAUSE_SECONDS if self._resets else 0)

    def _learned(self) -> bool:
        """Whether the group's offsets of all its partitions are known now; they are where to go on."""
        mine = [TopicPartition(self._topic, number) for number in sorted(self._mine)]
        try:
            found = self._consumer.committed(mine, timeout=SLICE_SECONDS) if mine else []
        except KafkaException as error:
            self.last_error = str(error)
            return False
        failed = next((one.error for one in found if one.error is not None), None)
        if failed is not None:
            self.last_error = str(failed)
            return False
        self._resets = {one.partition: one.offset if one.offset >= 0 else None for one in found}
        return True

    def _leave(self) -> None:
        super()._leave()
        if self._closing.is_set():
            bury(self._txns.client)
            self._reports.take()


def reader_of(process: ProcessSpec) -> ReaderSpec:
    """The group of processors as readers."""
    return ReaderSpec(
        name="processor",
        group=GROUP,
        members=process.members,
        isolation="read_committed",
        restarts=process.restarts,
    )


def processors(
    process: ProcessSpec,
    output: ProcessorOutput,
    *,
    bootstrap: str,
    topic: str,
    partitions: int,
    run_id: int,
    folder: Path,
    sinks: ReaderSinks,
    producer: Callable[..., Any] = Producer,
    security: Mapping[str, str] | None = None,
) -> list[Processor]:
    """One processor a member; each journals what it reads into `folder`/NAME.

    Raises:
        BadInput: the client refuses the settings.
    """
    spec = reader_of(process)
    made = []
    for number, name in enumerate(spec.member_names, output.spec.producers):
        config = output.settings.to_librdkafka(bootstrap, transactional_id(number), security)
        made.append(
            Processor(
                spec,
                name,
                ReaderJournal(folder / name, name, topic, run_id, sinks),
                process=process,
                stream=Stream(number, output.topic, partitions, run_id, output.seed * 1_000_003 + number),
                output=output,
                connect=partial(connected, producer, output.settings, config),
                bootstrap=bootstrap,
                group_id=GROUP,
                topic=topic,
                partitions=partitions,
                security=security,
            )
        )
    return made
