"""Segment files, from hand-built batches of format v2."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pyarrow as pa
import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.model.errors import JournalError
from harness.model.journal import REPLICAS
from tests.support.builders.batches import old_message
from workloads.records.log_format.record_batch import _number
from workloads.records.log_format.segments import log_end_offset, parse_segment, replica_rows
from workloads.records.record.carried_identity import IDENTITY_HEADER, carry
from workloads.records.record.identity import ValueBuilder, encode_key

pytestmark = pytest.mark.pure

RUN = 77
VALUE = ValueBuilder(RUN, 2, 60, 1)
FIRST = "00000000000000000000.log"


def varint(number: int) -> bytes:
    raw = (number << 1) ^ (number >> 63) if number < 0 else number << 1
    out = bytearray()
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes([*out, raw])


def field(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def record(
    delta: int, key: bytes | None, value: bytes | None, *, time: int = 0, headers: bytes = b""
) -> bytes:
    body = b"\x00" + varint(time) + varint(delta) + field(key) + field(value)
    body += headers or varint(0)
    return varint(len(body)) + body


def xerial(data: bytes) -> bytes:
    half = len(data) // 2
    blocks = [pa.compress(part, codec="snappy", asbytes=True) for part in (data[:half], data[half:])]
    framed = b"".join(struct.pack(">i", len(block)) + block for block in blocks)
    return b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + framed


def streamed(codec: str, data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(data)
    return bytes(sink.getvalue())


PACK = {
    0: lambda data: data,
    1: lambda data: streamed("gzip", data),
    2: lambda data: pa.compress(data, codec="snappy", asbytes=True),
    3: lambda data: streamed("lz4", data),
    4: lambda data: streamed("zstd", data),
}


def batch(
    base: int,
    records: Sequence[bytes],
    *,
    epoch: int = 3,
    attributes: int = 0,
    payload: bytes | None = None,
    last_delta: int | None = None,
    times: tuple[int, int] = (1000, 2000),
    magic: int = 2,
) -> bytes:
    body = PACK[attributes & 7](b"".join(records)) if payload is None else payload
    last = len(records) - 1 if last_delta is None else last_delta
    checked = struct.pack(">hiqqqhii", attributes, last, *times, -1, -1, -1, len(records)) + body
    head = struct.pack(">qiibI", base, 9 + len(checked), epoch, magic, crc32c(checked))
    return head + checked


def rows(data: bytes, name: str = FIRST) -> list[dict[str, object]]:
    table = replica_rows(1, "t", 0, {name: data}, RUN)
    assert table.schema == REPLICAS
    found: list[dict[str, object]] = table.to_pylist()
    return found


@settings(deadline=None)
@given(st.integers(-(2**63), 2**63 - 1))
def test_varint_round_trip(number: int) -> None:
    assert _number(varint(number), 0) == (number, len(varint(number)))


def test_records_of_several_batches_and_files() -> None:
    table = replica_rows(
        4,
        "t",
        5,
        {
            "00000000000000000002.log": batch(2, [record(0, None, VALUE(2), time=7)], epoch=9),
            FIRST: batch(0, [record(0, encode_key(1), VALUE(0)), record(1, b"", VALUE(1))]),
            "00000000000000000000.index": b"not a log",
        },
        RUN,
    )
    found = table.to_pylist()
    assert [row["offset"] for row in found] == [0, 1, 2]
    assert [row["seq"] for row in found] == [0, 1, 2]
    assert [row["leader_epoch"] for row in found] == [3, 3, 9]
    assert [row["timestamp_ms"] for row in found] == [1000, 1000, 1007]
    assert {(row["broker"], row["topic"], row["partition"], row["producer"]) for row in found} == {
        (4, "t", 5, 2)
    }
    assert {row["state"] for row in found} == {"ok"}
    assert not any(row["control"] for row in found)


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_each_compression(codec: int) -> None:
    data = batch(10, [record(i, None, VALUE(i)) for i in range(300)], attributes=codec)
    assert [row["seq"] for row in rows(data)] == list(range(300))


def test_snappy_in_the_java_clients_framing() -> None:
    records = [record(i, None, VALUE(i)) for i in range(50)]
    data = batch(0, records, attributes=2, payload=xerial(b"".join(records)))
    assert [row["seq"] for row in rows(data)] == list(range(50))


def test_headers_are_passed_over() -> None:
    header = varint(1) + field(b"name") + field(b"content")
    data = batch(0, [record(0, None, VALUE(0), headers=header), record(1, None, VALUE(1))])
    assert [row["seq"] for row in rows(data)] == [0, 1]


def test_an_identity_in_a_header_is_found() -> None:
    carried = carry(b"{}", RUN, 2, 5)
    assert carried.header is not None
    header = (
        varint(2) + field(b"empty") + varint(-1) + field(IDENTITY_HEADER.encode()) + field(carried.header)
    )
    data = batch(0, [record(0, None, b"{}", headers=header), record(1, None, b"{ }", headers=header)])
    assert [(row["producer"], row["seq"], row["state"]) for row in rows(data)] == [
        (2, 5, "ok"),
        (2, 5, "corrupt"),
    ]


def test_compaction_leaves_gaps_and_empty_batches() -> None:
    data = batch(0, [record(1, None, VALUE(1)), record(4, None, VALUE(4))], last_delta=4)
    data += batch(5, [], last_delta=2)
    assert [row["offset"] for row in rows(data)] == [1, 4]
    assert log_end_offset({FIRST: data}) == 8


def test_log_append_time_stands_for_all_records() -> None:
    data = batch(0, [record(0, None, VALUE(0), time=5)], attributes=0x8)
    assert rows(data)[0]["timestamp_ms"] == 2000


def test_no_timestamp_is_null() -> None:
    assert rows(batch(0, [record(0, None, VALUE(0))], times=(-1, -1)))[0]["timestamp_ms"] is None


def test_control_batches_are_marked() -> None:
    marker = record(0, struct.pack(">hh", 0, 1), struct.pack(">hi", 0, 0))
    found = rows(batch(0, [record(0, None, VALUE(0))]) + batch(1, [marker], attributes=0x30))
    assert [(row["control"], row["state"]) for row in found] == [(False, "ok"), (True, "undecodable")]
    assert found[1]["seq"] is None


def test_foreign_corrupt_and_undecodable_values() -> None:
    torn = VALUE(1)[:-1] + b"\x00" if VALUE(1)[-1] else VALUE(1)[:-1] + b"\x01"
    values = [ValueBuilder(RUN + 1, 0, 60, 1)(5), torn, b"other", None]
    found = rows(batch(0, [record(i, None, value) for i, value in enumerate(values)]))
    assert [row["state"] for row in found] == ["foreign", "corrupt", "undecodable", "undecodable"]
    assert [row["run"] for row in found] == [RUN + 1, RUN, None, None]


def test_a_batch_with_a_wrong_checksum_is_corrupt_and_the_next_is_read() -> None:
    data = bytearray(batch(0, [record(i, None, VALUE(i)) for i in range(3)]))
    data[100] ^= 1
    found = rows(bytes(data) + batch(3, [record(0, None, VALUE(3))]))
    assert [(row["offset"], row["state"]) for row in found] == [
        (0, "corrupt"),
        (1, "corrupt"),
        (2, "corrupt"),
        (3, "ok"),
    ]
    assert found[0]["seq"] is None


def test_a_broken_encoding_under_a_right_checksum_is_corrupt() -> None:
    for codec in (0, 1, 2, 3, 4):
        data = batch(0, [b"", b""], attributes=codec, payload=b"\xff" * 40)
        assert [row["state"] for row in rows(data)] == ["corrupt", "corrupt"]


def test_a_tail_cut_anywhere_keeps_the_whole_batches() -> None:
    whole = batch(0, [record(0, None, VALUE(0))])
    tail = batch(1, [record(0, None, VALUE(1))])
    for cut in range(len(tail)):
        assert [row["seq"] for row in rows(whole + tail[:cut])] == [0]
        assert log_end_offset({FIRST: whole + tail[:cut]}) == 1


def test_preallocated_zeros_end_the_log() -> None:
    assert [row["seq"] for row in rows(batch(0, [record(0, None, VALUE(0))]) + bytes(4096))] == [0]


@settings(deadline=None)
@given(st.binary(max_size=300), st.integers(0, 300))
def test_damage_never_raises_but_for_old_formats(noise: bytes, place: int) -> None:
    data = bytearray(batch(0, [record(i, None, VALUE(i)) for i in range(3)]))
    data[place : place + len(noise)] = noise
    try:
        rows(bytes(data))
    except JournalError:
        assert any(magic < 2 for magic in data[16::1])


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_old_formats_are_read(magic: int) -> None:
    whole = old_message(7, VALUE(0), magic=magic) + old_message(8, None, magic=magic)
    first, second = rows(whole + old_message(9, VALUE(2), magic=magic)[:-1])
    assert (first["offset"], first["seq"], first["leader_epoch"], first["state"]) == (7, 0, -1, "ok")
    assert first["timestamp_ms"] == (1000 if magic else None)
    assert (second["offset"], second["seq"]) == (8, None)
    assert log_end_offset({FIRST: whole}) == 9


def test_a_broken_message_of_an_old_format_is_corrupt() -> None:
    data = bytearray(old_message(7, VALUE(0)))
    data[-1] ^= 1
    assert [(row["offset"], row["state"]) for row in rows(bytes(data))] == [(7, "corrupt")]


def test_compressed_messages_of_old_formats_are_refused_by_name() -> None:
    with pytest.raises(JournalError, match="compressed messages of an old format"):
        list(parse_segment(old_message(0, b"wrapped", attributes=1)))


def test_log_end_of_an_empty_new_segment_is_its_name() -> None:
    assert log_end_offset({"00000000000000000042.log": b""}) == 42
    assert log_end_offset({}) == 0
    assert rows(b"") == []


def test_batch_facts() -> None:
    (one,) = parse_segment(batch(5, [record(0, None, VALUE(0))], attributes=0x10))
    assert (one.base_offset, one.last_offset, one.transactional, one.control) == (5, 5, True, False)
    assert one.crc_ok
