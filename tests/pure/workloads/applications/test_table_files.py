"""Which files make up a table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.model.errors import JournalError
from workloads.applications.table_files import SPARK_LOG, table_files

pytestmark = pytest.mark.pure


def _touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def _log(folder: Path, batch: str, *entries: tuple[str, str]) -> None:
    lines = [json.dumps({"path": (folder / name).as_uri(), "action": action}) for name, action in entries]
    path = folder / SPARK_LOG / batch
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["v1", *lines]))


def _names(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in table_files(folder)]


def test_without_a_log_all_files_count_but_hidden_ones(tmp_path: Path) -> None:
    _touch(tmp_path, "b.parquet", "day=1/a.parquet", "_SUCCESS", ".b.parquet.crc", "_temporary/0/c.parquet")
    assert _names(tmp_path) == ["b.parquet", "day=1/a.parquet"]
    assert table_files(tmp_path / "absent") == []


def test_files_that_spark_did_not_commit_do_not_count(tmp_path: Path) -> None:
    _touch(tmp_path, "0.parquet", "1.parquet", "written twice.parquet", "not committed.parquet")
    _log(tmp_path, "0", ("0.parquet", "add"))
    _log(tmp_path, "1", ("written twice.parquet", "add"), ("1.parquet", "add"))
    (tmp_path / SPARK_LOG / ".1.crc").touch()
    assert _names(tmp_path) == ["0.parquet", "written twice.parquet", "1.parquet"]


def test_a_compacted_batch_holds_all_before_it(tmp_path: Path) -> None:
    for number in range(9):
        _log(tmp_path, str(number), (f"{number}.parquet", "add"))
    everything = [(f"{number}.parquet", "add") for number in range(10)]
    _log(tmp_path, "9.compact", *everything)
    _log(tmp_path, "10", ("10.parquet", "add"), ("3.parquet", "delete"))
    assert _names(tmp_path) == [f"{number}.parquet" for number in range(11) if number != 3]


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    _log(tmp_path, "0", ("0.parquet", "add"))
    (tmp_path / SPARK_LOG / "1").write_text("v1\n{half")
    with pytest.raises(JournalError) as raised:
        table_files(tmp_path)
    assert "log of a table of Spark" in str(raised.value)
    (tmp_path / SPARK_LOG / "1").write_text("v7\n")
    with pytest.raises(JournalError, match="v7"):
        table_files(tmp_path)
