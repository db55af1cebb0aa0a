"""How much of Spark a check needs: nothing for a small run, a few jobs for others."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.judgement import partial
from harness.model.result import FindingClass
from harness.model.run import ReaderInfo
from tests.support.history import History, findings_of, run_meta, write_run

pytestmark = pytest.mark.spark


def with_losses(*, readers: bool) -> History:
    history = History()
    for seq in range(60):
        history.send(seq, at=seq, key=seq % 7)
        if seq % 3:
            history.read(seq, at=seq, key=seq % 7)
            history.replica(1, seq, at=seq).replica(2, seq + seq % 2, at=seq)
        if readers and seq % 4:
            history.give(seq, at=seq, reader="alone", key=seq % 7)
            history.give(seq, at=seq, reader="member", key=seq % 7)
    return history


def jobs(spark: SparkSession, folder: Path, name: str) -> int:
    context = spark.sparkContext
    context.setJobGroup(name, name)
    try:
        assert check_run(spark, folder, plan="blocks", block_rows=10, local_rows=0).problems == ()
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
    return len(context.statusTracker().getJobIdsForGroup(name))


def test_at_most_three_jobs_and_with_live_readers_five(spark: SparkSession, tmp_path: Path) -> None:
    for number, history in enumerate((History().send(0, at=0).read(0, at=0), with_losses(readers=False))):
        folder = tmp_path / str(number)
        folder.mkdir()
        write_run(folder, history, row_group=5)
        assert 1 <= jobs(spark, folder, f"without readers {number}") <= 3
    folder = tmp_path / "readers"
    folder.mkdir()
    readers = (ReaderInfo(name="alone"), ReaderInfo(name="member", group="group", committed=True))
    write_run(folder, with_losses(readers=True), meta=run_meta(readers=readers), row_group=5)
    assert 1 <= jobs(spark, folder, "with readers") <= 5


def test_a_small_run_starts_no_spark(tmp_path: Path) -> None:
    def asked() -> SparkSession:
        raise AssertionError("Spark was asked for")

    readers = (ReaderInfo(name="alone"), ReaderInfo(name="member", group="group", committed=True))
    meta = run_meta(readers=readers, topic_config={"cleanup.policy": "compact"})
    write_run(tmp_path, with_losses(readers=True), meta=meta)
    found = check_run(asked, tmp_path).findings
    assert {FindingClass.LOST, FindingClass.DIVERGED, FindingClass.SKIPPED, FindingClass.COMPACTED} <= set(
        found
    )


def test_more_cells_than_a_task_lists_are_counted_by_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History()
    for producer in range(30):
        for seq in range(producer % 3 + 1):
            history.send(seq, at=seq, producer=producer)
    write_run(tmp_path, history)
    expected = check_run(spark, tmp_path)
    rows = findings_of(tmp_path)
    monkeypatch.setattr(partial, "MOST_PART_CELLS", 29)
    counted = check_run(spark, tmp_path)
    assert counted.counts == expected.counts
    assert len(counted.counts) == 30
    assert findings_of(tmp_path) == rows
