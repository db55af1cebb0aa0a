"""The final read: every record of a range of offsets from the leader, under either isolation level.

No `client.rack` is set: otherwise a broker's rack settings could send the reader to a follower that lags.
`auto.offset.reset=error`: an offset that is out of range or truncated must be reported, not skipped.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from harness.model.journal import READS
from workloads.records.clients import ClientStuck, client_logger, close_consumer
from workloads.records.reader.batch import RESET_ERRORS
from workloads.records.reader.digest import DigestBuilder, PartitionDigest
from workloads.records.reader.read_rows import PartitionFile, rows_table, write_empty_files
from workloads.records.record.carried_identity import decode_carried

BATCH = 10_000
THREADS = 4
_POLL_SECONDS = 0.1
_ANSWER_SECONDS = 10.0


def _consumer(bootstrap: str, reader: str, isolation: str, security: Mapping[str, str] | None) -> Consumer:
    config: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        **(security or {}),
        # Required by the client; partitions are assigned by hand and nothing is ever committed.
        "group.id": f"kafka-chaos-{reader}",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",
        "isolation.level": isolation,
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 50,
        "fetch.error.backoff.ms": 100,
    }
    return Consumer(config, logger=client_logger())


def _close(consumer: Consumer, reader: str) -> None:
    # It is in no group and commits nothing, so what was read does not depend on its end, which is logged.
    with suppress(ClientStuck):
        close_consumer(consumer, f"reader {reader}")


def last_stable(
    bootstrap: str, topic: str, partitions: Sequence[int], security: Mapping[str, str] | None = None
) -> dict[int, int]:
    """The last stable offset of each partition according to its leader; -1 if no leader answered.

    No read_committed reader gets beyond it: the first open transaction begins there (KIP-98).
    """
    consumer = _consumer(bootstrap, "last-stable", "read_committed", security)
    offsets = {}
    try:
        for number in partitions:
            try:
                _, offsets[number] = consumer.get_watermark_offsets(
                    TopicPartition(topic, number), timeout=_ANSWER_SECONDS
                )
            except KafkaException:
                offsets[number] = -1
    finally:
        _close(consumer, "last-stable")
    return offsets


@dataclass(frozen=True, slots=True)
class RowMaker:
    """Makes other rows of what is read than those of READS: of a batch of messages and the moment (ns) at
    which it came. It is called by several threads."""

    schema: pa.Schema
    make: Callable[[list[Any], int], pa.Table]


@dataclass(frozen=True, slots=True)
class AlsoWritten:
    """Rows that are written beside those of a read, as files of the same names in another folder."""

    folder: Path
    rows: RowMaker


def read_range(
    bootstrap: str,
    *,
    topic: str,
    bounds: Mapping[int, tuple[int, int]],
    run_id: int,
    reader: str,
    folder: Path | None,
    deadline: float,
    committed: bool = False,
    first_part: int = 0,
    security: Mapping[str, str] | None = None,
    rows: RowMaker | None = None,
    also: AlsoWritten | None = None,
) -> dict[int, PartitionDigest]:
    """Read `[start, end)` of each partition and digest it.

    Args:
        bounds: partition -> (start, end) offsets, end exclusive.
        run_id: values with another run's id are `foreign`.
        reader: name for the rows' `reader` column and the client's group id.
        folder: receives one `part-<number>.parquet` with READS rows per partition, where the number is
            `first_part` plus the partition; None: nothing is written.
        deadline: a time.monotonic() value. Records read by then are kept and digested.
        committed: read with read_committed. An open transaction then keeps the read from reaching `end`
            until its coordinator ends the transaction.
        security: the settings of TLS and SASL, by librdkafka's names.
        also: further rows of what is read.

    Returns:
        One digest per partition. Its `problem` says if the deadline came first or the log was truncated
        below the reader.

    Raises:
        JournalError: the rows cannot be written.
    """
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    digests: dict[int, PartitionDigest] = {}
    for partition, (start, end) in sorted(bounds.items()):
        if start < end:
            waiting.put(partition)
        else:
            digests[partition] = DigestBuilder(start, end).done()
    schema = READS if rows is None else rows.schema
    if folder is not None:
        write_empty_files(folder, [first_part + partition for partition in digests], schema)

    def work() -> None:
        isolation = "read_committed" if committed else "read_uncommitted"
        consumer = _consumer(bootstrap, reader, isolation, security)
        try:
            while True:
                try:
                    partition = waiting.get_nowait()
                except queue.Empty:
                    return
                digest = DigestBuilder(*bounds[partition])
                file = None if folder is None else PartitionFile(folder, first_part + partition, schema)
                number = first_part + partition
                beside = None if also is None else PartitionFile(also.folder, number, also.rows.schema)
                reading = _Reading(
                    *(consumer, topic, partition, digest, run_id, reader, file, rows),
                    *(beside, None if also is None else also.rows),
                )
                digests[partition] = reading.run(deadline)
        finally:
            _close(consumer, reader)

    threads = min(THREADS, waiting.qsize())
    if threads:
        with ThreadPoolExecutor(threads, thread_name_prefix="final-read") as pool:
            for future in [pool.submit(work) for _ in range(threads)]:
                future.result()
    return dict(sorted(digests.items()))


@dataclass(slots=True)
class _Reading:
    """Reads one partition with a consumer that reads other partitions before and after."""

    consumer: Consumer
    topic: str
    partition: int
    digest: DigestBuilder
    run_id: int
    reader: str
    file: PartitionFile | None
    rows: RowMaker | None
    beside: PartitionFile | None
    rows_beside: RowMaker | None

    def run(self, deadline: float) -> PartitionDigest:
        position, end = self.digest.start, self.digest.end
        self.consumer.assign([TopicPartition(self.topic, self.partition, position)])
        problem: str | None = None
        last_error: str | None = None
        while position < end and problem is None:
            left = deadline - time.monotonic()
            if left <= 0:
                seen = f", last error: {last_error}" if last_error else ""
                problem = f"the deadline came at offset {position} of {end}{seen}"
                break
            records = []
            for message in self.consumer.consume(BATCH, min(left, _POLL_SECONDS)):
                fault = message.error()
                # The consumer may still return late events of the partition that it read before.
                ours = message.partition() == self.partition
                if fault is None:
                    records += [message] if ours else []
                elif fault.code() == KafkaError._PARTITION_EOF:
                    # This offset also covers control batches at the end, which contain no record.
                    position = max(position, (message.offset() or 0) if ours else 0)
                elif fault.code() in RESET_ERRORS:
                    problem = f"{fault.name()}: {fault.str()}"
                else:
                    last_error = f"{fault.name()}: {fault.str()}"
            if records:
                try:
                    self.take(records)
                except ValueError as error:
                    problem = str(error)
                position = max(position, (records[-1].offset() or 0) + 1)
        self.consumer.unassign()
        for file in (self.file, self.beside):
            if file is not None:
                file.close()
        return self.digest.done(problem)

    def take(self, messages: list[Any]) -> None:
        now = time.time_ns()
        offset = np.fromiter(map(Message.offset, messages), dtype=np.int64, count=len(messages))
        inside = int(np.searchsorted(offset, self.digest.end))
        messages, offset = messages[:inside], offset[:inside]
        values = list(map(Message.value, messages))
        decoded = decode_carried(values, self.run_id, lambda index: messages[index].headers())
        self.digest.add(offset, decoded)
        if self.beside is not None and self.rows_beside is not None:
            self.beside.add(self.rows_beside.make(messages, now))
        if self.file is not None and messages:
            if self.rows is None:
                self.file.add(rows_table(self.reader, self.topic, messages, decoded, now))
            else:
                self.file.add(self.rows.make(messages, now))
