"""Classes of share groups over hand-built histories with near misses, and against plain Python."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.check import check_run
from checkers.judgement.judge import judge
from harness.model.result import FindingClass, Summary, VerdictWord
from tests.support.history import Row, findings_of, ns, sample, window
from tests.support.random_histories import examples
from tests.support.share_history import (
    GROUP,
    LIMIT,
    Found,
    ShareStory,
    share_info,
    share_oracle,
    write_share_run,
)

pytestmark = pytest.mark.pure


def _no_spark() -> Any:
    raise AssertionError("a small run is checked without Spark")


def _check(folder: Path, story: ShareStory, records: int, **more: Any) -> tuple[Summary, list[Row]]:
    write_share_run(folder, story, records=records, **more)
    return check_run(_no_spark, folder), findings_of(folder)


def _kinds(rows: list[Row]) -> Found:
    return Counter((row["finding"], row["offsets"][0], row["count"]) for row in rows)


def test_records_that_nobody_was_given(tmp_path: Path) -> None:
    story = ShareStory().give(0, 0, 5).give(3, 1, 6).begins(4, lag=0)
    summary, rows = _check(tmp_path, story, 6)
    # Near misses: 0 and 3 were given, 4 and 5 are not passed.
    assert _kinds(rows) == {("share_lost", 1, 2): 1}
    assert rows[0]["detail"] == (
        f"2 offset(s) of t-0 from 1 on were given to no member of share group {GROUP}, which has finished "
        "them; its start offset is 4"
    )
    meta = write_share_run(tmp_path / "again", story, records=6)
    judgement = judge(meta, summary)
    assert judgement.verdict is VerdictWord.INVALID
    assert judgement.reasons == (
        "1 time a share group passed over records that none of its members was given",
    )


def test_the_start_offset_lags_but_a_lag_of_0_says_that_all_is_finished(tmp_path: Path) -> None:
    story = ShareStory().give(0, 0, 88).give(2, 0, 88, word="release").give(3, 0, 88)
    found = _kinds(_check(tmp_path / "0", ShareStory(list(story.given)).begins(1, lag=0), 5)[1])
    assert found == {("share_lost", 1, 1): 1, ("share_archived_unseen", 2, 1): 1}
    assert not _check(tmp_path / "1", ShareStory(list(story.given)).begins(1, lag=3), 5)[1]
    assert not _check(tmp_path / "none", ShareStory(list(story.given)).begins(1), 5)[1]


def test_what_is_given_after_the_last_answer_is_not_finished_by_its_lag_of_0(tmp_path: Path) -> None:
    story = ShareStory().give(0, 0, 5).begins(1, lag=0, at=60).give(3, 0, 70, word=None)
    unanswered = story.begins(None, at=90, error="NO_ANSWER")
    assert not _check(tmp_path, unanswered, 4)[1]
    # It was given before the answer, and then once more, while a member joined.
    twice = ShareStory().give(0, 0, 20, word="release").begins(0, lag=0, at=60).give(0, 1, 61, word="release")
    twice.event("joined", 1, 61).begins(None, at=90, error="NO_ANSWER")
    assert _kinds(_check(tmp_path / "twice", twice, 1)[1]) == {("share_redelivered", 0, 2): 1}


def test_so_low_a_limit_that_killed_members_may_reach_it(tmp_path: Path) -> None:
    story = ShareStory().give(0, 0, 5).event("killed", 1, 6).begins(2, lag=0)
    assert _kinds(_check(tmp_path / "5", story, 2)[1]) == {("share_lost", 1, 1): 1}
    low = share_info(delivery_limit=2)
    assert not _check(tmp_path / "2", story, 2, info=low)[1]


def test_a_record_again_after_it_was_finished(tmp_path: Path) -> None:
    story = ShareStory().begins(5, lag=0)
    story.give(0, 0, 5).give(0, 1, 9, count=2)
    # Near misses: released; answered with an error; without an answer; acquired before the answer, so that a
    # late acknowledgement is told that all is done.
    story.give(1, 0, 5, word="release").give(1, 1, 9, count=2)
    story.give(2, 0, 5, error="INVALID_RECORD_STATE").give(2, 1, 9, count=2)
    story.give(3, 0, 5, answered=False).give(3, 1, 9, count=2)
    story.give(4, 0, 5, sent=9.2).give(4, 1, 9, count=2, sent=9.1)
    summary, rows = _check(tmp_path, story, 5)
    found = _kinds(rows)
    assert found["share_again", 0, 1] == 1
    assert sum(count for (kind, *_), count in found.items() if kind != "share_redelivered") == 1
    assert summary.count(FindingClass.SHARE_REDELIVERED) == 5
    again = next(row for row in rows if row["finding"] == "share_again")
    assert again["detail"] == (
        f"offset 0 of t-0 was given to q-1 of share group {GROUP} although q-0 had accepted or rejected it "
        "and was told that this is done"
    )


def test_two_members_hold_a_record(tmp_path: Path) -> None:
    story = ShareStory().begins(4, lag=0)
    story.give(0, 0, 20, sent=22.5).give(0, 1, 21, count=2)
    # Near misses: the lock may have ended; it had been released; the same member.
    story.give(1, 0, 20, sent=24).give(1, 1, 23, count=2)
    story.give(2, 0, 20, word="release").give(2, 1, 21, count=2)
    story.give(3, 0, 20, sent=22.5).give(3, 0, 21, count=2)
    _, rows = _check(tmp_path, story, 4)
    found = Counter({key: count for key, count in _kinds(rows).items() if key[0] != "share_redelivered"})
    assert found == {("share_double_lease", 0, 2): 1}
    detail = next(row["detail"] for row in rows if row["finding"] == "share_double_lease")
    assert detail == (
        f"q-1 of share group {GROUP} was given offset 0 of t-0 while q-0 held it and its lock had not ended"
    )


@pytest.mark.parametrize(
    "why", ["killed", "closing", "joined", "error", "paused", "fault", "leader", "earlier kill"]
)
def test_a_lease_that_a_broker_may_have_forgotten_is_none(tmp_path: Path, why: str) -> None:
    story = ShareStory().give(0, 0, 60, sent=62).give(0, 1, 61, count=2).begins(1, lag=0)
    more: dict[str, Any] = {}
    if why == "fault":
        more["windows"] = (window("cut", 55, 58),)
    elif why == "leader":
        more["samples"] = [sample(50, 1, 1, 3), sample(60.5, 2, 2, 4)]
    else:
        story.event(why.removeprefix("earlier ").replace("kill", "killed").replace("eded", "ed"), 2, 60.5)
    if why == "earlier kill":
        story.events[-1]["at_ns"] = ns(20)
    assert {row["finding"] for row in _check(tmp_path, story, 1, **more)[1]} == {"share_redelivered"}


def test_more_deliveries_than_the_limit(tmp_path: Path) -> None:
    story = ShareStory().begins(3, lag=0)
    for number in range(LIMIT + 1):
        # Record 0: the broker tells a count above the limit. Record 1 is given as often, but the broker says
        # less. Record 2 is within the limit.
        story.give(0, 0, 20 + number, word="release", count=number + 1)
        story.give(1, 0, 20 + number, word="release", count=1)
        if number < LIMIT:
            story.give(2, 0, 20 + number, word="release", count=number + 1)
    found = {key for key in _kinds(_check(tmp_path / "a", story, 3)[1]) if key[0] == "share_over_limit"}
    assert found == {("share_over_limit", 0, 6), ("share_over_limit", 1, 6)}
    # A leader that changes in between counts from 1 again.
    samples = [sample(10, 1, 1, 3), sample(24, 2, 2, 4)]
    found = {
        key
        for key in _kinds(_check(tmp_path / "b", story, 3, samples=samples)[1])
        if key[0] == "share_over_limit"
    }
    assert found == {("share_over_limit", 0, 6)}


def test_a_record_that_is_given_up_too_early(tmp_path: Path) -> None:
    story = ShareStory().begins(4, lag=1)
    story.give(0, 0, 88, word="release")
    # Near misses: an accept without an answer; the limit may be reached; not finished.
    story.give(1, 0, 88, answered=False).give(2, 0, 70, word="release")
    story.give(3, 0, 88, count=4, word="release").give(4, 0, 88, word="release")
    _, rows = _check(tmp_path, story, 5)
    assert _kinds(rows) == {("share_archived_unseen", 0, 1): 1}
    assert rows[0]["detail"] == (
        f"share group {GROUP} has finished offset 0 of t-0, which was given 1 time(s), last to q-0, and "
        "neither accepted nor rejected"
    )


def test_records_that_are_given_to_nobody_any_more(tmp_path: Path) -> None:
    story = ShareStory().give(0, 0, 20).give(1, 0, 20, word="release").give(2, 0, 20, answered=False)
    story.give(3, 0, 20, count=LIMIT, word="release").begins(1, lag=4)
    assert _kinds(_check(tmp_path / "a", story, 6)[1]) == {
        ("share_stuck", 1, 1): 1,
        ("share_stuck", 4, 2): 1,
    }
    # Near misses: no lag; something was given a while ago; a fault.
    none = ShareStory(list(story.given)).begins(1, lag=0)
    assert not _check(tmp_path / "b", none, 6)[1]
    late = ShareStory(list(story.given)).begins(1, lag=4).give(5, 0, 86)
    assert not _check(tmp_path / "c", late, 6)[1]
    assert not _check(tmp_path / "d", story, 6, windows=(window("kill", 30, 80),))[1]
    # A broker before 4.2 does not tell the lag.
    old = ShareStory(list(story.given)).begins(1)
    assert len(_check(tmp_path / "e", old, 6)[1]) == 2


def test_a_group_that_was_given_nothing_has_no_start_offset(tmp_path: Path) -> None:
    unknown = ("it is not known where share group 'q' begins at the end, so the verdict is unknown",)
    never = ShareStory().begins(None)
    summary, rows = _check(tmp_path / "a", never, 6)
    assert _kinds(rows) == {("share_stuck", 0, 6): 1}
    assert not summary.problems
    detail = rows[0]["detail"]
    assert detail == (
        f"share group {GROUP} has no start offset in t-0 yet: its members are given none of 6 offset(s) from "
        "0 on"
    )
    # Near misses, in which nothing is known: a fault; an empty log; a delivery, so that it must have begun.
    summary, rows = _check(tmp_path / "b", never, 6, windows=(window("kill", 30, 80),))
    assert (rows, summary.problems) == ([], unknown)
    summary, rows = _check(tmp_path / "c", never, 0)
    assert (rows, summary.problems) == ([], unknown)
    summary, rows = _check(tmp_path / "d", ShareStory().give(0, 0, 20).begins(None), 6)
    assert (rows, summary.problems) == ([], unknown)
    # An answer before the group began is no longer true.
    summary, rows = _check(tmp_path / "e", ShareStory().begins(None, at=60).begins(6, lag=0), 6)
    assert "share_stuck" not in {kind for kind, _, _ in _kinds(rows)}
    assert not summary.problems
    _, rows = _check(tmp_path / "f", ShareStory().begins(6, lag=0, at=60).begins(None), 6)
    assert "share_stuck" not in {kind for kind, _, _ in _kinds(rows)}


def test_a_run_without_share_groups_or_with_holes_in_their_journals(tmp_path: Path) -> None:
    story = ShareStory().give(0, 0, 5).begins(None, error="COORDINATOR_NOT_AVAILABLE")
    summary, rows = _check(tmp_path / "a", story, 1)
    assert not rows
    assert summary.problems == (
        "it is not known where share group 'q' begins at the end, so the verdict is unknown",
    )
    story = ShareStory().give(0, 0, 5).give(1, 0, 5).begins(2, lag=0)
    write_share_run(tmp_path / "b", story, records=2)
    write_share_run(tmp_path / "c", ShareStory(story.given[:1], story.asked), records=2)
    (tmp_path / "c" / "run.json").write_text((tmp_path / "b" / "run.json").read_text())
    assert check_run(_no_spark, tmp_path / "c").problems == (
        "the journal of deliveries holds 1 of share group 'q', its members say 2, so the verdict is unknown",
    )


def test_deliveries_are_counted_by_what_became_of_them(tmp_path: Path) -> None:
    story = ShareStory().begins(5, lag=0)
    story.give(0, 0, 5).give(1, 0, 5, word="release").give(1, 1, 9, word="reject", count=2)
    story.give(2, 0, 5, error="INVALID_RECORD_STATE").give(2, 1, 9, count=2, answered=False)
    story.give(3, 2, 6, word=None).give(3, 1, 9, count=2).give(4, 0, 6)
    (found,) = _check(tmp_path, story, 6)[0].shares
    assert found.model_dump() == {
        "group": "q",
        "records": 5,
        "deliveries": 8,
        "accepted": 3,
        "released": 1,
        "rejected": 1,
        "failed": 1,
        "unanswered": 1,
    }
    (none,) = _check(tmp_path / "none", ShareStory().begins(None), 6)[0].shares
    assert (none.records, none.deliveries, none.unanswered) == (0, 0, 0)


@st.composite
def _stories(draw: st.DrawFn) -> tuple[ShareStory, int, tuple[Any, ...]]:
    records = draw(st.integers(1, 4))
    story = ShareStory()
    for _ in range(draw(st.integers(0, 14))):
        at = draw(st.integers(20, 89)) + draw(st.sampled_from([0.0, 0.3, 0.6]))
        story.give(
            draw(st.integers(0, records - 1)),
            draw(st.integers(0, 2)),
            at,
            count=draw(st.sampled_from([1, 1, 2, 3, LIMIT, LIMIT + 1, None])),
            word=draw(st.sampled_from(["accept", "release", "reject", None])),
            sent=at + draw(st.sampled_from([0.1, 1.0, 4.0])),
            answered=draw(st.booleans()),
            error=draw(st.sampled_from([None, None, "INVALID_RECORD_STATE"])),
            asked=at - draw(st.sampled_from([0.0, 0.2, 5.0])),
        )
    for _ in range(draw(st.integers(0, 2))):
        event = draw(st.sampled_from(["joined", "closing", "killed", "died", "error", "paused", "resumed"]))
        story.event(event, draw(st.integers(0, 2)), draw(st.integers(0, 95)))
    if draw(st.booleans()):
        story.begins(draw(st.integers(0, records)), lag=draw(st.sampled_from([None, 0, 1])), at=60)
    if story.asked or draw(st.booleans()):
        error = draw(st.sampled_from([None, None, "NO_ANSWER"]))
        story.begins(draw(st.integers(0, records)), lag=draw(st.sampled_from([None, 0, 1, 2])), error=error)
    else:
        story.begins(None)
    windows = tuple(window("cut", at, at + 3) for at in draw(st.lists(st.integers(0, 85), max_size=1)))
    return story, records, windows


def test_a_doubt_in_the_moment_of_a_delivery_after_the_last_answer_counts(tmp_path: Path) -> None:
    """Hypothesis found it: such a doubt was counted as less than none."""
    story = ShareStory().give(0, 0, 20, answered=False)
    for at in (20, 20, 61):
        story.give(1, 0, at, word="release", answered=False)
    for at in (0, 61):
        story.event("joined", 0, at)
    story.begins(0, lag=0, at=60).begins(0, error="NO_ANSWER")
    kinds = _kinds(_check(tmp_path, story, 2)[1])
    assert kinds == share_oracle(story, 2)
    assert not [kind for kind, _, _ in kinds if kind == "share_archived_unseen"]


@settings(max_examples=examples(60), deadline=None)
@given(_stories())
def test_random_stories_against_plain_python(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[ShareStory, int, tuple[Any, ...]]
) -> None:
    story, records, windows = drawn
    _, rows = _check(tmp_path_factory.mktemp("story"), story, records, windows=windows)
    assert _kinds(rows) == share_oracle(story, records, windows)
