"""Faults that hit nothing of an arm: what counts as met, and that such a run proves nothing."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from checkers.journals.views import Views
from checkers.judgement.judge import judge
from checkers.records.idle import idle_faults
from checkers.registry import load_whole_run
from harness.model.result import VerdictWord
from harness.model.run import ReaderInfo, RunMeta
from tests.support.history import Check, History, run_meta, step, window, write_run
from tests.support.random_histories import examples, many

pytestmark = pytest.mark.spark

KILL = (window("kill-1", 10, 20),)
STEPS = (step(0, "write", 0, 50),)


def sent(*times: tuple[float, float | None]) -> History:
    """Records that were sent and acknowledged at these seconds, and read at the end."""
    history = History()
    for seq, (begun, closed) in enumerate(times):
        outcome = "indeterminate" if closed is None else "acked"
        history.send(seq, outcome, at=None if closed is None else seq, sent=begun, closed=closed)
        if closed is not None:
            history.read(seq, at=seq)
    return history


MET = {
    "sent while it was open": sent((1, 2), (11, 12)),
    "sent before and acknowledged while it was open": sent((9, 11)),
    "acknowledged at the moment in which it began": sent((1, 10)),
    "sent at the moment in which it was undone": sent((20, 30)),
    "waited for from before its begin to after its end": sent((9, 30)),
    "never reported": sent((1, 2), (3, None)),
    "given to a live reader meanwhile": sent((1, 2)).give(0, at=0, read=15),
}
NOT_MET = {
    "everything had been acknowledged": sent((1, 2), (8, 9.8)),
    "everything was sent after it": sent((20.2, 21), (30, 31)),
    "before and after it, and nothing in it": sent((1, 9.8), (20.2, 30)),
    "a live reader was given records before and after": sent((1, 2), (1, 2))
    .give(0, at=0, read=9.8)
    .give(1, at=1, read=20.2),
}


def meta_of(**changes: Any) -> RunMeta:
    return run_meta(windows=KILL, steps=STEPS, readers=(ReaderInfo(name="live"),), **changes)


@pytest.mark.parametrize("name", MET)
def test_a_fault_that_met_something(check: Check, name: str) -> None:
    meta = meta_of()
    summary, _ = check(MET[name], meta=meta)
    assert summary.idle_faults == ()
    assert not any("hit nothing" in reason for reason in judge(meta, summary).reasons)


@pytest.mark.parametrize("name", NOT_MET)
def test_a_fault_that_hit_nothing_proves_nothing(check: Check, name: str) -> None:
    meta = meta_of()
    summary, _ = check(NOT_MET[name], meta=meta)
    assert summary.idle_faults == ("kill-1",)
    judgement = judge(meta, summary)
    assert judgement.verdict is VerdictWord.UNKNOWN
    assert judgement.as_promised is None
    assert "kill-1 hit nothing of this arm" in judgement.reasons[0]


def test_a_loss_is_a_loss_whatever_the_fault_hit(check: Check) -> None:
    meta = meta_of()
    summary, _ = check(sent((1, 2)).send(7, sent=2, closed=3), meta=meta)
    assert summary.idle_faults == ("kill-1",)
    assert judge(meta, summary).verdict is VerdictWord.INVALID


def test_it_may_be_allowed(check: Check) -> None:
    meta = meta_of(promise={"idle": "any"})
    summary, _ = check(sent((1, 2)), meta=meta)
    assert summary.idle_faults == ("kill-1",)
    assert judge(meta, summary).verdict is not VerdictWord.UNKNOWN


@pytest.mark.parametrize(
    ("steps", "windows"),
    [
        ((step(0, "write", 0, 9.9),), KILL),
        ((step(0, "write", 20.1, 50),), KILL),
        ((step(0, "wait", 0, 50, kind="wait"),), KILL),
        (STEPS, (window("kill-1", 10, 20, verified=False),)),
    ],
    ids=["after the step", "before the step", "not a write step", "not shown"],
)
def test_a_fault_that_was_not_to_meet_writes(check: Check, steps: Any, windows: Any) -> None:
    summary, _ = check(sent((1, 2)), meta=run_meta(windows=windows, steps=steps))
    assert summary.idle_faults == ()


def test_each_fault_by_itself(check: Check) -> None:
    windows = (window("late", 40, None), window("kill-1", 10, 20), window("cut-1", 1, 3))
    summary, _ = check(sent((1, 2), (25, 26)), meta=run_meta(windows=windows, steps=STEPS))
    assert summary.idle_faults == ("kill-1", "late")


halves = st.integers(0, 40)


@many(examples(40))
@given(
    st.lists(st.tuples(halves, st.none() | halves), min_size=1, max_size=6),
    st.lists(st.tuples(halves, st.none() | halves), min_size=1, max_size=4),
)
def test_same_as_a_plain_line(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    sends: list[tuple[int, int | None]],
    faults: list[tuple[int, int | None]],
) -> None:
    times = [(begun / 2, None if took is None else (begun + took) / 2) for begun, took in sends]
    # A quarter second beside them: times that are equal are tried above.
    open_times = [
        (begun / 2 + 0.25, None if took is None else (begun + took) / 2 + 0.25) for begun, took in faults
    ]
    windows = tuple(window(f"f-{number}", *one) for number, one in enumerate(open_times))
    meta = run_meta(windows=windows, steps=(step(0, "write", 0, 90),))
    folder = write_run(tmp_path_factory.mktemp("run"), sent(*times), meta=meta)
    told = idle_faults(Views.of(spark, load_whole_run(folder)), ())
    shutil.rmtree(folder)
    plainly = {
        f"f-{number}"
        for number, (opened, healed) in enumerate(open_times)
        if not any(
            (healed is None or begun <= healed) and (closed is None or closed >= opened)
            for begun, closed in times
        )
    }
    assert set(told) == plainly
