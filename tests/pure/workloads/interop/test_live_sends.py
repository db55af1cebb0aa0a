"""The journal of Java producers while they run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.model.journal import READS
from tests.support.verifiable_output import LOG, START, failed, sent
from workloads.interop.live_sends import LiveSends, highest_read
from workloads.interop.sends import ForeignSends

pytestmark = pytest.mark.pure

NEVER = 3600.0


def lines(*text: str) -> list[bytes]:
    return [line.encode() for line in text]


def rows(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder).to_pylist()
    return sorted(found, key=lambda row: (row["producer"], row["seq"]))


def test_each_send_is_a_row_once_it_was_told_of(tmp_path: Path) -> None:
    journal = LiveSends(tmp_path, flush_seconds=NEVER)
    first, second = (ForeignSends("all", topic="t", producer=number, step=number) for number in (0, 1))
    journal.take(first, lines(LOG, START, sent("0.0", 0)))
    journal.flush()
    assert [row["seq"] for row in rows(tmp_path)] == [0]
    journal.take(second, lines(sent("1.2", 5), failed("1.1")))
    journal.take(first, lines(sent("1.0", 9)))
    journal.close()
    journal.close()
    assert [(row["producer"], row["seq"], row["step"], row["outcome"]) for row in rows(tmp_path)] == [
        (0, 0, 0, "acked"), (1, 1, 1, "indeterminate"), (1, 2, 1, "acked"),
    ]  # fmt: skip
    progress = journal.progress()
    assert (progress.sent, progress.acked, progress.indeterminate, progress.open) == (3, 2, 1, 0)
    assert (progress.last_error, dict(progress.errors)) == ("TimeoutException", {"TimeoutException": 1})
    assert first.foreign == 1

    reads = tmp_path / "reads"
    reads.mkdir()
    read = {
        "reader": "final",
        "topic": "t",
        "partition": 0,
        "offset": 0,
        "state": "ok",
        "run": 1,
        "read_ns": 1,
    }
    found = [
        {**read, "producer": 0, "seq": 2},
        {**read, "producer": 0, "seq": 1},
        {**read, "producer": 5, "seq": 9},
    ]
    odd = {**read, "producer": 0, "seq": 7, "state": "corrupt"}
    pq.write_table(pa.Table.from_pylist([*found, odd], schema=READS), reads / "part-00000.parquet")
    assert highest_read(reads) == {0: 2, 5: 9}
    assert journal.unreported([first, second], highest_read(reads)) == 3
    told = [row for row in rows(tmp_path) if row["error"] == "_NO_REPORT"]
    assert [(row["producer"], row["seq"], row["partition"]) for row in told] == [
        (0, 1, -1),
        (0, 2, -1),
        (1, 0, -1),
    ]


def test_a_run_that_sent_nothing_has_a_journal(tmp_path: Path) -> None:
    LiveSends(tmp_path, flush_seconds=NEVER).close()
    assert rows(tmp_path) == []
    assert highest_read(tmp_path / "none") == {}
