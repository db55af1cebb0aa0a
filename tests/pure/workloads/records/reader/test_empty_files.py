"""Files of empty partitions, of which a topic may have thousands."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from harness.model.errors import JournalError
from harness.model.journal import READS
from workloads.records.reader.read_rows import PartitionFile, write_empty_files

pytestmark = pytest.mark.pure


def test_each_partition_has_a_file_like_that_of_a_partition_that_was_read(tmp_path: Path) -> None:
    write_empty_files(tmp_path / "reads", [3, 7, 100_000])
    PartitionFile(tmp_path / "alone", 3).close()
    found = sorted(path.name for path in (tmp_path / "reads").iterdir())
    assert found == ["part-00003.parquet", "part-00007.parquet", "part-100000.parquet"]
    for name in found:
        table = pq.read_table(tmp_path / "reads" / name)
        assert (table.num_rows, table.schema) == (0, READS)
        whole = (tmp_path / "alone" / "part-00003.parquet").read_bytes()
        assert (tmp_path / "reads" / name).read_bytes() == whole


def test_without_empty_partitions_nothing_is_made(tmp_path: Path) -> None:
    write_empty_files(tmp_path / "reads", [])
    assert not (tmp_path / "reads").exists()


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "part-00001.parquet" / "in the way").mkdir(parents=True)
    with pytest.raises(JournalError, match="cannot be written"):
        write_empty_files(tmp_path, [0, 1])
