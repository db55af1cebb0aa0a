"""Records as Spark's Kafka source has them become the rows that the final reader writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import grpc
import pyarrow as pa
import pytest

from harness.check_jobs.spark_topic_reader import KEPT_BYTES, offsets, read_topic, reads_of
from harness.model.errors import CheckError, JournalError
from harness.model.journal import READS
from harness.model.run import FinalRead, PartitionBounds
from tests.support.history import bounds, run_meta
from workloads.records.record.carried_identity import carry
from workloads.records.record.identity import ValueBuilder, encode_key

pytestmark = pytest.mark.pure

RUN = 12


def batch(
    *records: tuple[bytes | None, bytes | None], identities: tuple[bytes | None, ...] = ()
) -> pa.RecordBatch:
    """(key, value) at offsets from 40 of partition 3; the first ones with these identities in a header."""
    count = len(records)
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array([key for key, _ in records], pa.binary()),
            "value": pa.array([value for _, value in records], pa.binary()),
            "topic": pa.repeat("t", count),
            "partition": pa.array([3] * count, pa.int32()),
            "offset": pa.array(range(40, 40 + count), pa.int64()),
            "identity": pa.array([*identities, *[None] * (count - len(identities))], pa.binary()),
            "timestamp_ms": pa.array([-1] + [1000] * (count - 1) if count else [], pa.int64()),
        }
    )


def rows(*records: tuple[bytes | None, bytes | None]) -> list[dict[str, Any]]:
    out = reads_of(batch(*records), RUN, 5)
    assert out.schema == READS
    found: list[dict[str, Any]] = out.to_pylist()
    return found


def test_one_row_a_record_whatever_it_holds() -> None:
    good = ValueBuilder(RUN, 2, 100, 1)(7)
    foreign = ValueBuilder(RUN + 1, 2, 100, 1)(8)
    spoilt = bytearray(ValueBuilder(RUN, 2, 100, 1)(9))
    spoilt[50] ^= 1
    found = rows(
        (encode_key(11), good),
        (None, foreign),
        (b"odd", bytes(spoilt)),
        (None, b"?" * (KEPT_BYTES + 1)),
        (None, None),
    )
    told = [
        (row["offset"], row["state"], row["run"], row["producer"], row["seq"], row["key"]) for row in found
    ]
    assert told == [
        (40, "ok", RUN, 2, 7, 11),
        (41, "foreign", RUN + 1, 2, 8, None),
        (42, "corrupt", RUN, 2, 9, None),
        (43, "undecodable", None, None, None, None),
        (44, "undecodable", None, None, None, None),
    ]
    values = [row["value"] for row in found]
    assert values == [None, foreign, bytes(spoilt), b"?" * KEPT_BYTES, b""]
    assert [row["timestamp_ms"] for row in found] == [None, 1000, 1000, 1000, 1000]
    assert {(row["topic"], row["partition"], row["read_ns"], row["leader_epoch"]) for row in found} == {
        ("t", 3, 5, None)
    }


def test_an_identity_in_a_header_is_found() -> None:
    carried = carry(b"{}", RUN, 2, 5)
    out = reads_of(batch((None, b"{}"), (None, b"{}"), identities=(carried.header,)), RUN, 5)
    found = [(row["state"], row["producer"], row["seq"]) for row in out.to_pylist()]
    assert found == [("ok", 2, 5), ("undecodable", None, None)]


def test_no_records_no_rows() -> None:
    assert reads_of(batch(), RUN, 5).num_rows == 0


def test_the_bounds_of_every_partition_are_asked_for() -> None:
    bounds = [
        PartitionBounds(
            topic="t", partition=number, log_start_offset=number, end_offset=9, leader=1, leader_epoch=0
        )
        for number in (0, 1)
    ]
    starting, ending = offsets(tuple(bounds))
    assert json.loads(starting) == {"t": {"0": 0, "1": 1}}
    assert json.loads(ending) == {"t": {"0": 9, "1": 9}}


def test_a_run_without_a_final_read_has_no_bounds() -> None:
    with pytest.raises(JournalError, match="no final read"):
        read_topic(None, "127.0.0.1:1", run_meta(final_read=None), None)  # type: ignore[arg-type]


class Gone(grpc.RpcError):
    """As the client raises it when the server's process has ended."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        return "failed to connect to all addresses"


def test_a_server_that_ends_while_it_reads_is_told(tmp_path: Path) -> None:
    meta = run_meta().model_copy(update={"final_read": FinalRead(complete=True, bounds=(bounds(0, 0, 9),))})
    spark = MagicMock()
    spark.read.format.side_effect = Gone()
    with pytest.raises(CheckError, match="Spark could not read the topic") as caught:
        read_topic(spark, "127.0.0.1:9092", meta, tmp_path)
    assert caught.value.found == "the server does not answer: failed to connect to all addresses"
    spark.read.format.side_effect = RuntimeError("a mistake of ours")
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        read_topic(spark, "127.0.0.1:9092", meta, tmp_path)
