"""Record batches (v2) and segment files built by hand."""

from __future__ import annotations

import struct
import zlib

from crc32c import crc32c

_HEAD = struct.Struct(">hiqqqhii")
"""attributes, last offset delta, base timestamp, max timestamp, producer id, epoch, sequence, records"""


def batch(base: int, count: int, payload: int = 40, *, control: bool = False, pid: int = -1) -> bytes:
    """A batch of `count` offsets from `base` with `payload` bytes of records (whatever they may be).

    With a producer id it belongs to a transaction of that producer.
    """
    flags = (0x20 if control else 0) | (0x10 if pid >= 0 else 0)
    return _batch(flags, base, count, pid, b"r" * payload)


def marker(base: int, *, pid: int, commit: bool) -> bytes:
    """The control batch that ends a producer's transaction: one record, whose key is version and type."""
    record = bytes([0, 0, 0, 8]) + struct.pack(">hh", 0, int(commit)) + bytes([12]) + bytes(6) + bytes([0])
    return _batch(0x30, base, 1, pid, bytes([2 * len(record)]) + record)


def record(delta: int, key: bytes | None, value: bytes | None) -> bytes:
    """A record of format 2 at this offset after the first of its batch, without headers."""
    body = bytes(2) + _varint(delta) + _field(key) + _field(value) + _varint(0)
    return _varint(len(body)) + body


def batch_of(base: int, *records: bytes, pid: int = -1) -> bytes:
    """A batch of these records; with a producer id it belongs to a transaction."""
    return _batch(0x10 if pid >= 0 else 0, base, len(records), pid, b"".join(records))


def _field(data: bytes | None) -> bytes:
    return _varint(-1) if data is None else _varint(len(data)) + data


def _varint(number: int) -> bytes:
    raw, out = number * 2 if number >= 0 else -2 * number - 1, bytearray()
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes([*out, raw])


def _batch(flags: int, base: int, count: int, pid: int, records: bytes) -> bytes:
    covered = _HEAD.pack(flags, count - 1, 0, 0, pid, 0, -1, count) + records
    head = struct.pack(">qiibI", base, len(covered) + 9, 0, 2, crc32c(covered))
    return head + covered


def old_message(
    offset: int, value: bytes | None, *, magic: int = 1, attributes: int = 0, stamp: int = 1000
) -> bytes:
    """A message of format 0 or 1 without a key."""
    covered = struct.pack(">bb", magic, attributes) + (struct.pack(">q", stamp) if magic else b"")
    covered += struct.pack(">i", -1)
    covered += struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", offset, len(covered) + 4, zlib.crc32(covered)) + covered


def segment(base: int, *sizes: int) -> bytes:
    """Batches of 10 offsets with these payloads."""
    return b"".join(batch(base + 10 * index, 10, payload) for index, payload in enumerate(sizes))
