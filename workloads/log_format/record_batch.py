"""Record batches of format v2 and the records in them (KIP-98, Kafka's message format page)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from workloads.log_format.varint import read_varint

CODECS = {1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
"""Compression by the low three bits of a batch's attributes; 0 is none."""
LARGEST_OFFSET = 2**63 - 1
SMALLEST_RECORD = 7
"""Bytes of a record without key, value and headers."""
_XERIAL = b"\x82SNAPPY\x00"
_NO_TIMESTAMP = -1


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
    producer_epoch: int
    base_sequence: int
    count: int
    payload: memoryview

    def records(self) -> list[Record] | None:
        """The batch's records; None if the checksum, the compression or the encoding is broken."""
        if not self.crc_ok:
            return None
        try:
            return list(self._parse(_unpacked(self.payload, self.codec)))
        except (IndexError, ValueError, OSError, struct.error, pa.ArrowException):
            return None

    def _parse(self, data: bytes) -> Iterator[Record]:
        position = 0
        for _ in range(self.count):
            length, position = read_varint(data, position)
            behind = position + length
            if length < 0 or behind > len(data):
                raise ValueError("a record runs over the end of its batch")
            time_delta, position = read_varint(data, position + 1)
            offset_delta, position = read_varint(data, position)
            key, position = _field(data, position)
            value, position = _field(data, position)
            stamp = self.max_timestamp if self.log_append_time else self.base_timestamp + time_delta
            if not (_fits(stamp) and _fits(self.base_offset + offset_delta)):
                raise ValueError("a record's offset or timestamp is larger than 64 bits")
            known = stamp if self.base_timestamp != _NO_TIMESTAMP or self.log_append_time else None
            headers = _headers(data, position)
            yield Record(self.base_offset + offset_delta, known, key, value, headers)
            position = behind


def _fits(number: int) -> bool:
    return -LARGEST_OFFSET <= number <= LARGEST_OFFSET


def _field(data: bytes, position: int) -> tuple[bytes | None, int]:
    length, position = read_varint(data, position)
    if length < 0:
        return None, position
    if position + length > len(data):
        raise ValueError("a field runs over the end of its batch")
    return data[position : position + length], position + length


def _headers(data: bytes, position: int) -> tuple[tuple[str, bytes | None], ...]:
    count, position = read_varint(data, position)
    if count < 0:
        raise ValueError("a record has less than no headers")
    found = []
    for _ in range(count):
        name, position = _field(data, position)
        value, position = _field(data, position)
        found.append(((name or b"").decode(errors="replace"), value))
    return tuple(found)


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
