"""Reports of sends: counts by outcome and step, and the longest stretch without a success report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from checkers.journals.topic_partition import topic_partition
from checkers.judgement.summary import Reports
from checkers.records.reports import SHORTEST_NS, reports_of
from harness.model.journal import READS, SENDS
from harness.model.run import StepInfo
from tests.support.builders.frames import frame
from tests.support.history import RUN, TOPIC, History, Row, ns, run_meta, step
from tests.support.random_histories import examples, many

pytestmark = pytest.mark.spark

STEPS = (step(0, "first", 0, 10), step(1, "second", 20, 30), step(2, "wait", 30, 90, kind="wait"))
Told = Callable[..., Reports]


@pytest.fixture(scope="module")
def told(spark: SparkSession) -> Told:
    """told(sends, steps, reads, partitions) -> the reports of these sends."""

    def run(
        sends: Sequence[Row],
        steps: tuple[StepInfo, ...] = STEPS,
        reads: Sequence[Row] = (),
        partitions: int = 2,
    ) -> Reports:
        rows = frame(spark, sends, SENDS).withColumn("topic_partition", topic_partition((TOPIC,)))
        rows = rows.withColumn("run", F.lit(RUN).cast("bigint"))
        read = frame(spark, reads, READS).withColumn("topic_partition", topic_partition((TOPIC,)))
        return reports_of(rows, read, run_meta(steps=steps, partitions=partitions))

    return run


def _acked(*closed: float, **options: Any) -> History:
    """Sends acknowledged at these seconds, each sent half a second before."""
    history = History()
    for seq, at in enumerate(closed):
        history.send(seq, sent=at - 0.5, closed=at, **options)
    return history


CASES = {
    "between two reports": (_acked(1, 2, 7.5, 8), 5.5),
    "less than a second counts as none": (_acked(1, 1.999, 2.998), 0.0),
    "a second counts": (_acked(1, 2), 1.0),
    "reports a nanosecond either side of a whole second": (_acked(1.999999999, 2, 2.9), 0.0),
    "from the first send to the first report": (History().send(0, sent=1, closed=4), 3.0),
    "from the last success to a later error": (
        _acked(1).send(1, "indeterminate", sent=1.5, closed=6),
        5.0,
    ),
    "an error report does not end a stretch": (
        _acked(1, 9).send(2, "indeterminate", sent=1, closed=5),
        8.0,
    ),
    "unconfirmed reports are success too": (_acked(1, 1.5, 2.25, outcome="unconfirmed"), 0.0),
    "no success at all": (History().send(0, "indeterminate", sent=1, closed=7), 6.0),
    "without any report, to the end of the step": (
        History().send(0, "indeterminate", sent=4, closed=None),
        6.0,
    ),
    "the end of the step counts only where a send was left open": (_acked(1), 0.0),
    "a success without a time is no success": (
        _acked(1, 3).send(2, sent=1, closed=None),
        7.0,
    ),
    "not from one step to the next": (
        _acked(1, 2).send(2, step=1, sent=20, closed=20.5).send(3, step=1, sent=20, closed=21.75),
        1.25,
    ),
    "not from one partition to another": (_acked(1, 5).send(2, partition=1, sent=2.5, closed=3), 4.0),
    "only in write steps": (_acked(31, 45, step=2), None),
    "in steps that are known": (_acked(31, 45, step=7), None),
    "nothing sent": (History(), None),
}
NOBODY = {"partition": -1}
"""The client has not named the partition."""
UNNAMED = {
    "the producer as a whole": (_acked(1, 5, **NOBODY), 4.0),
    "failed sends of it, to their reports": (
        _acked(1, **NOBODY).send(1, "indeterminate", sent=1.5, closed=6, **NOBODY),
        5.0,
    ),
    "every other producer by itself": (
        _acked(1, 2, **NOBODY).send(0, producer=1, sent=1, closed=8, **NOBODY),
        7.0,
    ),
    "a success in any partition ends it": (
        _acked(1, 5, **NOBODY).send(2, sent=1, closed=3, **NOBODY),
        2.0,
    ),
    "the partition where it was read, while it was open": (
        _acked(1, 2, 3, 4, 5, **NOBODY)
        .send(5, sent=1, closed=5, **NOBODY)
        .read(0, at=0)
        .read(1, at=1)
        .read(2, at=2)
        .read(3, at=3)
        .read(4, at=4)
        .read(5, at=0, partition=1),
        4.0,
    ),
    "a partition that the client leaves out is available": (
        _acked(1, 2, 3, 4, 5, **NOBODY)
        .read(0, at=0, partition=1)
        .read(1, at=0)
        .read(2, at=1)
        .read(3, at=2)
        .read(4, at=1, partition=1),
        1.0,
    ),
    "of named and unnamed sends the longest": (_acked(1, 2, **NOBODY).send(2, sent=3, closed=9), 6.0),
    "without times nothing is known of it": (
        History().send(0, sent=1, closed=None, step=7, **NOBODY),
        None,
    ),
}


@pytest.mark.parametrize("name", UNNAMED)
def test_unavailable_seconds_of_a_client_that_names_no_partition(told: Told, name: str) -> None:
    history, seconds = UNNAMED[name]
    found = told(history.sends, reads=history.reads).unavailable_seconds
    assert found is seconds is None or found == pytest.approx(seconds, abs=1e-12)


def test_a_partition_that_is_not_named_is_the_only_one(told: Told) -> None:
    history = _acked(1, 2, **NOBODY).send(2, sent=2, closed=9)
    assert told(history.sends, partitions=1).unavailable_seconds == pytest.approx(7.0)
    # Both are of partition 0 then: what the named send waits for, another one of the partition gets.
    history.send(3, sent=4, closed=5, **NOBODY)
    assert told(history.sends, partitions=1).unavailable_seconds == pytest.approx(4.0)
    assert told(history.sends, partitions=2).unavailable_seconds == pytest.approx(7.0)


@pytest.mark.parametrize("name", CASES)
def test_unavailable_seconds(told: Told, name: str) -> None:
    history, seconds = CASES[name]
    found = told(history.sends).unavailable_seconds
    assert found is seconds is None or found == pytest.approx(seconds, abs=1e-12)


def test_a_step_without_an_end_is_as_long_as_its_reports(told: Told) -> None:
    history = _acked(1, 4).send(2, "indeterminate", sent=4, closed=None)
    unended = (StepInfo(index=0, name="first", kind="write", started_ns=0, ended_ns=None),)
    assert told(history.sends, unended).unavailable_seconds == pytest.approx(3.0)


def test_without_write_steps_there_is_no_stretch(told: Told) -> None:
    found = told(_acked(1, 9).sends, ())
    assert (found.outcomes, found.unavailable_seconds) == ({"acked": 2}, None)


def test_times_at_the_ends_of_the_range_are_no_crash(told: Told) -> None:
    sends = _acked(1, 2, 3).sends
    for send, closed in zip(sends, (-(2**63), 2**63 - 2, 2**63 - 1), strict=True):
        send["closed_ns"] = closed
    # What does not fit into a bigint is left out; nothing wraps around to a number that is too large.
    found = told(sends)
    assert found.outcomes == {"acked": 3}
    assert 0 <= found.unavailable_seconds <= 2**63 / 1e9
    for send, closed in zip(sends, (sends[0]["sent_ns"], 2**63 - 2, 2**63 - 1), strict=True):
        send["closed_ns"] = closed
    longest = (2**63 - 2 - sends[0]["sent_ns"]) / 1e9
    assert told(sends).unavailable_seconds == pytest.approx(longest)


def test_outcomes_and_steps_are_counted(told: Told) -> None:
    history = _acked(1, 2, 3).send(3, "rejected").send(4, "indeterminate", closed=None)
    history.send(5, step=1).send(6, "pondered", step=1).send(7, step=9).send(8, partition=-1)
    rows = history.sends
    rows += [rows[0] | {"seq": 9, "step": None}, rows[0] | {"seq": 10, "outcome": None}]
    found = told(rows)
    assert found.outcomes == {"acked": 7, "rejected": 1, "indeterminate": 1, "pondered": 1, "none": 1}
    assert found.acked_by_step == {0: 4, 1: 1, 9: 1}
    assert found.sends == 11


quarters = st.integers(0, 60)
some_sends = st.lists(
    st.tuples(
        quarters,
        st.none() | quarters,
        st.sampled_from(["acked", "unconfirmed", "rejected", "indeterminate"]),
        st.sampled_from([0, 0, 0, 1, -1, -1]),
        st.sampled_from([0, 0, 0, 1, 2]),
        st.sampled_from([0, 0, 1]),
        st.sampled_from([None, 0, 1]),
    ),
    max_size=30,
)


@many(examples(60))
@given(some_sends, st.sampled_from([1, 2]))
def test_same_as_a_few_plain_lines(
    told: Told, drawn: list[tuple[int, int | None, str, int, int, int, int | None]], partitions: int
) -> None:
    history = History()
    for seq, (sent, later, outcome, partition, number, producer, read) in enumerate(drawn):
        closed = None if later is None else (sent + later) / 4
        history.send(
            seq,
            outcome,
            sent=sent / 4,
            closed=closed,
            partition=min(partition, partitions - 1),
            step=number,
            producer=producer,
        )
        if read is not None:
            history.read(seq, producer=producer, at=seq, partition=min(read, partitions - 1))
    found = told(history.sends, reads=history.reads, partitions=partitions)
    seconds = _plainly(history.sends, history.reads, partitions)
    assert found.unavailable_seconds is seconds is None or found.unavailable_seconds == pytest.approx(
        seconds, abs=1e-12
    )
    assert found.outcomes == Counter(send["outcome"] for send in history.sends)
    acked = [send["step"] for send in history.sends if send["outcome"] == "acked"]
    assert found.acked_by_step == Counter(acked)


def _plainly(sends: list[Row], reads: list[Row], partitions: int) -> float | None:
    if partitions == 1:
        sends = [send | {"partition": 0} for send in sends]
    read = {(row["producer"], row["seq"]): row["partition"] for row in reads}
    found: list[int] = []
    for one, ended in ((0, 10), (1, 30)):
        for partition in (0, 1):
            mine = [send for send in sends if (send["step"], send["partition"]) == (one, partition)]
            found += [_longest(mine, ended)] if mine else []
        unnamed = [send for send in sends if (send["step"], send["partition"]) == (one, -1)]
        for producer in (0, 1):
            mine = [send for send in unnamed if send["producer"] == producer]
            found += [_longest(mine, ended)] if mine else []
        for partition in (0, 1):
            found += _open(
                [send for send in unnamed if read.get((send["producer"], send["seq"])) == partition]
            )
    longest = max(found, default=None)
    return longest / 1e9 if longest is not None and longest >= SHORTEST_NS else longest and 0.0


def _open(sends: list[Row]) -> list[int]:
    """Of each success report how long it was waited for since the one before it, by the sends that are
    reported with it (within 2^29 ns)."""
    good = [send for send in sends if send["outcome"] in ("acked", "unconfirmed") and send["closed_ns"]]
    found, last = [], None
    for _, group in groupby(
        sorted(good, key=lambda one: one["closed_ns"]), lambda one: one["closed_ns"] >> 29
    ):
        rows = list(group)
        sent = min(row["sent_ns"] for row in rows)
        found.append(rows[0]["closed_ns"] - (sent if last is None else max(last, sent)))
        last = rows[-1]["closed_ns"]
    return found


def _longest(sends: list[Row], ended: float) -> int:
    """The longest stretch of one step and partition, by its definition."""
    if not sends:
        return 0
    ends = [send["closed_ns"] for send in sends if send["closed_ns"]]
    if any(send["closed_ns"] is None for send in sends):
        ends.append(ns(ended))
    good = [send["closed_ns"] for send in sends if send["outcome"] in ("acked", "unconfirmed")]
    points = [min(send["sent_ns"] for send in sends), *sorted(at for at in good if at)]
    gaps = [after - before for before, after in pairwise(points)]
    return int(max([*gaps, max(ends) - points[-1]]))
