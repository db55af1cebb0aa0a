"""The faults in sentences about findings: open at the acknowledgement, and begun after it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from checkers.evidence.windows import open_windows, split_windows
from checkers.int64 import INT64_MAX
from harness.model.fault_times import fault_times
from harness.model.run import FaultWindow, ReaderInfo
from tests.support.history import T0, Check, History, run_meta, sample, window

pytestmark = pytest.mark.spark

LED_BY_1 = [sample(at, 1, 1, 3) for at in (1, 2)]
"""Broker 1 leads in epoch 3, and had done so by its second answer."""


def test_faults_that_began_after_the_last_acknowledgement_are_told_apart(check: Check) -> None:
    history = History()
    for seq in range(4):
        history.send(seq, at=seq, sent=10, closed=11 + seq / 10)
    history.send(4, at=4, sent=40, closed=41).read(4, at=4)
    windows = (
        window("cut-1", 1, 9.999999999),  # Ended 1 ns before the sends.
        window("pause-1", 5, 11.3),  # Ends with the last acknowledgement.
        window("kill-2", 11.300000001, 20),  # Begins 1 ns after it.
        window("partition-1", 30, None),
    )
    summary, rows = check(history, meta=run_meta(windows=windows), samples=LED_BY_1)
    assert summary.blame == (
        "4 lost: sent in write to partition 0, acknowledged by broker 1 in epoch 3 during pause-1, "
        "not in the log, gone after kill-2 + partition-1",
    )
    # The findings themselves name every fault since the send, as they always did.
    assert {row["windows"] for row in rows} == {"pause-1 + kill-2 + partition-1"}


def test_records_of_one_sentence_had_the_same_faults_open(check: Check) -> None:
    history = History()
    closed = {0: 10.999999999, 1: 11, 2: 12, 3: 12.000000001, 4: 13}
    for seq, at in closed.items():
        history.send(seq, at=seq, sent=10, closed=at)
    history.send(5, at=5, sent=12.000000001, closed=13)
    meta = run_meta(windows=(window("pause-1", 11, 12), window("kill-1", 20, 21)))
    summary, _ = check(history, meta=meta, samples=LED_BY_1)
    start = "sent in write to partition 0, acknowledged by broker 1 in epoch 3"
    assert summary.blame == (
        f"2 lost: {start} during pause-1, not in the log, gone after kill-1",
        f"2 lost: {start} after pause-1, not in the log, gone after kill-1",
        f"1 lost: {start}, not in the log, gone after kill-1",  # Sent 1 ns after the pause.
        f"1 lost: {start}, not in the log, gone after pause-1 + kill-1",  # Acknowledged 1 ns before it.
    )


def test_what_vanished_and_what_is_no_loss(check: Check) -> None:
    history = History().send(0, "unconfirmed", sent=10, closed=11).give(0, at=20)
    history.send(1, "indeterminate", sent=10, closed=None).give(1, at=21)
    history.send(2, at=2, sent=10, closed=11).read(2, at=2).read(2, at=3)
    meta = run_meta(
        windows=(window("cut-1", 1, 10), window("kill-1", 12, 13)), readers=(ReaderInfo(name="live"),)
    )
    summary, _ = check(history, meta=meta)
    start = "sent in write to partition 0"
    assert sorted(summary.blame) == [
        f"1 duplicate: {start}, during cut-1",
        f"1 vanished: {start}, during cut-1 + kill-1",
        f"1 vanished: {start}, during cut-1, gone after kill-1",
    ]


def test_without_faults_none_is_named(check: Check) -> None:
    summary, _ = check(History().send(0, at=0))
    assert summary.blame == ("1 lost: sent in write to partition 0, not in the log",)


def test_the_columns_are_those_of_the_pure_rule(spark: SparkSession) -> None:
    draw = random.Random(17)
    windows = []
    for number in range(12):
        begin = draw.randrange(20)
        end = None if number % 5 == 4 else begin + draw.randrange(8)
        windows.append(window(f"kill-{number}", begin / 1e9, None if end is None else end / 1e9))
    times: list[tuple[int | None, int | None]] = [
        (T0 + sent, T0 + sent + late) for sent in range(20) for late in range(12)
    ]
    times += [(T0 + sent, None) for sent in range(20)] + [(None, None)]
    asked = [(*both, finding) for both in times for finding in ("lost", "vanished", "duplicate", None)]
    rows = spark.createDataFrame(asked, "sent_ns bigint, closed_ns bigint, finding string")
    sent, closed, gone = F.col("sent_ns"), F.col("closed_ns"), F.col("finding").isin("lost", "vanished")
    rows = rows.withColumn("windows", open_windows(windows, sent, closed, gone))
    ended, at_report, later = split_windows(windows)
    found = rows.select(
        *(sent.alias("sent"), closed.alias("closed"), "finding", F.col("windows").alias("during")),
        *(ended.alias("ended"), at_report.alias("at_report"), later.alias("later")),
    ).collect()
    assert len(found) == len(asked) == 4 * 261
    for row in found:
        names, told = row["during"], (row["ended"], row["at_report"], row["later"])
        if row["sent"] is None:
            assert (names, told) == ("", ("", "", "")), row
            continue
        missing = row["finding"] in ("lost", "vanished")
        until = INT64_MAX if missing or row["closed"] is None else row["closed"]
        assert names == _open(windows, row["sent"], until), row
        if not missing or row["closed"] is None:
            assert told == ("", names, ""), row
            continue
        expected = fault_times(windows, row["sent"], row["closed"])
        assert told[2] == " + ".join(expected.later), row
        if row["finding"] == "lost":
            assert told[:2] == (" + ".join(expected.ended), " + ".join(expected.open)), row
        else:
            assert told[:2] == ("", _open(windows, row["sent"], row["closed"])), row


def _open(windows: Sequence[FaultWindow], sent: int, until: int) -> str:
    """The faults that were open at any time in [sent, until], in the order of the windows."""
    return " + ".join(
        one.name
        for one in windows
        if one.opened_ns <= until and (one.closed_ns is None or sent <= one.closed_ns)
    )


def test_without_windows_no_fault_is_named(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(T0, T0 + 1, "lost")], "sent_ns bigint, closed_ns bigint, finding string")
    windows = open_windows((), F.col("sent_ns"), F.col("closed_ns"), F.col("finding") == "lost")
    told = rows.withColumn("windows", windows).select("windows", *split_windows(())).collect()
    assert [tuple(row) for row in told] == [("", "", "", "")]
