"""Retention goes by the time that its producer gave a record, unless the topic has that of the append."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.judgement.judge import judge
from harness.model.journal import SENDS
from harness.model.result import VerdictWord
from harness.model.run import ChangedConfig, FinalRead, RunMeta
from tests.support.history import (
    FINISHED,
    History,
    application,
    bounds,
    findings_of,
    ns,
    run_meta,
    write_part,
    write_run,
)

pytestmark = pytest.mark.spark

START = 10
HOUR = 3600.0
TWO_HOURS = {"retention.ms": "7200000"}
BY_APPEND = {**TWO_HOURS, "message.timestamp.type": "LogAppendTime"}
CASES: dict[str, tuple[dict[str, str], Callable[[History], object], str]] = {
    "sent just now with a time of five hours ago": (
        TWO_HOURS,
        lambda h: h.send(0, at=START - 1, sent=40, stamp=-5 * HOUR),
        "expired",
    ),
    "exactly as old as the retention": (
        TWO_HOURS,
        lambda h: h.send(0, at=START - 1, sent=40, stamp=FINISHED - 2 * HOUR),
        "expired",
    ),
    "a millisecond younger": (
        TWO_HOURS,
        lambda h: h.send(0, at=START - 1, sent=40, stamp=FINISHED - 2 * HOUR + 0.001),
        "lost",
    ),
    "without a time of its own": (TWO_HOURS, lambda h: h.send(0, at=START - 1, sent=40), "lost"),
    "at the log start": (TWO_HOURS, lambda h: h.send(0, at=START, sent=40, stamp=-5 * HOUR), "lost"),
    "the topic has the time of the append": (
        BY_APPEND,
        lambda h: h.send(0, at=START - 1, sent=40, stamp=-5 * HOUR),
        "lost",
    ),
    "the topic has the time of the append, and the append is old": (
        BY_APPEND,
        lambda h: h.send(0, at=START - 1, sent=-3 * HOUR, closed=-3 * HOUR, stamp=1),
        "expired",
    ),
    "sent long ago with a time of just now": (
        TWO_HOURS,
        lambda h: h.send(0, at=START - 1, sent=-3 * HOUR, closed=-3 * HOUR, stamp=1),
        "lost",
    ),
    "no retention by age": (
        {"retention.ms": "-1"},
        lambda h: h.send(0, at=START - 1, sent=40, stamp=-5 * HOUR),
        "lost",
    ),
    "deleted by size, with a time in the far future": (
        {"retention.bytes": "1000"},
        lambda h: h.send(0, at=START - 1, sent=40, stamp=7e9),
        "expired",
    ),
}


def meta_of(config: dict[str, str]) -> RunMeta:
    final = FinalRead(
        complete=True,
        bounds=(bounds(0, START, 100),),
        finished_ns=ns(FINISHED),
        replicas_inspected=(1, 2, 3),
    )
    return run_meta(topic_config=config, final_read=final)


@pytest.mark.parametrize("name", CASES)
def test_the_age_of_a_record(spark: SparkSession, tmp_path: Path, name: str) -> None:
    config, tell, finding = CASES[name]
    history = History().send(1, at=30).read(1, at=30)
    tell(history)
    meta = meta_of(config)
    summary = check_run(spark, write_run(tmp_path, history, meta=meta))
    (row,) = findings_of(tmp_path)
    assert row["finding"] == finding
    assert (judge(meta, summary).verdict is VerdictWord.VALID) == (finding == "expired")


def test_the_sentence_names_the_time(spark: SparkSession, tmp_path: Path) -> None:
    history = History().send(0, at=9, stamp=-5 * HOUR)
    check_run(spark, write_run(tmp_path, history, meta=meta_of(TWO_HOURS)))
    (row,) = findings_of(tmp_path)
    assert row["detail"] == (
        "acknowledged at offset 9 of t-0, below the log start offset 10; retention may delete it, to which "
        "its producer gave the timestamp 1699982000000"
    )


def test_either_time_counts_if_the_setting_was_changed(spark: SparkSession, tmp_path: Path) -> None:
    changed = ChangedConfig(config={"message.timestamp.type": "LogAppendTime"}, until_ns=ns(60))
    history = (
        History().send(0, at=8, stamp=-5 * HOUR).send(1, at=9, sent=-3 * HOUR, closed=-3 * HOUR, stamp=1)
    )
    meta = meta_of(TWO_HOURS).model_copy(update={"changed_configs": (changed,)})
    check_run(spark, write_run(tmp_path, history, meta=meta))
    assert [row["finding"] for row in findings_of(tmp_path)] == ["expired", "expired"]


def test_inputs_with_old_times_have_expired(spark: SparkSession, tmp_path: Path) -> None:
    """They were acknowledged and deleted, so their outputs are not premature, and are asked for."""
    history = History().send(0, at=0, sent=90, stamp=-5 * HOUR).output(0, at=0, made=91)
    history.send(1, at=1, sent=90, stamp=-5 * HOUR).send(2, at=2, sent=90).output(2, at=1, made=91)
    meta = meta_of(TWO_HOURS).model_copy(update={"application": application()})
    summary = check_run(spark, write_run(tmp_path, history, meta=meta))
    rows = [(row["finding"], row["seq"], row["place"]) for row in findings_of(tmp_path)]
    assert rows == [
        ("expired", 0, None),
        ("expired", 1, None),
        ("unprocessed", 1, "expired"),
        ("lost", 2, "unknown"),
        ("premature", 2, "not in the log"),
    ]
    assert (summary.inputs, summary.processed) == (2, 1)


def test_sends_of_an_earlier_folder_lack_the_column(spark: SparkSession, tmp_path: Path) -> None:
    history = History().send(0, at=9, stamp=-5 * HOUR)
    write_run(tmp_path, history, meta=meta_of(TWO_HOURS))
    part = tmp_path / "sends" / "part-00000.parquet"
    rows = pq.read_table(part).drop_columns("timestamp_ms").to_pylist()
    write_part(part, rows, pa.schema([field for field in SENDS if field.name != "timestamp_ms"]))
    assert check_run(spark, tmp_path).problems == ()
    assert [row["finding"] for row in findings_of(tmp_path)] == ["lost"]
