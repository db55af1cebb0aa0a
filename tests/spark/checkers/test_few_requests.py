"""How often a check asks the engine: a number that depends on what kinds of journals there are, not on their
size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from harness.model.finding_class import FindingClass
from harness.model.run import ReaderInfo
from tests.support.history import History, run_meta, sample, write_run

pytestmark = pytest.mark.spark

READERS = (ReaderInfo(name="alone"), ReaderInfo(name="member", group="group", committed=True))


@pytest.fixture
def executed(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each plan or command that the engine has been asked to execute."""
    client: Any = spark.client
    asked: list[object] = []
    for name in ("_execute", "_execute_and_fetch_as_iterator"):
        # Each execution, of a command without rows or a plan with rows, is one call of one of them.
        original = getattr(client, name)

        def counted(*arguments: Any, _original: Any = original, **options: Any) -> Any:
            asked.append(arguments)
            return _original(*arguments, **options)

        monkeypatch.setattr(client, name, counted)
    return asked


def _history(records: int, *, readers: bool) -> History:
    history = History()
    for seq in range(records):
        history.send(seq, at=seq, key=seq % 7)
        if seq % 3:
            history.read(seq, at=seq, key=seq % 7)
            history.replica(1, seq, at=seq).replica(2, seq + seq % 2, at=seq)
        if readers and seq % 4:
            history.give(seq, at=seq, reader="alone", key=seq % 7)
            history.give(seq, at=seq, reader="member", key=seq % 7)
    return history


def test_what_is_executed_is_counted(spark: SparkSession, executed: list[object], tmp_path: Path) -> None:
    rows = spark.range(3)
    _ = rows.schema
    assert len(executed) == 0, "a plan that is only analysed is not executed"
    rows.collect()
    rows.toArrow()
    rows.write.parquet((tmp_path / "rows").as_uri())
    assert len(executed) == 3


@pytest.mark.parametrize("case", ["clean", "lost", "readers"])
def test_a_check_asks_seldom_and_not_more_often_for_more_records(
    spark: SparkSession, executed: list[object], tmp_path: Path, case: str
) -> None:
    # The first check of a session asks for the engine's name and version.
    check_run(spark, write_run(_new(tmp_path / "first"), History().send(0, at=0)))
    asked = []
    for records in (40, 400):
        folder = _new(tmp_path / str(records))
        if case == "clean":
            history = History()
            for seq in range(records):
                history.send(seq, at=seq).read(seq, at=seq)
            write_run(folder, history)
        else:
            meta = run_meta(readers=READERS if case == "readers" else ())
            history = _history(records, readers=case == "readers")
            write_run(folder, history, meta=meta, samples=[sample(1, 1, 1, 4)], row_group=5)
        executed.clear()
        assert check_run(spark, folder).problems == ()
        asked.append(len(executed))
    assert asked[0] == asked[1]
    assert asked[0] <= MOST[case], asked


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


MOST = {"clean": 6, "lost": 16, "readers": 20}


def test_the_runs_have_what_is_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    meta = run_meta(readers=READERS, topic_config={"cleanup.policy": "compact"})
    write_run(tmp_path, _history(60, readers=True), meta=meta)
    found = set(check_run(spark, tmp_path).findings)
    assert {
        *(FindingClass.LOST, FindingClass.DIVERGED, FindingClass.SKIPPED, FindingClass.COMPACTED)
    } <= found
