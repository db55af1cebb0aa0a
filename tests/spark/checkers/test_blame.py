"""The faults in sentences about findings: open at the acknowledgement, and begun after it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from checkers.findings.fault_windows import open_windows, split_windows
from harness.model.fault_times import fault_times
from harness.model.run import ReaderInfo
from tests.spark.conftest import Check
from tests.support.history import T0, History, run_meta, sample, window

pytestmark = pytest.mark.spark


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
    summary, rows = check(history, meta=run_meta(windows=windows), samples=[sample(1, 1, 1, 3)])
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
    summary, _ = check(history, meta=meta, samples=[sample(1, 1, 1, 3)])
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


def test_the_columns_are_those_of_the_pure_rule() -> None:
    draw = random.Random(17)
    windows = []
    for number in range(12):
        begin = draw.randrange(20)
        end = None if number % 5 == 4 else begin + draw.randrange(8)
        windows.append(window(f"kill-{number}", begin / 1e9, None if end is None else end / 1e9))
    times = [(T0 + sent, T0 + sent + late) for sent in range(20) for late in range(12)]
    sent, closed = (np.array(column) for column in zip(*times, strict=True))
    lost, vanished = np.ones(len(times), bool), np.zeros(len(times), bool)
    during = open_windows(windows, sent, closed, lost)
    told = [
        labels.array().to_pylist() for labels in split_windows(windows, sent, closed, lost, vanished, during)
    ]
    for (at, reported), *texts in zip(times, *told, strict=True):
        expected = fault_times(windows, at, reported)
        assert texts == [" + ".join(names) for names in (expected.ended, expected.open, expected.later)]
