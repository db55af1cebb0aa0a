"""Random histories, classified by Spark and by the plain-Python oracle: they agree on every record."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from checkers.check import check_run
from harness.model.run import FinalRead, PartitionBounds, RunMeta
from tests.spark.history import (
    FINISHED,
    OTHER_RUN,
    RUN,
    History,
    Row,
    bounds,
    findings_of,
    ns,
    run_meta,
    window,
    write_run,
)
from tests.spark.oracle import Told, classify, corrupt_values

pytestmark = pytest.mark.spark

SIDE_BY_SIDE = 40
"""Histories in one run, so that one Spark job answers for all: producers 10 and partitions 2 apart."""

small = st.integers(0, 2)
times = st.sampled_from([1.0, 4.0, 5.0, 8.0, 12.0, 39.0, 41.0])
sends = st.builds(
    dict,
    outcome=st.sampled_from(["acked", "acked", "unconfirmed", "rejected", "indeterminate"]),
    at=st.none() | st.integers(0, 5),
    partition=st.integers(0, 1),
    key=st.none() | small,
    sent=times,
    closed=st.none() | times,
    error=st.sampled_from([None, "_MSG_TIMED_OUT", "NOT_ENOUGH_REPLICAS"]),
)
reads = st.builds(
    dict,
    producer=small,
    seq=st.integers(0, 3),
    partition=st.integers(0, 1),
    at=st.integers(0, 5),
    key=st.none() | small,
    epoch=small,
    topic=st.sampled_from(["t", "t", "t", "u"]),
    state=st.sampled_from(["ok", "ok", "ok", "foreign", "corrupt"]),
)
replicas = st.builds(
    dict,
    broker=st.integers(1, 3),
    producer=small,
    seq=st.integers(0, 3),
    state=st.sampled_from(["ok", "corrupt"]),
)


@st.composite
def stories(draw: st.DrawFn) -> tuple[History, tuple[PartitionBounds, ...]]:
    """Up to six sends and as many reads, many of them of what was sent, the rest of anything."""
    history = History()
    for producer in (0, 1):
        for seq, options in enumerate(draw(st.lists(sends, max_size=3))):
            outcome = options.pop("outcome")
            history.send(seq, outcome, producer=producer, **options)
            if draw(st.booleans()):
                at, key = options["at"], options["key"]
                where = draw(st.integers(0, 5)) if at is None else at
                history.read(seq, producer=producer, partition=options["partition"], at=where, key=key)
    for options in draw(st.lists(reads, max_size=3)):
        run = OTHER_RUN if options["state"] == "foreign" else RUN
        history.read(options.pop("seq"), run=run, **options)
    for options in draw(st.lists(replicas, max_size=2)):
        history.replica(options.pop("broker"), options.pop("seq"), **options)
    ends = [(draw(st.integers(0, 3)), draw(st.integers(2, 6))) for _ in (0, 1)]
    return history, tuple(bounds(number, start, end) for number, (start, end) in enumerate(ends))


policies = st.sampled_from(
    [
        {},
        {"retention.ms": "60000"},
        {"retention.bytes": "1000"},
        {"retention.ms": "-1"},
        {"cleanup.policy": "compact", "retention.ms": "0"},
    ]
)


def _moved(history: History, index: int) -> History:
    """The same history among others: its producers and partitions shifted."""

    def shift(row: Row) -> Row:
        return row | {"producer": row["producer"] + 10 * index, "partition": row["partition"] + 2 * index}

    return History(
        sends=[shift(row) for row in history.sends],
        reads=[shift(row) for row in history.reads],
        replicas=[shift(row) for row in history.replicas],
    )


def _told(row: Row) -> Told:
    return Told(
        row["finding"],
        row["copies"],
        tuple(row["offsets"]),
        row["place"],
        tuple(row["held_by"] or ()),
        row["windows"],
    )


def _identity(row: Row) -> tuple[int, int, int]:
    foreign = row["finding"] == "phantom" and "another run" in row["detail"]
    return (OTHER_RUN if foreign else RUN, row["producer"], row["seq"])


@settings(
    max_examples=5,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(stories=st.lists(stories(), min_size=SIDE_BY_SIDE, max_size=SIDE_BY_SIDE), policy=policies)
def test_same_as_the_oracle(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    stories: list[tuple[History, tuple[PartitionBounds, ...]]],
    policy: dict[str, str],
) -> None:
    histories = [_moved(history, index) for index, (history, _) in enumerate(stories)]
    final = FinalRead(
        complete=True,
        bounds=tuple(
            bound.model_copy(update={"partition": bound.partition + 2 * index})
            for index, (_, both) in enumerate(stories)
            for bound in both
        ),
        finished_ns=ns(FINISHED),
    )
    meta = run_meta(
        topic_config=policy,
        final_read=final,
        windows=(window("a", 4, 8), window("b", 10, 40), window("c", 41, None)),
    )
    _compare(spark, tmp_path_factory.mktemp("random"), meta, histories)


def _compare(spark: SparkSession, folder: Path, meta: RunMeta, histories: list[History]) -> None:
    summary = check_run(spark, write_run(folder, *histories, meta=meta))
    rows = findings_of(folder)
    shutil.rmtree(folder)
    values = [row for row in rows if row["finding"] == "corrupt" and row["outcome"] is None]
    records = [row for row in rows if row not in values]
    expected = {identity: told for history in histories for identity, told in classify(meta, history).items()}
    assert {_identity(row): _told(row) for row in records} == expected
    assert len(records) == len(expected)
    bad = sum((corrupt_values(history) for history in histories), Counter())
    assert Counter((row["partition"], row["offsets"][0]) for row in values) == bad
    totals = Counter(told.finding for told in expected.values()) + Counter({"corrupt": bad.total()})
    assert {finding.value: count for finding, count in summary.findings.items()} == dict(totals)
    assert sum(cell.count for cell in summary.counts) == totals.total()
