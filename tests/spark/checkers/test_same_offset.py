"""Several success reports that name one offset: of one leader epoch at most one of them can be true."""

from __future__ import annotations

import pytest

from checkers.judgement.judge import judge
from harness.model.run import Deletion, FinalRead
from tests.support.history import FINISHED, Check, History, Row, bounds, ns, run_meta, sample

pytestmark = pytest.mark.spark

MOST_ONE = (
    "acknowledged at offset 7 of t-0; another record stands there now; 6 success reports name this offset, "
    "and at most one of them can be true, as a leader epoch gives an offset away once"
)


def ended_in(epoch: int) -> FinalRead:
    """A complete final read; the leader's epoch at the end."""
    end = bounds().model_copy(update={"leader_epoch": epoch})
    return FinalRead(complete=True, bounds=(end,), finished_ns=ns(FINISHED), replicas_inspected=(1, 2, 3))


def six(last: float = 6.0) -> History:
    """Six reports of offset 7, of which one is true; the last of them came at `last`."""
    history = History()
    for seq in range(6):
        history.send(seq, at=7, sent=1, closed=last if seq == 5 else 2)
    return history.read(3, at=7, epoch=0)


def test_more_reports_than_epochs_are_the_clients(check: Check) -> None:
    meta = run_meta(final_read=ended_in(0))
    summary, rows = check(six(), meta=meta)
    assert {row["detail"] for row in rows} == {MOST_ONE}
    assert [(row["reports"], row["true_reports"]) for row in rows] == [(6, 1)] * 5
    assert summary.same_offset == {"false": 5}
    assert summary.blame == (
        "5 lost: sent in write to partition 0, overwritten in epoch 0, at offsets that more success "
        "reports name than can be true",
    )
    assert judge(meta, summary).reasons == (
        "5 acknowledged records are lost (5 overwritten)",
        "5 of the lost records: more success reports name the offset than there were leader epochs, "
        "each of which gives an offset away once, so some are false: "
        "look at the client and its sequence numbers",
    )


def test_samples_say_in_how_many_epochs_the_reports_came(check: Check) -> None:
    """The leader changed three times, but not between these reports."""
    changes = ((0, 1, 0), (9, 1, 0), (20, 2, 1), (21, 2, 1), (30, 1, 2), (31, 1, 2), (40, 2, 3), (41, 2, 3))
    told = [sample(at, broker, leader, epoch) for at, leader, epoch in changes for broker in (1, 2)]
    summary, rows = check(six(), meta=run_meta(final_read=ended_in(3)), samples=told)
    assert {row["detail"] for row in rows} == {MOST_ONE}
    _, rows = check(six(last=20.5), meta=run_meta(final_read=ended_in(3)), samples=told)
    assert "at most 2 of them can be true" in rows[0]["detail"]
    assert summary.same_offset == {"false": 5}


def test_a_leader_that_died_before_it_answered_may_have_told_the_truth(check: Check) -> None:
    """The first leader never answered a sample, so no sample has its epoch."""
    history = (
        History().send(0, at=7, sent=1, closed=2).send(1, at=7, sent=12, closed=13).read(1, at=7, epoch=1)
    )
    told = [sample(at, 3, 1, 0) for at in range(8)] + [sample(at, 2, 2, 1) for at in range(8, 20)]
    summary, _ = check(history, meta=run_meta(final_read=ended_in(1)), samples=told)
    assert summary.same_offset == {}
    # Long after the second leader's first two answers its predecessor gives nothing away any more.
    late = (
        History().send(0, at=7, sent=11, closed=12).send(1, at=7, sent=12, closed=13).read(1, at=7, epoch=1)
    )
    summary, _ = check(late, meta=run_meta(final_read=ended_in(1)), samples=told)
    assert summary.same_offset == {"false": 1}


def test_where_nothing_tells_of_epochs_it_says_what_cannot_be(check: Check) -> None:
    """As of the history of another tool, which has neither samples nor epochs."""
    history = History().send(0, at=0).send(1, at=0).read(0, at=0, epoch=None)
    meta = run_meta(final_read=ended_in(-1))
    summary, rows = check(history, meta=meta)
    assert [row["detail"] for row in rows] == [
        "acknowledged at offset 0 of t-0; another record stands there now; 2 success reports name this "
        "offset, and of those of one leader epoch at most one can be true"
    ]
    assert summary.same_offset == {"doubtful": 1}
    assert judge(meta, summary).reasons[1].startswith("1 of the lost records: several success reports name")


def test_two_epochs_may_give_one_offset_twice(check: Check) -> None:
    """Near misses: after an election a true report names the offset again; reports without an offset; sends
    that failed; the offsets of a topic that was deleted."""
    history = History().send(0, at=7, closed=2).send(1, at=7, sent=20, closed=21).read(1, at=7, epoch=1)
    history.send(2, "indeterminate", at=7).send(3).send(4)
    summary, rows = check(history, meta=run_meta(final_read=ended_in(1)))
    assert [row["reports"] for row in rows if row["finding"] == "lost"] == [None] * 3
    assert summary.same_offset == {}

    renewed = run_meta(
        final_read=ended_in(0), deletions=(Deletion(topic="t", before=None, at_ns=ns(10) or 0),)
    )
    again = History().send(0, at=7, sent=1, closed=2).send(1, at=7, sent=20, closed=21)
    _, rows = check(again, meta=renewed)
    told: dict[int, Row] = {row["seq"]: row for row in rows}
    assert told[0]["finding"] == "expired"
    assert (told[1]["finding"], told[1]["reports"]) == ("lost", None)
