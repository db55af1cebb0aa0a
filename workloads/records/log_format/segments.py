"""Records from a replica's own segment files (record batch format v2: KIP-98, Kafka's message format page;
messages of the formats before it where they are not compressed).

Pure: bytes in, rows out. Damage becomes the `state` of a row, never an exception.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from harness.model.errors import JournalError
from harness.model.journal import REPLICAS, ReadState
from workloads.records.log_format.record_batch import (
    BATCH,
    LARGEST_OFFSET,
    OVERHEAD,
    SMALLEST_RECORD,
    Record,
    RecordBatch,
    compressed,
    read_batch,
    read_message,
)
from workloads.records.record.carried_identity import decode_carried
from workloads.records.record.identity import STATES, UNDECODABLE

_SMALLEST = 26
"""Bytes of a message of format 0 without key and value; anything shorter is cut off."""
_MAGIC_AT = 16
_ROWS_AT_ONCE = 10_000
_ABORT = 0
_MOST_OFFSETS = 2**24
"""The most offsets of a batch: more of the smallest records than Kafka's largest default batch holds."""

_Pending = tuple[RecordBatch, Record, bool]
"""A batch, one of its records, and whether the batch is broken."""


def parse_segment(data: bytes) -> Iterator[RecordBatch]:
    """The batches of one `.log` file, in file order.

    A batch that is cut off at the end of the file (a crash while appending) and preallocated zeros end the
    iteration, as they end Kafka's own log recovery; so does an impossible length in a damaged file.

    Raises:
        JournalError: compressed messages of format 0 or 1, which Kafka wrote before 0.11.
    """
    view = memoryview(data)
    position = 0
    while position + _SMALLEST <= len(data):
        length, magic = struct.unpack_from(">i", data, position + 8)[0], data[position + _MAGIC_AT]
        smallest = _SMALLEST if magic < 2 else BATCH.size
        if length < smallest - OVERHEAD or position + OVERHEAD + length > len(data):
            return
        if magic < 2 and compressed(view, position):
            raise JournalError(
                "a replica's segment file holds compressed messages of an old format",
                where=f"message at byte {position}",
                expected="messages that are not compressed, or record batches as Kafka writes since 0.11",
                found=f"message format {magic}, compressed",
                next_step="run without `compression.type`, or without an older message.format.version",
            )
        batch, position = (read_message if magic < 2 else read_batch)(view, position)
        yield batch


@dataclass(frozen=True, slots=True)
class Hidden:
    """Offsets of one replica that readers do not receive, ascending (int64).

    `control`: offsets of control batches, which no reader receives. `aborted`: offsets of records whose
    transaction an abort marker ended, which a read_committed reader does not receive.
    """

    control: npt.NDArray[np.int64]
    aborted: npt.NDArray[np.int64]


def hidden_offsets(segments: Mapping[str, bytes]) -> Hidden:
    """The offsets that the markers in a replica's files (name -> bytes) hide. Decodes no records except
    markers.

    A marker ends the transaction of its producer id; its key is version and type, 0 for abort and 1 for
    commit (Kafka's message format page, Control Batches). Records without a marker yet are not hidden here: a
    read_committed reader stops before them.

    Raises:
        JournalError: as `parse_segment`; or a batch claims impossible offsets.
    """
    control: list[npt.NDArray[np.int64]] = []
    aborted: list[npt.NDArray[np.int64]] = []
    under_way: dict[int, list[npt.NDArray[np.int64]]] = {}
    for batch in batches_of(segments):
        if not batch.crc_ok:
            # Its fields may have any content, so it explains no gap.
            continue
        offsets = _claimed(batch)
        if batch.control:
            control.append(offsets)
            ended = under_way.pop(batch.producer_id, [])
            if _marker(batch) == _ABORT:
                aborted += ended
        elif batch.transactional:
            under_way.setdefault(batch.producer_id, []).append(offsets)
    return Hidden(_joined(control), _joined(aborted))


def kept_offsets(segments: Mapping[str, bytes]) -> npt.NDArray[np.int64]:
    """The ascending offsets of the records in a replica's files (name -> bytes); of a broken batch all that
    it claims. After compaction a batch may lack some or all of its offsets.

    Raises:
        JournalError: as `parse_segment`; or a batch claims impossible offsets.
    """
    kept: list[npt.NDArray[np.int64]] = []
    for batch in batches_of(segments):
        records = batch.records()
        if records is None:
            kept.append(_claimed(batch))
        else:
            kept.append(np.array([record.offset for record in records], dtype=np.int64))
    return _joined(kept)


def _claimed(batch: RecordBatch) -> npt.NDArray[np.int64]:
    """The offsets that a batch claims to cover.

    Raises:
        JournalError: it claims more offsets than a batch can have, or offsets above the largest.
    """
    if not 0 <= batch.last_offset - batch.base_offset < _MOST_OFFSETS or batch.last_offset > LARGEST_OFFSET:
        raise JournalError(
            "a batch in a replica's segment file claims impossible offsets",
            where=f"batch at offset {batch.base_offset}",
            expected=f"at most {_MOST_OFFSETS:,} offsets",
            found=f"offsets {batch.base_offset} to {batch.last_offset}",
        )
    return np.arange(batch.base_offset, batch.last_offset + 1, dtype=np.int64)


def _marker(batch: RecordBatch) -> int | None:
    records = batch.records()
    key = records[0].key if records else None
    return struct.unpack(">hh", key[:4])[1] if key is not None and len(key) >= 4 else None


def _joined(parts: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *parts]))


def batches_of(segments: Mapping[str, bytes]) -> Iterator[RecordBatch]:
    """The batches in a replica's `.log` files (name -> bytes) by base offset: their names are 20 digits.

    Raises:
        JournalError: as `parse_segment`.
    """
    for name in sorted(segments):
        if name.endswith(".log"):
            yield from parse_segment(segments[name])


def log_end_offset(segments: Mapping[str, bytes]) -> int:
    """The offset after the last complete batch of a replica's files (name -> bytes); 0 without files."""
    stems = [name.rsplit("/", 1)[-1].removesuffix(".log") for name in segments if name.endswith(".log")]
    starts = [int(stem) for stem in stems if stem.isdecimal()]
    return max([0, *starts, *(batch.last_offset + 1 for batch in batches_of(segments))])


def _damaged(batch: RecordBatch) -> list[Record]:
    """A record for each offset that a broken batch claims, at most as many as its bytes could hold."""
    most = min(max(1, len(batch.payload) // SMALLEST_RECORD), LARGEST_OFFSET - batch.base_offset + 1)
    count = min(max(1, batch.last_offset - batch.base_offset + 1), most)
    return [Record(batch.base_offset + index, None, None, None) for index in range(count)]


def replica_rows(
    broker: int,
    topic: str,
    partition: int,
    segments: Mapping[str, bytes],
    run_id: int,
) -> pa.Table:
    """REPLICAS rows of one replica, in the order of its files.

    Args:
        segments: file name -> bytes; files that do not end in `.log` are ignored.
        run_id: values with another run's id are `foreign`.

    A broken batch gives `corrupt` rows without identity; records of control batches are `control` and
    `undecodable`.

    Raises:
        JournalError: as `parse_segment`.
    """
    tables = [REPLICAS.empty_table()]
    pending: list[_Pending] = []
    for batch in batches_of(segments):
        records = batch.records()
        entries = _damaged(batch) if records is None else records
        pending += [(batch, record, records is None) for record in entries]
        if len(pending) >= _ROWS_AT_ONCE:
            tables.append(_rows(broker, topic, partition, pending, run_id))
            pending = []
    tables.append(_rows(broker, topic, partition, pending, run_id))
    return pa.concat_tables(tables)


def _rows(broker: int, topic: str, partition: int, pending: list[_Pending], run_id: int) -> pa.Table:
    count = len(pending)
    values = [None if batch.control else record.value for batch, record, _ in pending]
    decoded = decode_carried(values, run_id, lambda index: pending[index][1].headers)
    unknown = decoded.state == UNDECODABLE
    states = [
        ReadState.CORRUPT.value if broken else STATES[code].value
        for (_, _, broken), code in zip(pending, decoded.state.tolist(), strict=True)
    ]
    columns = {
        "broker": pa.array(np.full(count, broker, dtype=np.int32)),
        "topic": pa.repeat(topic, count),
        "partition": pa.array(np.full(count, partition, dtype=np.int32)),
        "offset": pa.array([record.offset for _, record, _ in pending], pa.int64()),
        "leader_epoch": pa.array([batch.leader_epoch for batch, _, _ in pending], pa.int32()),
        "timestamp_ms": pa.array([record.timestamp_ms for _, record, _ in pending], pa.int64()),
        "control": pa.array([batch.control for batch, _, _ in pending], pa.bool_()),
        "state": pa.array(states, pa.string()),
        "run": pa.array(decoded.run, mask=unknown),
        "producer": pa.array(decoded.producer, mask=unknown),
        "seq": pa.array(decoded.seq, mask=unknown),
        "crc": pa.array(
            decoded.crc.astype(np.int64),
            mask=np.array([batch.control for batch, _, _ in pending], dtype=np.bool_),
        ),
    }
    return pa.Table.from_pydict(columns, schema=REPLICAS)
