"""Only faults that were in force when an application passed over an input, or repeated it, are blamed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness.model.run import FinalRead, RunMeta
from tests.support.history import FINISHED, History, application, bounds, event, ns, run_meta, window

pytestmark = pytest.mark.spark

Check = Callable[..., Any]
WINDOWS = (window("kill-1", 2, 10), window("cut-1", 20, 30))
ALL = "kill-1 + cut-1"
Made = tuple[float | None, ...]


def _meta(**of_application: Any) -> RunMeta:
    final = FinalRead(
        complete=True,
        bounds=(bounds(0, 0, 1000), bounds(1, 0, 1000)),
        finished_ns=ns(FINISHED),
        replicas_inspected=(1, 2, 3),
    )
    return run_meta(application=application(**of_application), final_read=final, windows=WINDOWS)


def _inputs(number: int, *, partition: int = 0, first: int = 0) -> History:
    """Inputs that were sent at 1 s, from offset 20 on."""
    history = History()
    for seq in range(first, first + number):
        history.send(seq, at=20 + seq, partition=partition).read(seq, at=20 + seq, partition=partition)
    return history


def _around(*made: float | None, missing: int = 1) -> History:
    """As many inputs as there are times, and one without an output behind the first of them."""
    history, behind = _inputs(len(made) + missing), False
    for place, time in enumerate(made):
        history.output(place + (missing if behind else 0), at=place, made=time)
        behind = True
    return history


def _disorder(first: float, second: float) -> History:
    """Input 1 has no output, between 12 s and 12.1 s; the outputs of inputs 3 and 4 have changed places."""
    history = _inputs(5).output(0, at=0, made=12).output(2, at=1, made=12.1)
    return history.output(4, at=2, made=first).output(3, at=3, made=second)


PASSED: dict[str, tuple[Callable[[], History], str, str | None]] = {
    "a fault was in force": (lambda: _around(3, 3.1), "kill-1", "between 3.000 s and 3.100 s"),
    "none was": (lambda: _around(12, 12.1), "", "between 12.000 s and 12.100 s"),
    "one ended a moment before": (lambda: _around(10.001, 12), "", "between 10.001 s and 12.000 s"),
    "one ended in that millisecond": (lambda: _around(10, 12), "kill-1", "between 10.000 s and 12.000 s"),
    "one began a moment after": (lambda: _around(19, 19.998), "", "between 19.000 s and 19.998 s"),
    "one began between the two": (lambda: _around(19, 20.001), "cut-1", "between 19.000 s and 20.001 s"),
    "both were in force between the two": (lambda: _around(3, 25), ALL, "between 3.000 s and 25.000 s"),
    "several in a row": (lambda: _around(12, 12.1, missing=3), "", "between 12.000 s and 12.100 s"),
    "nearer outputs count, not farther ones": (
        lambda: _inputs(4).output(0, at=0, made=3).output(1, at=1, made=12).output(3, at=2, made=13),
        "",
        "between 12.000 s and 13.000 s",
    ),
    "there is one before alone": (
        lambda: _inputs(2).output(0, at=0, made=12),
        "cut-1",
        "after 12.000 s",
    ),
    "there is one behind alone": (
        lambda: _inputs(2).output(1, at=0, made=12),
        "kill-1",
        "before 12.000 s",
    ),
    "without times": (lambda: _around(None, None), ALL, None),
    "without the time of the one before": (lambda: _around(None, 12.1), "kill-1", "before 12.100 s"),
    "without the time of the one behind": (lambda: _around(12, None), "cut-1", "after 12.000 s"),
    "one behind was written before the input was sent, which cannot be": (
        lambda: _around(0.2, 0.3),
        ALL,
        None,
    ),
    "outputs of another partition of the input say nothing": (
        lambda: (
            _inputs(1)
            .send(1, at=19, partition=1)
            .read(1, at=19, partition=1)
            .send(2, at=21, partition=1)
            .read(2, at=21, partition=1)
            .output(1, at=0, made=12)
            .output(2, at=1, made=12.1)
        ),
        ALL,
        None,
    ),
    "the output may have gone to either partition": (
        lambda: (
            _around(12, 12.1)
            .send(3, at=10)
            .read(3, at=10)
            .output(3, at=0, partition=1, made=9)
            .send(4, at=40)
            .read(4, at=40)
            .output(4, at=1, partition=1, made=14)
        ),
        "kill-1",
        "between 9.000 s and 14.000 s",
    ),
    "one processed twice was first processed in time": (
        lambda: _around(12, 12.1).output(0, at=7, made=25).output(2, at=8, made=25),
        "",
        "between 12.000 s and 12.100 s",
    ),
    "outputs in another order without a fault: inputs are processed side by side": (
        lambda: _disorder(12.2, 12.3),
        ALL,
        None,
    ),
    "outputs in another order during a fault: they were sent again": (
        lambda: _disorder(20.1, 20.2),
        "",
        "between 12.000 s and 12.100 s",
    ),
}


@pytest.mark.parametrize(
    ("name", "order"), [*((name, "none") for name in PASSED), ("none was", "partition"), ("none was", "key")]
)
def test_what_was_passed_over(check: Check, name: str, order: str) -> None:
    tell, windows, passed = PASSED[name]
    _, rows = check(tell(), meta=_meta(order=order))
    found = [row for row in rows if row["finding"] == "unprocessed"]
    assert {row["windows"] for row in found} == {windows}
    words = "" if passed is None else f"; by the outputs around it, it was passed over {passed} of the run"
    assert all(row["detail"].endswith(f" has no output{words}") for row in found)


def test_one_output_of_two_may_have_been_left_out_after_the_other(check: Check) -> None:
    history = _inputs(2)
    for at, (seq, made) in enumerate(((0, 12), (1, 12.1), (1, 12.2))):
        history.output(seq, at=at, made=made)
    _, (row,) = check(history, meta=_meta(outputs_per_input=2))
    assert (row["finding"], row["seq"], row["windows"]) == ("unprocessed", 0, "")


@pytest.mark.parametrize("skewed", [True, False])
def test_times_that_do_not_say_when_an_output_was_written_say_nothing(check: Check, skewed: bool) -> None:
    meta = _meta(output_times="broker" if skewed else "application")
    if skewed:
        skew = WINDOWS[1].model_copy(update={"kind": "clock_skew"})
        meta = meta.model_copy(update={"windows": (WINDOWS[0], skew)})
    _, (row,) = check(_around(12, 12.1), meta=meta)
    assert row["windows"] == ALL
    repeated = _inputs(1).output(0, at=0, made=12).output(0, at=1, made=13)
    _, (row,) = check(repeated, meta=meta)
    assert row["windows"] == ALL


REPEATED: dict[str, tuple[Made, str]] = {
    "a fault was in force between the outputs": ((12, 21), "cut-1"),
    "none was": ((12, 13), ""),
    "one ended a moment before the first": ((10.001, 12), ""),
    "one ended with the first": ((10, 12), "kill-1"),
    "one began after the last": ((12, 19.998), ""),
    "from the first to the last of three": ((12, 25, 13), "cut-1"),
    "without the time of one": ((12, None), "kill-1"),
    "without times": ((None, None), ALL),
}


@pytest.mark.parametrize("name", REPEATED)
def test_what_was_repeated(check: Check, name: str) -> None:
    made, windows = REPEATED[name]
    history = _inputs(1)
    for at, time in enumerate(made):
        history.output(0, at=at, made=time)
    _, (row,) = check(history, meta=_meta())
    assert (row["finding"], row["windows"]) == ("reprocessed", windows)


@pytest.mark.parametrize(("restarted", "reader"), [(11, None), (12.5, "instance 1"), (14, None)])
def test_an_instance_that_was_started_again_between_the_outputs_is_named(
    check: Check, restarted: float, reader: str | None
) -> None:
    history = _inputs(1).output(0, at=0, made=12).output(0, at=1, made=13)
    _, (row,) = check(history, meta=_meta(), events=(event(restarted, "restarted", instance=1),))
    assert row["reader"] == reader


def test_the_sentences_say_that_no_fault_was_in_force(check: Check) -> None:
    history = _inputs(6).output(0, at=0, made=12).output(2, at=1, made=12.1).output(3, at=2, made=19)
    history.output(5, at=3, made=21).output(3, at=4, made=19.5)
    summary, _ = check(history, meta=_meta())
    start = "sent in write to partition 0"
    assert sorted(summary.blame) == [
        f"1 reprocessed: {start}, no fault was in force between its first output and its last one",
        f"1 unprocessed: {start}, during cut-1",
        f"1 unprocessed: {start}, no fault was in force: the application passed over it",
    ]
    quiet, _ = check(_around(12, 12.1), meta=_meta().model_copy(update={"windows": ()}))
    assert quiet.blame == (f"1 unprocessed: {start}",)
