"""Record batches of format v2 and the records in them (KIP-98, Kafka's message format page).

Also messages of formats 0 and 1, which Kafka wrote before 0.11 and still writes if `message.format.version`
demands it (the same page, "Old Message Format"). Such a message has no leader epoch and no producer; each is
a batch of one record.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from crc32c import crc32c
from kio.serial.errors import DecodeError
from kio.serial.readers import read_nullable_legacy_bytes, read_signed_varlong

BATCH = struct.Struct(">qiibIhiqqqhii")
"""base offset, length, leader epoch, magic, crc, attributes, last offset delta, base timestamp, max
timestamp, producer id, producer epoch, base sequence, record count"""
OVERHEAD = 12
"""Bytes before the part that the length counts, in both forms."""
CODECS = {1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
"""Compression by the low three bits of a batch's attributes; 0 is none."""
LARGEST_OFFSET = 2**63 - 1
SMALLEST_RECORD = 7
"""Bytes of a record without key, value and headers."""
_CRC_FROM = 21
"""Where the part of a batch begins that its checksum covers."""
_CODEC_BITS, _LOG_APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x7, 0x8, 0x10, 0x20
_XERIAL = b"\x82SNAPPY\x00"
_NO_TIMESTAMP = -1
_MESSAGE = struct.Struct(">qiIbb")
"""offset, size, crc, magic, attributes of a message of format 0 or 1"""
_MESSAGE_CRC_FROM = 16


@dataclass(frozen=True, slots=True)
class Record:
    """One record; `timestamp_ms` None: the batch contains none."""

    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """One record batch. `payload` is everything after its header, compressed if `codec` is not None.

    `crc_ok` False: the batch's own checksum does not match its bytes.
    """

    base_offset: int
    last_offset: int
    leader_epoch: int
    crc_ok: bool
    codec: str | None
    log_append_time: bool
    transactional: bool
    control: bool
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    base_sequence: int
    count: int
    payload: memoryview

    def records(self) -> list[Record] | None:
        """The batch's records; None if the checksum, the compression or the encoding is broken."""
        if not self.crc_ok:
            return None
        try:
            return list(self._parse(_unpacked(self.payload, self.codec)))
        except (DecodeError, ValueError, OSError, struct.error, pa.ArrowException):
            return None

    def _parse(self, data: bytes) -> Iterator[Record]:
        position = 0
        for _ in range(self.count):
            length, position = _number(data, position)
            behind = position + length
            if length < 0 or behind > len(data):
                raise ValueError("a record runs over the end of its batch")
            time_delta, position = _number(data, position + 1)
            offset_delta, position = _number(data, position)
            key, position = _field(data, position)
            value, position = _field(data, position)
            stamp = self.max_timestamp if self.log_append_time else self.base_timestamp + time_delta
            if not (_fits(stamp) and _fits(self.base_offset + offset_delta)):
                raise ValueError("a record's offset or timestamp is larger than 64 bits")
            known = stamp if self.base_timestamp != _NO_TIMESTAMP or self.log_append_time else None
            headers = _headers(data, position)
            yield Record(self.base_offset + offset_delta, known, key, value, headers)
            position = behind


def read_batch(data: memoryview, position: int) -> tuple[RecordBatch, int]:
    """The batch that begins at byte `position`, complete, and the position after it."""
    base, length, epoch, _, crc, attributes, last_delta, *more = BATCH.unpack_from(data, position)
    first_time, max_time, producer_id, _, sequence, count = more
    behind = position + OVERHEAD + length
    compression = attributes & _CODEC_BITS
    batch = RecordBatch(
        base_offset=base,
        last_offset=base + last_delta,
        leader_epoch=epoch,
        crc_ok=crc32c(data[position + _CRC_FROM : behind]) == crc
        and (compression in CODECS or not compression),
        codec=CODECS.get(compression),
        log_append_time=bool(attributes & _LOG_APPEND_TIME),
        transactional=bool(attributes & _TRANSACTIONAL),
        control=bool(attributes & _CONTROL),
        base_timestamp=first_time,
        max_timestamp=max_time,
        producer_id=producer_id,
        base_sequence=sequence,
        count=count,
        payload=data[position + BATCH.size : behind],
    )
    return batch, behind


def _fits(number: int) -> bool:
    return -LARGEST_OFFSET <= number <= LARGEST_OFFSET


def _number(data: bytes, position: int) -> tuple[int, int]:
    """A variable-length integer (zig-zag, KIP-98), and the position after it."""
    number, size = read_signed_varlong(data, position)
    return number, position + size


def _field(data: bytes, position: int) -> tuple[bytes | None, int]:
    length, position = _number(data, position)
    if length < 0:
        return None, position
    if position + length > len(data):
        raise ValueError("a field runs over the end of its batch")
    return data[position : position + length], position + length


def _headers(data: bytes, position: int) -> tuple[tuple[str, bytes | None], ...]:
    count, position = _number(data, position)
    if count < 0:
        raise ValueError("a record has less than no headers")
    headers = []
    for _ in range(count):
        name, position = _field(data, position)
        value, position = _field(data, position)
        headers.append(((name or b"").decode(errors="replace"), value))
    return tuple(headers)


def _unpacked(payload: memoryview, codec: str | None) -> bytes:
    if codec is None:
        return bytes(payload)
    if codec == "snappy":
        return _unsnappy(bytes(payload))
    with pa.CompressedInputStream(pa.BufferReader(payload), codec) as stream:
        unpacked: bytes = stream.read()
    return unpacked


def _unsnappy(data: bytes) -> bytes:
    """Raw snappy as librdkafka may write it, or the framing of snappy-java as the Java client does."""
    if not data.startswith(_XERIAL):
        return _snappy_block(data)
    blocks = []
    position = 16
    while position < len(data):
        (length,) = struct.unpack_from(">i", data, position)
        position += 4
        blocks.append(_snappy_block(data[position : position + length]))
        position += length
    return b"".join(blocks)


def _snappy_block(block: bytes) -> bytes:
    size = shift = 0
    for byte in block:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    # Snappy packs at most 64 bytes into 3: a larger claim is damage, and must not be allocated.
    if size > 64 * len(block):
        raise ValueError(f"a snappy block of {len(block)} bytes claims to hold {size}")
    unpacked: bytes = pa.decompress(block, decompressed_size=size, codec="snappy", asbytes=True)
    return unpacked


@dataclass(frozen=True, slots=True)
class LegacyMessage(RecordBatch):
    """One message; `payload` is its key and value, each after its length."""

    def records(self) -> list[Record] | None:
        """The single record; None if the checksum or a length is wrong."""
        if not self.crc_ok:
            return None
        try:
            key, size = read_nullable_legacy_bytes(self.payload, 0)
            value, _ = read_nullable_legacy_bytes(self.payload, size)
        except DecodeError:
            return None
        stamp = self.max_timestamp if self.max_timestamp >= 0 else None
        return [Record(self.base_offset, stamp, key, value)]


def compressed(data: memoryview, position: int) -> bool:
    """Whether the message that begins at byte `position` contains compressed messages."""
    return bool(data[position + _MESSAGE_CRC_FROM + 1] & _CODEC_BITS)


def read_message(data: memoryview, position: int) -> tuple[LegacyMessage, int]:
    """The message that begins at byte `position`, complete and not compressed, and the position after it."""
    offset, size, crc, magic, attributes = _MESSAGE.unpack_from(data, position)
    behind = position + OVERHEAD + size
    body = position + _MESSAGE.size
    stamp = -1
    if magic == 1:
        (stamp,) = struct.unpack_from(">q", data, body)
        body += 8
    message = LegacyMessage(
        base_offset=offset,
        last_offset=offset,
        leader_epoch=-1,
        crc_ok=zlib.crc32(data[position + _MESSAGE_CRC_FROM : behind]) == crc,
        codec=None,
        log_append_time=bool(attributes & _LOG_APPEND_TIME),
        transactional=False,
        control=False,
        base_timestamp=stamp,
        max_timestamp=stamp,
        producer_id=-1,
        base_sequence=-1,
        count=1,
        payload=data[body:behind],
    )
    return message, behind
