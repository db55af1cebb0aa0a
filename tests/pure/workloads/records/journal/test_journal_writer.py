"""Journals: every send exactly one row, whole files only, and a crash that loses a second at most."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.model.errors import JournalError
from harness.model.journal import FAULTS, OPEN_SENDS, SAMPLES, SENDS, SendOutcome
from workloads.records.journal.row_journal import RowJournal, TableFile
from workloads.records.producer.send_journal import NO_KEY, OpenSends, SendBatch, SendJournal

pytestmark = pytest.mark.pure


def batch(first: int, count: int, producer: int = 0, key: int = NO_KEY) -> SendBatch:
    seq = np.arange(first, first + count, dtype=np.int64)
    return SendBatch(
        producer=producer,
        first=first,
        step=1,
        size=100,
        sent_ns=1_000 + seq,
        partition=(seq % 3).astype(np.int32),
        key=np.full(count, key, dtype=np.int64),
    )


def at(*seqs: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(seqs, dtype=np.int64)


def rows(folder: Path) -> list[dict[str, object]]:
    table = pa.concat_tables([pq.read_table(part) for part in sorted(folder.glob("part-*.parquet"))])
    assert table.schema == SENDS
    found: list[dict[str, object]] = table.sort_by(
        [("producer", "ascending"), ("seq", "ascending")]
    ).to_pylist()
    return found


def test_one_row_a_send_with_what_its_report_said(tmp_path: Path) -> None:
    with SendJournal(tmp_path, "t") as journal:
        journal.opened(batch(0, 3))
        journal.closed(0, at(2, 0), at(50, 60), SendOutcome.ACKED, offsets=at(7, -1))
        journal.opened(batch(0, 1, producer=1, key=9))
        journal.closed(1, at(0), at(70), [SendOutcome.INDETERMINATE], errors=["_MSG_TIMED_OUT"])
    found = rows(tmp_path)
    assert [(row["producer"], row["seq"], row["outcome"]) for row in found] == [
        (0, 0, "acked"),
        (0, 1, "indeterminate"),
        (0, 2, "acked"),
        (1, 0, "indeterminate"),
    ]
    assert [row["offset"] for row in found] == [None, None, 7, None]
    assert [row["closed_ns"] for row in found] == [60, None, 50, 70]
    assert [row["error"] for row in found] == [None, "_NO_REPORT", None, "_MSG_TIMED_OUT"]
    assert [row["key"] for row in found] == [None, None, None, 9]
    assert [row["partition"] for row in found] == [0, 1, 2, 0]
    assert [row["sent_ns"] for row in found] == [1000, 1001, 1002, 1000]
    assert {(row["topic"], row["size"], row["step"]) for row in found} == {("t", 100, 1)}


def test_open_sends_are_on_disk_while_running_and_gone_after(tmp_path: Path) -> None:
    journal = SendJournal(tmp_path, "t", flush_seconds=3600)
    journal.opened(batch(0, 5))
    journal.closed(0, at(1, 3), at(1, 2), SendOutcome.ACKED, offsets=at(0, 1))
    journal.flush()
    pending = pq.read_table(tmp_path / OPEN_SENDS).to_pylist()
    assert [row["seq"] for row in pending] == [0, 2, 4]
    assert {(row["outcome"], row["closed_ns"], row["error"]) for row in pending} == {
        ("indeterminate", None, "_NO_REPORT")
    }
    assert [row["seq"] for row in rows(tmp_path)] == [1, 3]
    journal.close()
    journal.close()
    assert [row["seq"] for row in rows(tmp_path)] == [0, 1, 2, 3, 4]


def test_the_clock_flushes_by_itself(tmp_path: Path) -> None:
    flushed = threading.Event()

    class Watched(SendJournal):
        def flush(self) -> None:
            super().flush()
            if list(tmp_path.glob("part-*.parquet")):
                flushed.set()

    with Watched(tmp_path, "t", flush_seconds=0.01) as journal:
        journal.opened(batch(0, 1))
        journal.closed(0, at(0), at(1), SendOutcome.ACKED, offsets=at(0))
        assert flushed.wait(30)


def test_a_run_without_sends_leaves_a_readable_journal(tmp_path: Path) -> None:
    SendJournal(tmp_path, "t").close()
    assert rows(tmp_path) == []


def test_bookkeeping_mistakes_are_refused(tmp_path: Path) -> None:
    with SendJournal(tmp_path, "t") as journal:
        journal.opened(batch(0, 2))
        with pytest.raises(ValueError, match="dense"):
            journal.opened(batch(3, 1))
        journal.closed(0, at(0), at(1), SendOutcome.ACKED, offsets=at(0))
        with pytest.raises(ValueError, match="second report"):
            journal.closed(0, at(0), at(1), SendOutcome.ACKED, offsets=at(0))
        with pytest.raises(ValueError, match="second report"):
            journal.closed(0, at(1, 1), at(1, 1), SendOutcome.ACKED, offsets=at(0, 0))
        with pytest.raises(ValueError, match="not open"):
            journal.closed(0, at(2), at(1), SendOutcome.ACKED, offsets=at(0))


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 3000), st.integers(0, 100)), max_size=12), st.integers(0, 2**32))
def test_open_sends_against_a_plain_dict(moves: list[tuple[int, int]], seed: int) -> None:
    random = Random(seed)
    sends, model, end = OpenSends(), dict[int, int](), 0
    for count, percent in moves:
        sends.add(batch(end, count))
        model.update((seq, 1_000 + seq) for seq in range(end, end + count))
        end += count
        chosen = random.sample(sorted(model), len(model) * percent // 100)
        closed = sends.close(np.array(chosen, dtype=np.int64))
        assert closed["sent_ns"].tolist() == [model.pop(seq) for seq in chosen]
        seq, open_rows = sends.still_open()
        assert dict(zip(seq.tolist(), open_rows["sent_ns"].tolist(), strict=True)) == model


CHILD = """
import sys
from itertools import count
from pathlib import Path
import numpy as np
from harness.model.journal import SendOutcome
from workloads.records.producer.send_journal import NO_KEY, SendBatch, SendJournal

journal = SendJournal(Path(sys.argv[1]), "t", flush_seconds=0.05)
for slice in count():
    seq = np.arange(slice * 100, slice * 100 + 100, dtype=np.int64)
    journal.opened(SendBatch(0, slice * 100, 0, 100, seq, np.zeros(100, np.int32), np.full(100, NO_KEY)))
    journal.closed(0, seq[:60], seq[:60], SendOutcome.ACKED, offsets=seq[:60])
    if slice % 50 == 49:
        journal.flush()
        print(seq[-1] + 1, flush=True)
"""


def test_a_killed_writer_leaves_a_readable_folder(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert child.stdout is not None
    flushed = [int(child.stdout.readline()) for _ in range(5)][-1]
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    # A send that closed between the last part and the last open file stands in both: the part is right.
    closed = {int(str(row["seq"])): row for row in rows(tmp_path)}
    still_open = {row["seq"]: row for row in pq.read_table(tmp_path / OPEN_SENDS).to_pylist()}
    found = list((still_open | closed).values())
    seqs = [row["seq"] for row in found]
    assert set(range(flushed)) <= set(seqs), "nothing that was flushed may be lost"
    ours = [row for row in found if int(str(row["seq"])) < flushed]
    assert {row["outcome"] for row in ours if int(str(row["seq"])) % 100 < 60} == {"acked"}
    assert {row["error"] for row in ours if int(str(row["seq"])) % 100 >= 60} == {"_NO_REPORT"}


def test_a_flush_that_fails_is_told_to_the_writer(tmp_path: Path) -> None:
    folder = tmp_path / "sends"
    journal = SendJournal(folder, "t", flush_seconds=3600)
    journal.opened(batch(0, 1))
    (folder / OPEN_SENDS).unlink()
    folder.rmdir()
    with pytest.raises(JournalError, match="cannot be written"):
        journal.close()


SAMPLE = {"at_ns": 1, "broker": 2, "answered": True, "isr": [1, 2]}


def test_row_journal_writes_parts_from_many_threads(tmp_path: Path) -> None:
    with RowJournal(tmp_path, SAMPLES, flush_seconds=0.01) as journal:
        threads = [
            threading.Thread(target=lambda: [journal.append(SAMPLE) for _ in range(200)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    table = pq.read_table(tmp_path)
    assert table.schema == SAMPLES
    assert table.num_rows == 800
    assert table["isr"][0].as_py() == [1, 2]


def test_row_journal_without_rows_is_readable(tmp_path: Path) -> None:
    RowJournal(tmp_path, SAMPLES).close()
    assert pq.read_table(tmp_path).num_rows == 0


@pytest.mark.parametrize(
    ("row", "message"),
    [({**SAMPLE, "brokr": 1}, "no such column: brokr"), ({"at_ns": 1, "answered": True}, "broker")],
)
def test_wrong_rows_fail_where_they_are_made(tmp_path: Path, row: dict[str, object], message: str) -> None:
    with RowJournal(tmp_path, SAMPLES) as journal, pytest.raises(ValueError, match=message):
        journal.append(row)


def test_table_file_is_on_disk_after_each_row(tmp_path: Path) -> None:
    path = tmp_path / "run" / "faults.parquet"
    event = {
        "at_ns": 1,
        "fault": "kill-1",
        "kind": "kill",
        "phase": "injected",
        "target": "1",
        "detail": "{}",
    }
    with TableFile(path, FAULTS) as file:
        assert pq.read_table(path).num_rows == 0
        for count in (1, 2):
            file.append(event)
            assert pq.read_table(path).num_rows == count
    assert pq.read_table(path).schema == FAULTS
    assert [entry.name for entry in path.parent.iterdir()] == ["faults.parquet"]
