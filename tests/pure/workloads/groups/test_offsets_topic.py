"""Records of `__consumer_offsets`, built by hand after Kafka's own definitions."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders.batches import batch_of, marker, record
from workloads.groups.offsets_topic import LoggedCommit, logged_commits, partition_of

pytestmark = pytest.mark.pure

FILE = "00000000000000000000.log"


def string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def key(group: str = "g", topic: str = "t", partition: int = 3, version: int = 1) -> bytes:
    return struct.pack(">h", version) + string(group) + string(topic) + struct.pack(">i", partition)


def value(offset: int, *, epoch: int = 7, version: int = 3) -> bytes:
    with_epoch = struct.pack(">i", epoch) if version >= 3 else b""
    return struct.pack(">hq", version, offset) + with_epoch + string("") + struct.pack(">q", 99)


def found(*batches: bytes, groups: tuple[str, ...] = ("g",)) -> list[LoggedCommit]:
    return list(logged_commits({FILE: b"".join(batches)}, groups))


@pytest.mark.parametrize(
    ("group", "hashed"),
    # String.hashCode() of Java.
    [("g", 103), ("hello", 99162322), ("polygenelubricants", -(2**31)), ("", 0)],
)
def test_the_partition_of_a_group_is_that_of_the_brokers(group: str, hashed: int) -> None:
    assert partition_of(group, 50) == (hashed & 0x7FFFFFFF) % 50


def test_commits_tombstones_and_epochs() -> None:
    rows = found(
        batch_of(10, record(0, key(), value(40)), record(1, key(partition=4), value(9, version=1))),
        batch_of(12, record(0, key(), value(41, epoch=-1)), record(1, key(), None)),
    )
    assert [(row.log_offset, row.partition, row.offset, row.leader_epoch) for row in rows] == [
        (10, 3, 40, 7),
        (11, 4, 9, None),
        (12, 3, 41, None),
        (13, 3, None, None),
    ]
    assert {(row.group, row.topic, row.transactional, row.aborted) for row in rows} == {
        ("g", "t", False, False)
    }


def test_other_groups_keys_of_groups_and_damage_are_left_out() -> None:
    rows = found(
        batch_of(
            0,
            record(0, key("other"), value(1)),
            record(1, key(version=2), value(2)),
            record(2, key()[:-6], value(3)),
            record(3, key(), value(4)[:5]),
            record(4, None, value(5)),
            record(5, key(), value(6)),
        )
    )
    assert [row.offset for row in rows] == [6]


def test_what_a_transaction_wrote_is_told_and_whether_it_was_aborted() -> None:
    rows = found(
        batch_of(0, record(0, key(), value(1)), pid=5),
        marker(1, pid=5, commit=False),
        batch_of(2, record(0, key(), value(2)), pid=5),
        marker(3, pid=5, commit=True),
        batch_of(4, record(0, key(), value(3)), pid=5),
    )
    assert [(row.offset, row.transactional, row.aborted) for row in rows] == [
        (1, True, True),
        (2, True, False),
        (3, True, False),
    ]


@given(st.binary(max_size=40), st.none() | st.binary(max_size=40))
def test_any_key_and_value_gives_rows_or_none(some_key: bytes, some_value: bytes | None) -> None:
    found(batch_of(0, record(0, some_key, some_value), record(1, key(), some_value)))


def test_other_files_of_the_folder_are_not_read() -> None:
    # An index has eight bytes an entry: this one looks like a compressed message of an old format.
    index = struct.pack(">qi", 1, 60) + bytes((0, 0, 0, 0, 0, 1)) + bytes(100)
    files = {FILE: batch_of(10, record(0, key(), value(40))), FILE.replace(".log", ".index"): index}
    assert [row.offset for row in logged_commits(files, ("g",))] == [40]
