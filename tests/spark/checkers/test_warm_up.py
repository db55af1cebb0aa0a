"""The run that warms an engine up has what a usual run has."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.warm_up import warm, write_tiny_run
from harness.model.finding_class import FindingClass
from harness.model.run import RunMeta
from tests.support.history import findings_of

pytestmark = pytest.mark.spark


def test_it_has_the_usual_findings_of_the_final_read_and_of_a_reader(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_tiny_run(tmp_path)
    summary = check_run(spark, tmp_path)
    assert summary.problems == ()
    assert summary.findings == {
        FindingClass.LOST: 1,
        FindingClass.DUPLICATE: 1,
        FindingClass.RECOVERED: 1,
        FindingClass.REJECTED_PRESENT: 1,
        FindingClass.UNCONFIRMED_ABSENT: 1,
    }
    assert summary.outcomes == {"acked": 4, "indeterminate": 2, "rejected": 1, "unconfirmed": 1}
    assert RunMeta.load(tmp_path).readers[0].records == 6
    (lost,) = (row for row in findings_of(tmp_path) if row["finding"] == "lost")
    assert lost["seq"] == 3


def test_it_leaves_nothing_behind(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    warm(spark)
    assert list(tmp_path.iterdir()) == []
