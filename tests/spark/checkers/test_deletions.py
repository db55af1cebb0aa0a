"""What steps of an experiment delete is expired, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from harness.model.run import Deletion, FinalRead
from tests.support.history import FINISHED, TOPIC, History, bounds, findings_of, ns, run_meta, write_run

pytestmark = pytest.mark.spark

START = 10
DELETED = Deletion(topic=TOPIC, before=START, at_ns=ns(50) or 0)
RECREATED = Deletion(topic=TOPIC, before=None, at_ns=ns(50) or 0)
CASES: dict[str, tuple[Deletion | None, Callable[[History], object], str, str]] = {
    "below the new log start": (
        DELETED,
        lambda h: h.send(0, at=START - 1, sent=40),
        "expired",
        "below the log start offset 10; delete_records has deleted it",
    ),
    "the same without the step": (None, lambda h: h.send(0, at=START - 1, sent=40), "lost", ""),
    "at the new log start": (DELETED, lambda h: h.send(0, at=START, sent=40), "lost", ""),
    "above what the step deleted, though below the log start": (
        DELETED.model_copy(update={"before": START - 2}),
        lambda h: h.send(0, at=START - 1, sent=40),
        "lost",
        "",
    ),
    "of a partition of which a fault deleted it": (
        DELETED.model_copy(update={"partition": 0}),
        lambda h: h.send(0, at=START - 1, sent=40),
        "expired",
        "delete_records has deleted it",
    ),
    "of another partition than the fault deleted": (
        DELETED.model_copy(update={"partition": 1}),
        lambda h: h.send(0, at=START - 1, sent=40),
        "lost",
        "",
    ),
    "acknowledged without an offset": (DELETED, lambda h: h.send(0, sent=40), "lost", ""),
    "before the topic was created again": (
        RECREATED,
        lambda h: h.send(0, at=START + 5, sent=49),
        "expired",
        "before the topic was created again",
    ),
    "after the topic was created again": (
        RECREATED,
        lambda h: h.send(0, at=5, sent=51, closed=52),
        "lost",
        "",
    ),
    "acknowledged without an offset before the topic was created again": (
        RECREATED,
        lambda h: h.send(0, sent=48, closed=50),
        "expired",
        "acknowledged without an offset in t-0, before the topic was created again",
    ),
    "acknowledged without an offset after the topic was created again": (
        RECREATED,
        lambda h: h.send(0, sent=48, closed=51),
        "lost",
        "",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_deleted_by_a_step(spark: SparkSession, tmp_path: Path, name: str) -> None:
    deletion, tell, finding, detail = CASES[name]
    history = History()
    tell(history)
    # Another record, so that the place where the lost one was is known to be read.
    history.send(1, at=30).read(1, at=30)
    meta = run_meta(
        deletions=(deletion,) if deletion else (),
        final_read=FinalRead(
            complete=True,
            bounds=(bounds(0, START, 100),),
            finished_ns=ns(FINISHED),
            replicas_inspected=(1, 2, 3),
        ),
    )
    folder = write_run(tmp_path / "run", history, meta=meta)
    check_run(spark, folder)
    (row,) = findings_of(folder)
    assert row["finding"] == finding
    assert detail in row["detail"]
