"""Messages of formats 0 and 1, which Kafka wrote before 0.11 and still writes if
`message.format.version` demands it (Kafka's message format page, "Old Message Format").

Such a message has no leader epoch and no producer. Each is returned as a batch of one record.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from workloads.log_format.record_batch import Record, RecordBatch

_HEAD = struct.Struct(">qiIbb")
"""offset, size, crc, magic, attributes"""
_OVERHEAD = 12
_CRC_FROM = 16
_NO_EPOCH = -1
_LOG_APPEND_TIME = 0x8
_COMPRESSED = 0x7


@dataclass(frozen=True, slots=True)
class LegacyMessage(RecordBatch):
    """One message; `payload` is its key and value, each after its length."""

    def records(self) -> list[Record] | None:
        """The single record; None if the checksum or a length is wrong."""
        if not self.crc_ok:
            return None
        data = bytes(self.payload)
        try:
            key, position = _field(data, 0)
            value, _ = _field(data, position)
        except (ValueError, struct.error):
            return None
        stamp = self.max_timestamp if self.max_timestamp >= 0 else None
        return [Record(self.base_offset, stamp, key, value)]


def compressed(data: memoryview, position: int) -> bool:
    """Whether the message that begins at byte `position` contains compressed messages."""
    return bool(data[position + _CRC_FROM + 1] & _COMPRESSED)


def message(data: memoryview, position: int) -> tuple[LegacyMessage, int]:
    """The message that begins at byte `position`, complete and not compressed, and the position after it."""
    offset, size, crc, magic, attributes = _HEAD.unpack_from(data, position)
    behind = position + _OVERHEAD + size
    body = position + _HEAD.size
    stamp = -1
    if magic == 1:
        (stamp,) = struct.unpack_from(">q", data, body)
        body += 8
    found = LegacyMessage(
        base_offset=offset,
        last_offset=offset,
        leader_epoch=_NO_EPOCH,
        crc_ok=zlib.crc32(data[position + _CRC_FROM : behind]) == crc,
        codec=None,
        log_append_time=bool(attributes & _LOG_APPEND_TIME),
        transactional=False,
        control=False,
        base_timestamp=stamp,
        max_timestamp=stamp,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        count=1,
        payload=data[body:behind],
    )
    return found, behind


def _field(data: bytes, position: int) -> tuple[bytes | None, int]:
    (length,) = struct.unpack_from(">i", data, position)
    position += 4
    if length < 0:
        return None, position
    if position + length > len(data):
        raise ValueError("a field runs over the end of its message")
    return data[position : position + length], position + length
