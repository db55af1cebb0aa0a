"""Results in another place than the run, the final read from another journal, and the same as a job."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.job import run
from harness.model.errors import CheckError
from harness.model.finding_class import FindingClass
from harness.model.journal import READS
from tests.support.history import History, findings_of, write_part, write_run

pytestmark = pytest.mark.spark


def lossy() -> History:
    return History().send(0, at=0).send(1, at=1).read(0, at=0)


def test_results_lie_where_they_were_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    folder, results = tmp_path / "run", tmp_path / "deep" / "results"
    folder.mkdir()
    write_run(folder, lossy())
    before = sorted(path.relative_to(folder) for path in folder.rglob("*"))
    summary = run(str(folder), str(results), spark)
    assert summary.findings == {FindingClass.LOST: 1}
    assert [row["finding"] for row in findings_of(results)] == ["lost"]
    assert json.loads((results / "summary.json").read_text()) == json.loads(summary.model_dump_json())
    assert sorted(path.relative_to(folder) for path in folder.rglob("*")) == before


def test_a_place_that_cannot_be_written_to_is_told(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    write_run(folder, lossy())
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckError, match="the folder for the results of the check cannot be made"):
        check_run(spark, folder, results=tmp_path / "file" / "results")


def test_the_final_read_of_another_folder(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    write_run(folder, lossy())
    # The other journal has record 1 instead of record 0; as many rows, so it is as complete.
    write_part(tmp_path / "other" / "part-0.parquet", History().read(1, at=1).reads, READS)
    (tmp_path / "other" / "_SUCCESS").write_text("")
    summary = check_run(spark, folder, reads_folder=tmp_path / "other")
    assert summary.problems == ()
    assert [(row["finding"], row["seq"]) for row in findings_of(folder)] == [("lost", 0)]
    assert pq.read_table(folder / "reads").column("seq").to_pylist() == [0]
    short = check_run(spark, folder, reads_folder=tmp_path / "nothing").problems
    assert any("no reads journal" in problem for problem in short)
