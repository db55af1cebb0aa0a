"""The final reader against librdkafka's mock cluster: exactly the range, twice the same."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer

from harness.model.journal import READS
from workloads.records.clients import client_logger
from workloads.records.reader.digest import PartitionDigest
from workloads.records.reader.final_reader import last_stable, read_range
from workloads.records.record.identity import ValueBuilder, encode_key

pytestmark = pytest.mark.mock

RUN = 12


@pytest.fixture
def write(mock_bootstrap: str, mock_topic: str) -> Any:
    """`write(partition, values)` appends; keys are the position in `values`."""
    producer = Producer({"bootstrap.servers": mock_bootstrap, "linger.ms": 0}, logger=client_logger())

    def append(partition: int, values: list[bytes | None]) -> None:
        for index, value in enumerate(values):
            producer.produce(mock_topic, value, encode_key(index), partition)
        assert producer.flush(30) == 0

    return append


@pytest.fixture
def read(mock_bootstrap: str, mock_topic: str) -> Any:
    def reading(
        bounds: dict[int, tuple[int, int]], folder: Path | None = None, *, seconds: float = 60, **more: Any
    ) -> dict[int, PartitionDigest]:
        return read_range(
            mock_bootstrap,
            topic=mock_topic,
            bounds=bounds,
            run_id=RUN,
            reader="final-1",
            folder=folder,
            deadline=time.monotonic() + seconds,
            **more,
        )

    return reading


def values(count: int, producer: int = 0) -> list[bytes | None]:
    build = ValueBuilder(RUN, producer, 100, 1)
    return [build(seq) for seq in range(count)]


def test_reads_exactly_what_is_there_and_twice_the_same(
    tmp_path: Path, write: Any, read: Any, mock_topic: str
) -> None:
    bounds = {}
    for partition in range(4):
        write(partition, values(700 + partition, producer=partition))
        bounds[partition] = (0, 700 + partition)
    first = read(bounds, tmp_path)
    second = read(bounds)
    assert first == second
    assert {digest.content_hash for digest in first.values()}.__len__() == 4
    for partition, digest in first.items():
        count = 700 + partition
        assert (digest.records, digest.gaps, digest.problem) == (count, (), None)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [f"part-{n:05d}.parquet" for n in range(4)]
    table = pq.read_table(tmp_path)
    assert table.schema == READS
    rows = table.to_pylist()
    assert len(rows) == 4 * 700 + 6
    for row in rows:
        assert (row["reader"], row["topic"], row["state"], row["run"]) == ("final-1", mock_topic, "ok", RUN)
        assert row["producer"] == row["partition"]
        assert row["seq"] == row["offset"] == row["key"]
        assert row["timestamp_ms"] is not None
        assert row["value"] is None


def test_read_committed_reads_what_is_in_no_transaction(
    write: Any, read: Any, mock_bootstrap: str, mock_topic: str
) -> None:
    write(0, values(50))
    assert read({0: (0, 50)}, committed=True) == read({0: (0, 50)})
    assert last_stable(mock_bootstrap, mock_topic, [0, 1]) == {0: 50, 1: 0}


def test_only_the_range_asked_for(tmp_path: Path, write: Any, read: Any) -> None:
    write(0, values(50))
    (digest,) = read({0: (10, 20)}, tmp_path).values()
    assert (digest.records, digest.gaps) == (10, ())
    assert pq.read_table(tmp_path)["offset"].to_pylist() == list(range(10, 20))


def test_a_difference_of_one_record_changes_the_digest(write: Any, read: Any) -> None:
    same = values(20)
    other = [*same[:7], values(20, producer=9)[7], *same[8:]]
    write(0, same)
    write(1, other)
    digests = read({0: (0, 20), 1: (0, 20)})
    assert digests[0].content() != digests[1].content()
    again = read({0: (0, 19)})
    assert again[0].content() != digests[0].content()


def test_garbage_is_evidence_not_an_exception(tmp_path: Path, write: Any, read: Any) -> None:
    ours = ValueBuilder(RUN, 0, 100, 1)
    damaged = bytes([*ours(3)[:-1], ours(3)[-1] ^ 1])
    foreign = ValueBuilder(RUN + 1, 4, 100, 1)(8)
    huge = b"x" * 9000
    write(0, [ours(0), damaged, foreign, b"hello", None, huge, ours(1)])
    (digest,) = read({0: (0, 7)}, tmp_path).values()
    assert digest.records == 7
    rows = pq.read_table(tmp_path).to_pylist()
    assert [row["state"] for row in rows] == [
        "ok",
        "corrupt",
        "foreign",
        "undecodable",
        "undecodable",
        "undecodable",
        "ok",
    ]
    assert [row["seq"] for row in rows] == [0, 3, 8, None, None, None, 1]
    assert [row["run"] for row in rows] == [RUN, RUN, RUN + 1, None, None, None, RUN]
    assert [row["value"] for row in rows] == [None, damaged, foreign, b"hello", b"", huge[:4096], None]


def test_an_empty_range_needs_no_broker(tmp_path: Path, read: Any) -> None:
    (digest,) = read({0: (5, 5)}, tmp_path).values()
    assert (digest.records, digest.problem) == (0, None)
    assert pq.read_table(tmp_path).num_rows == 0


def test_a_deadline_keeps_what_was_read(tmp_path: Path, write: Any, read: Any) -> None:
    write(0, values(30))
    (digest,) = read({0: (0, 100)}, tmp_path, seconds=8).values()
    assert digest.problem is not None
    assert "offset 30 of 100" in digest.problem
    assert (digest.records, digest.gaps) == (30, ((30, 100),))
    assert pq.read_table(tmp_path).num_rows == 30


def test_an_offset_out_of_range_shows_instead_of_jumping(write: Any, read: Any) -> None:
    write(0, values(5))
    (digest,) = read({0: (50, 60)}, seconds=30).values()
    assert digest.records == 0
    assert digest.problem is not None
    assert "_AUTO_OFFSET_RESET" in digest.problem
