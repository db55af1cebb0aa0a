"""The table of an application, read to its end as rows of outputs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.history import RUN
from workloads.applications import output_read
from workloads.applications.output_read import (
    OutputRead,
    TableRows,
    _Rows,
    line_rows,
    parquet_rows,
    read_output_table,
)
from workloads.applications.outputs.output_identity import IdentityKind, OutputIdentity
from workloads.applications.table_files import SPARK_LOG
from workloads.records.reader.digest import PartitionDigest
from workloads.records.record.identity import ValueBuilder

pytestmark = pytest.mark.pure

VALUES = [ValueBuilder(RUN, 0, 60, seed=1)(seq) for seq in range(8)]


def _read(
    folder: Path,
    rows_of: Callable[[Path], TableRows] = parquet_rows,
    identity: IdentityKind = "value",
) -> OutputRead:
    tables = [folder / "state-0" / "output", folder / "state-1" / "output"]
    return read_output_table(tables, rows_of, "output", OutputIdentity(identity), RUN, folder)


def _rows(folder: Path) -> list[tuple[int, int, str, int | None]]:
    table = pq.read_table(folder / "outputs").to_pylist()
    return [(row["partition"], row["offset"], row["state"], row["seq"]) for row in table]


def _write(path: Path, values: list[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"value": pa.array(values, pa.binary())}), path)


def test_files_of_all_instances_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_read, "_ROWS", 2)
    _write(tmp_path / "state-0" / "output" / "a.parquet", VALUES[:3])
    _write(tmp_path / "state-1" / "output" / "a.parquet", [VALUES[3], b"made up"])
    read = _read(tmp_path)
    assert read == OutputRead(5)
    assert read.complete
    assert _rows(tmp_path) == [
        (0, 0, "ok", 0),
        (0, 1, "ok", 1),
        (0, 2, "ok", 2),
        (1, 0, "ok", 3),
        (1, 1, "undecodable", None),
    ]


def test_what_the_log_of_spark_does_not_name_is_no_output(tmp_path: Path) -> None:
    folder = tmp_path / "state-0" / "output"
    for name, values in (("committed.parquet", VALUES[:2]), ("left-over.parquet", VALUES[2:4])):
        _write(folder / name, values)
    log = folder / SPARK_LOG / "0"
    log.parent.mkdir()
    # As Spark writes it in a container, whose paths are not those of this machine.
    entry = {"path": "file:///state/output/committed.parquet", "size": 1, "isDir": False, "action": "add"}
    log.write_text("v1\n" + json.dumps(entry))
    assert _read(tmp_path) == OutputRead(2)
    assert [row[3] for row in _rows(tmp_path)] == [0, 1]


def test_a_line_is_a_record(tmp_path: Path) -> None:
    path = tmp_path / "state-0" / "output" / "part.txt"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\n".join(value.hex().encode() for value in VALUES[:2]) + b"\r\nmade up")
    assert _read(tmp_path, line_rows) == OutputRead(3)
    assert _rows(tmp_path) == [(0, 0, "ok", 0), (0, 1, "ok", 1), (0, 2, "undecodable", None)]


def test_no_table_at_all_is_an_empty_one(tmp_path: Path) -> None:
    assert _read(tmp_path) == OutputRead(0)
    assert _rows(tmp_path) == []


def test_a_damaged_file_makes_the_read_incomplete(tmp_path: Path) -> None:
    path = tmp_path / "state-0" / "output" / "a.parquet"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no Parquet")
    read = _read(tmp_path)
    assert not read.complete
    assert read.reasons[0].startswith("the application's output could not be read: ")


def test_a_table_that_grows_while_it_is_read_is_incomplete(
    tmp_path: Path,
) -> None:
    _write(tmp_path / "state-0" / "output" / "a.parquet", VALUES[:1])

    def growing(path: Path) -> TableRows:
        _write(tmp_path / "state-0" / "output" / "b.parquet", VALUES[1:2])
        return parquet_rows(path)

    assert _read(tmp_path, growing).reasons == ("the application's output changed while it was read",)


def _digest(end: int, *gaps: tuple[int, int]) -> PartitionDigest:
    return PartitionDigest(0, end, 0, gaps, len(gaps), 0)


@pytest.mark.parametrize(
    ("digest", "got"),
    [
        (_digest(6), [0, 1, 2, 3, 4, 5]),
        (_digest(6, (1, 3), (4, 5)), [0, 3, 5]),
        # A transaction hangs: readers of committed records get no further.
        (_digest(3, (0, 1)), [1, 2]),
        (_digest(0), []),
    ],
)
def test_committed_is_what_the_read_of_committed_records_got(digest: PartitionDigest, got: list[int]) -> None:
    rows = _Rows(OutputIdentity("value"), RUN, {1: digest})
    flags = rows._got(1, np.arange(6))
    assert np.flatnonzero(flags).tolist() == got


def test_without_such_a_read_all_outputs_count() -> None:
    assert _Rows(OutputIdentity("value"), RUN, None)._got(1, np.arange(3)).all()
