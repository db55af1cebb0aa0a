"""What a caller does with a session of their own: the folder as a text, and rates of several runs.

`test_spark_versions.py` runs this on other versions of Spark, whose environments have what a check needs and
no more.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from checkers import check_run, rates_of_runs
from harness.model.finding_class import FindingClass
from tests.support.group_history import GroupHistory
from tests.support.history import History, findings_of, run_meta, write_run

pytestmark = pytest.mark.spark


def _run(folder: Path, history: History, **changes: object) -> str:
    folder.mkdir(parents=True)
    return str(write_run(folder, history, meta=run_meta(**changes)))


def test_folders_are_given_as_texts(spark: SparkSession, tmp_path: Path) -> None:
    folder = _run(tmp_path / "run", History().send(0, at=0).send(1, at=1).read(0, at=0))
    summary = check_run(spark, folder, results=str(tmp_path / "answers"))
    assert (summary.findings, summary.problems) == ({FindingClass.LOST: 1}, ())
    assert [row["finding"] for row in findings_of(tmp_path / "answers")] == ["lost"]


def test_rules_in_python_run_on_its_workers(spark: SparkSession, tmp_path: Path) -> None:
    """The answer to a group's last question lacks its last commit."""
    history = GroupHistory().own("a", 0, 40).give("a", 1, 0, 49).commit("a", 20, 2).commit("a", 50, 3)
    folder = history.answer(50, 4).answer(20, 6, broker=2).answer(20, 8, broker=2).write(tmp_path / "run")
    assert check_run(spark, str(folder)).findings[FindingClass.COMMIT_LOST] == 1


def test_rates(spark: SparkSession, tmp_path: Path) -> None:
    for number, (acks, lost) in enumerate([("1", 1), ("1", 0), ("all", 0)]):
        history = History()
        for seq in range(4):
            history.send(seq, at=seq, sent=1.0, closed=1.25)
            if seq >= lost:
                history.read(seq, at=seq)
        check_run(spark, _run(tmp_path / f"acks={acks}" / f"run {number}", history, acks=acks))
    rates = rates_of_runs(spark, str(tmp_path), ["acks"])
    assert rates.left_out == []
    names = ("acks", "runs", "runs_with_loss", "acked", "lost", "lost_per_million", "latency_p50_ms")
    assert [tuple(row[name] for name in names) for row in rates.rows] == [
        ("1", 2, 1, 8, 1, 125_000.0, 250.0),
        ("all", 1, 0, 4, 0, 0.0, 250.0),
    ]
