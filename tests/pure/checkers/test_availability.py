"""The longest stretch without a success report, within one write step and partition."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.facts.availability import SHORTEST_NS, reports_of, unavailable_seconds
from checkers.facts.columns import NULL, OTHER, OUTCOMES, WIDTH, ColumnBatch
from harness.model.run import StepInfo
from tests.support.history import History, Row, ns, run_meta, step

pytestmark = pytest.mark.pure

STEPS = (step(0, "first", 0, 10), step(1, "second", 20, 30), step(2, "wait", 30, 90, kind="wait"))


def _reports(*closed: float, **options: object) -> History:
    """Sends acknowledged at these seconds, each sent half a second before."""
    history = History()
    for seq, at in enumerate(closed):
        history.send(seq, sent=at - 0.5, closed=at, **options)  # type: ignore[arg-type]
    return history


CASES = {
    "between two reports": (_reports(1, 2, 7.5, 8), 5.5),
    "less than a second counts as none": (_reports(1, 1.999, 2.998), 0.0),
    "a second counts": (_reports(1, 2), 1.0),
    "reports a nanosecond either side of a whole second": (_reports(1.999999999, 2, 2.9), 0.0),
    "from the first send to the first report": (History().send(0, sent=1, closed=4), 3.0),
    "from the last success to a later error": (
        _reports(1).send(1, "indeterminate", sent=1.5, closed=6),
        5.0,
    ),
    "an error report does not end a stretch": (
        _reports(1, 9).send(2, "indeterminate", sent=1, closed=5),
        8.0,
    ),
    "unconfirmed reports are success too": (_reports(1, 1.5, 2.25, outcome="unconfirmed"), 0.0),
    "no success at all": (History().send(0, "indeterminate", sent=1, closed=7), 6.0),
    "without any report, to the end of the step": (
        History().send(0, "indeterminate", sent=4, closed=None),
        6.0,
    ),
    "the end of the step counts only where a send was left open": (_reports(1), 0.0),
    "not from one step to the next": (
        _reports(1, 2).send(2, step=1, sent=20, closed=20.5).send(3, step=1, sent=20, closed=21.75),
        1.25,
    ),
    "not from one partition to another": (_reports(1, 5).send(2, partition=1, sent=2.5, closed=3), 4.0),
    "a partition that nobody knows": (_reports(1, 5, partition=-1), 0.0),
    "only in write steps": (_reports(31, 45, step=2), 0.0),
    "in steps that are known": (_reports(31, 45, step=7), 0.0),
    "nothing sent": (History(), 0.0),
}


@pytest.mark.parametrize("name", CASES)
def test_unavailable_seconds(name: str) -> None:
    history, seconds = CASES[name]
    told = reports_of(_rows(history.sends))
    assert unavailable_seconds(told, run_meta(steps=STEPS)) == pytest.approx(seconds)


def test_a_step_without_an_end_is_as_long_as_its_reports() -> None:
    told = reports_of(_rows(_reports(1, 4).send(2, "indeterminate", sent=4, closed=None).sends))
    unended = (StepInfo(index=0, name="first", kind="write", started_ns=0, ended_ns=None),)
    assert unavailable_seconds(told, run_meta(steps=unended)) == pytest.approx(3.0)


def test_times_at_the_ends_of_the_range_are_no_crash() -> None:
    rows = _rows(_reports(1, 2, 3).sends)
    rows.columns["closed_ns"][:] = [NULL + 1, 2**63 - 2, 2**63 - 1]
    since_sent = (2**63 - 2 - rows["sent_ns"][0]) / 1e9
    assert unavailable_seconds(reports_of(rows), run_meta(steps=STEPS)) == pytest.approx(since_sent)


quarters = st.integers(0, 60)
some_sends = st.lists(
    st.tuples(quarters, st.none() | quarters, st.sampled_from(["acked", "unconfirmed", "rejected"])),
    max_size=30,
)


@given(some_sends, st.randoms(use_true_random=False))
def test_blocks_together_tell_what_one_would(told: list[tuple[int, int | None, str]], random: object) -> None:
    """Whatever block a send is told in, and against the definition in a few plain lines."""
    history = History()
    for seq, (sent, closed, outcome) in enumerate(told):
        history.send(seq, outcome, sent=sent / 4, closed=None if closed is None else (sent + closed) / 4)
    blocks: list[list[Row]] = [[], [], []]
    for send in history.sends:
        random.choice(blocks).append(send)  # type: ignore[attr-defined]
    parts = [each for block in blocks for each in reports_of(_rows(block))]
    assert unavailable_seconds(parts, run_meta(steps=STEPS)) == pytest.approx(_plainly(history.sends))


def _plainly(sends: list[Row]) -> float:
    if not sends:
        return 0.0
    good = sorted(
        s["closed_ns"] for s in sends if s["closed_ns"] and s["outcome"] in ("acked", "unconfirmed")
    )
    ends = [send["closed_ns"] for send in sends if send["closed_ns"]]
    if any(send["closed_ns"] is None for send in sends):
        ends.append(ns(10))
    good = [send["closed_ns"] for send in sends if send["outcome"] in ("acked", "unconfirmed")]
    points = [min(send["sent_ns"] for send in sends), *sorted(at for at in good if at)]
    gaps = [after - before for before, after in pairwise(points)]
    gaps.append(max(ends) - points[-1])
    longest = max(gaps)
    return longest / 1e9 if longest >= SHORTEST_NS else 0.0


def _rows(sends: list[Row]) -> ColumnBatch:
    def column(name: str) -> list[int]:
        return [NULL if send[name] is None else send[name] for send in sends]

    outcome = [OUTCOMES.index(send["outcome"]) if send["outcome"] in OUTCOMES else OTHER for send in sends]
    columns = {
        "spot": [WIDTH + send["partition"] for send in sends],
        "step": column("step"),
        "outcome": outcome,
        "sent_ns": column("sent_ns"),
        "closed_ns": column("closed_ns"),
    }
    return ColumnBatch({name: np.array(values, np.int64) for name, values in columns.items()})
