"""Rows of readers: from decoded messages to Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Message

from harness.model.journal import READS
from workloads.records.journal.parquet_parts import parquet_options, writing
from workloads.records.record.identity import STATES, UNDECODABLE, Decoded, decode_keys

KEPT_BYTES = 4096
"""The most bytes that are kept of a value that is not `ok`."""
_GROUP_ROWS = 32_768
"""Small, so that a row group spans few sequence numbers, by which checks select row groups."""


@cache
def _state_names() -> pa.StringArray:
    """Made when it is needed, since an array of Python values makes pyarrow import pandas (a second)."""
    return pa.array([state.value for state in STATES], pa.string())


def rows_table(
    reader: str,
    topic: str,
    messages: list[Any],
    decoded: Decoded,
    read_ns: int,
    at: tuple[int, int] | None = None,
) -> pa.Table:
    """READS rows of one batch of messages. `at` is given for live readers only: the session, and the position
    in the reader's history of the first of the messages."""
    count = len(messages)
    undecodable = decoded.state == UNDECODABLE
    timestamps = [stamp if kind else None for kind, stamp in map(Message.timestamp, messages)]
    kept: list[bytes | None] = [None] * count
    for index in np.flatnonzero(decoded.state).tolist():
        kept[index] = (messages[index].value() or b"")[:KEPT_BYTES]
    columns = {
        "reader": pa.repeat(reader, count),
        "topic": pa.repeat(topic, count),
        "partition": pa.array(list(map(Message.partition, messages)), pa.int32()),
        "offset": pa.array(list(map(Message.offset, messages)), pa.int64()),
        "leader_epoch": pa.array(list(map(Message.leader_epoch, messages)), pa.int32()),
        "timestamp_ms": pa.array(timestamps, pa.int64()),
        "state": _state_names().take(pa.array(decoded.state)),
        "run": pa.array(decoded.run, mask=undecodable),
        "producer": pa.array(decoded.producer, mask=undecodable),
        "seq": pa.array(decoded.seq, mask=undecodable),
        "key": decode_keys(list(map(Message.key, messages))),
        "value": pa.array(kept, pa.binary()),
        "read_ns": pa.array(np.full(count, read_ns, dtype=np.int64)),
    }
    if at is None:
        columns |= {"session": pa.nulls(count, pa.int32()), "position": pa.nulls(count, pa.int64())}
    else:
        session, position = at
        columns |= {
            "session": pa.array(np.full(count, session, dtype=np.int32)),
            "position": pa.array(np.arange(position, position + count, dtype=np.int64)),
        }
    return pa.Table.from_pydict(columns, schema=READS)


class PartitionFile:
    """`part-<number>.parquet`, written a row group at a time; it has its name when it is complete."""

    def __init__(self, folder: Path, number: int, schema: pa.Schema = READS) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.target = folder / f"part-{number:05d}.parquet"
        self._scratch = folder / f".{self.target.name}.tmp"
        self._waiting: list[pa.Table] = []
        self._rows = 0
        self._schema = schema
        with writing(self.target):
            self._writer = pq.ParquetWriter(self._scratch, schema, **parquet_options(schema))

    def add(self, table: pa.Table) -> None:
        self._waiting.append(table)
        self._rows += table.num_rows
        if self._rows >= _GROUP_ROWS:
            self._write()

    def close(self) -> None:
        """Write the rest and rename the file to its final name.

        Raises:
            JournalError: it cannot be written.
        """
        self._write()
        with writing(self.target):
            self._writer.close()
            self._scratch.replace(self.target)

    def _write(self) -> None:
        table = pa.concat_tables([*self._waiting, self._schema.empty_table()])
        self._waiting = []
        self._rows = 0
        with writing(self.target):
            self._writer.write_table(table.combine_chunks(), row_group_size=_GROUP_ROWS)


def write_empty_files(folder: Path, numbers: Sequence[int], schema: pa.Schema = READS) -> None:
    """Write `part-<number>.parquet` without a row for each number, whole or not at all.

    All have the same bytes, so they are made once: a topic may have thousands of empty partitions, and making
    a file takes a millisecond of processor time.

    Raises:
        JournalError: one cannot be written.
    """
    if not numbers:
        return
    first = PartitionFile(folder, numbers[0], schema)
    first.close()
    content = first.target.read_bytes()
    for number in numbers[1:]:
        target = folder / f"part-{number:05d}.parquet"
        scratch = folder / f".{target.name}.tmp"
        with writing(target):
            scratch.write_bytes(content)
            scratch.replace(target)
