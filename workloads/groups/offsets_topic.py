"""The records of `__consumer_offsets`: which partition holds a group, and what its files say of a group.

Formats: OffsetCommitKey and OffsetCommitValue among Kafka's own message definitions. Pure: bytes in, rows
out.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from kio.serial.errors import DecodeError
from kio.serial.readers import read_legacy_string

from workloads.records.log_format.record_batch import Record
from workloads.records.log_format.segments import batches_of, hidden_offsets

TOPIC = "__consumer_offsets"
_KEY_VERSIONS = (0, 1)
"""Versions of the key of a committed offset; other keys are those of the group itself."""
_WITH_EPOCH = 3
"""The version of the value from which on it has a leader epoch (KIP-320)."""


@dataclass(frozen=True, slots=True)
class LoggedCommit:
    """One record about a committed offset. `offset` None: a tombstone, which deletes it. `transactional`: it
    is part of a transaction, `aborted`: of one that was aborted. `leader_epoch` None: it has none."""

    log_offset: int
    group: str
    topic: str
    partition: int
    offset: int | None
    leader_epoch: int | None
    timestamp_ms: int | None
    transactional: bool
    aborted: bool


def partition_of(group: str, partitions: int) -> int:
    """The partition of `__consumer_offsets` that holds a group: Java's hash code of its id, without the sign,
    modulo the number of partitions (GroupCoordinator.partitionFor)."""
    code = 0
    units = group.encode("utf-16-be")
    for index in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[index : index + 2], "big")) & 0xFFFFFFFF
    return (code & 0x7FFFFFFF) % partitions


def logged_commits(segments: Mapping[str, bytes], groups: Collection[str]) -> Iterator[LoggedCommit]:
    """What a replica's files (name -> bytes) say of these groups, in the order of the log. Records that
    cannot be decoded are left out.

    Raises:
        JournalError: as `workloads.records.log_format.segments.parse_segment`.
    """
    aborted = set(hidden_offsets(segments).aborted.tolist())
    for batch in batches_of(segments):
        for record in () if batch.control else batch.records() or ():
            group_partition = _group_partition(record.key)
            if group_partition is None or group_partition[0] not in groups:
                continue
            try:
                offset, epoch = _committed(record)
            except struct.error:
                continue
            yield LoggedCommit(
                record.offset,
                *group_partition,
                offset,
                epoch,
                record.timestamp_ms,
                batch.transactional,
                record.offset in aborted,
            )


def _group_partition(key: bytes | None) -> tuple[str, str, int] | None:
    """Group, topic and partition; None: the key of something else."""
    try:
        if key is None or struct.unpack_from(">h", key)[0] not in _KEY_VERSIONS:
            return None
        group, group_size = read_legacy_string(key, 2)
        topic, topic_size = read_legacy_string(key, 2 + group_size)
        return group, topic, struct.unpack_from(">i", key, 2 + group_size + topic_size)[0]
    except (struct.error, DecodeError):
        return None


def _committed(record: Record) -> tuple[int | None, int | None]:
    """Offset and leader epoch of a value."""
    if record.value is None:
        return None, None
    version, offset = struct.unpack_from(">hq", record.value)
    if version < _WITH_EPOCH:
        return offset, None
    (epoch,) = struct.unpack_from(">i", record.value, 10)
    return offset, epoch if epoch >= 0 else None
