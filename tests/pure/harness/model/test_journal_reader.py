"""Reading journals batch by batch, and what is said of damaged files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.model import journal_reader
from harness.model.errors import JournalError
from harness.model.journal import FAULTS_FILE, OPEN_SENDS
from harness.model.journal_reader import fault_events, journal_batches, journal_rows

pytestmark = pytest.mark.pure


def write_part(folder: Path, name: str, seqs: range) -> None:
    rows = {"producer": pa.array([1] * len(seqs), pa.int32()), "seq": pa.array(seqs, pa.int64())}
    pq.write_table(pa.table(rows), folder / name)


def test_parts_come_in_order_and_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_reader, "BATCH_ROWS", 4)
    write_part(tmp_path, "part-00001.parquet", range(10, 16))
    write_part(tmp_path, "part-00000.parquet", range(10))
    write_part(tmp_path, OPEN_SENDS, range(90, 91))
    batches = list(journal_batches(tmp_path, ["seq"]))
    assert max(batch.num_rows for batch in batches) <= 4
    assert [name for batch in batches for name in batch.column_names] == ["seq"] * len(batches)
    assert [seq for batch in batches for seq in batch["seq"].to_pylist()] == list(range(16))
    assert list(journal_rows(tmp_path, pattern=OPEN_SENDS)) == [{"producer": 1, "seq": 90}]
    assert list(journal_rows(tmp_path / "nothing")) == []


def test_a_damaged_file_is_named_and_what_came_before_it_is_read(tmp_path: Path) -> None:
    write_part(tmp_path, "part-00000.parquet", range(3))
    (tmp_path / "part-00001.parquet").write_bytes(b"PAR1 and then nothing")
    batches = journal_batches(tmp_path)
    assert next(batches).num_rows == 3
    with pytest.raises(JournalError, match="a journal cannot be read") as refused:
        next(batches)
    assert refused.value.where == str(tmp_path / "part-00001.parquet")
    assert refused.value.found
    assert "\n" not in refused.value.found


def test_a_missing_column_or_journal_of_faults_is_an_error(tmp_path: Path) -> None:
    write_part(tmp_path, "part-00000.parquet", range(3))
    with pytest.raises(JournalError, match="outcome"):
        list(journal_batches(tmp_path, ["seq", "outcome"]))
    with pytest.raises(JournalError) as refused:
        fault_events(tmp_path)
    assert refused.value.where == str(tmp_path / FAULTS_FILE)
