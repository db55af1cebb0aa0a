"""Classes of share groups over hand-built histories with near misses, and against plain Python."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.journals.views import Scratch, Views
from checkers.judgement.judge import judge
from checkers.registry import load_whole_run
from checkers.share.find import find
from harness.model.result import ShareCount, VerdictWord
from harness.model.run import Deletion, FaultWindow
from harness.model.share_journal import (
    DELIVERIES,
    DELIVERIES_DIR,
    SHARE_EVENTS,
    SHARE_EVENTS_DIR,
    SHARE_OFFSETS,
    SHARE_OFFSETS_DIR,
)
from tests.support.history import (
    TOPIC,
    History,
    Row,
    ns,
    run_meta,
    sample,
    window,
    write_part,
    write_run,
)
from tests.support.random_histories import examples, many, side_by_side
from tests.support.share_history import (
    GROUP,
    LIMIT,
    Found,
    ShareStory,
    share_info,
    share_oracle,
    write_share_run,
)

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Checked:
    """What a check told of share groups."""

    rows: list[Row]
    problems: tuple[str, ...]
    counts: tuple[ShareCount, ...]


Check = Callable[..., Checked]


@pytest.fixture
def check(spark: SparkSession) -> Check:
    """check(folder, story, records, ...) -> what is told of a run folder written for them."""
    return partial(_checked, spark)


def _checked(spark: SparkSession, folder: Path, story: ShareStory, records: int, **more: Any) -> Checked:
    write_share_run(folder / "run", story, records=records, **more)
    return _checked_folder(spark, folder)


def _checked_folder(spark: SparkSession, folder: Path) -> Checked:
    views = Views.of(spark, load_whole_run(folder / "run"))
    result = find(views, Scratch(spark, folder / "scratch"))
    rows = [] if result.findings is None else result.findings.toArrow().to_pylist()
    return Checked(rows, result.problems, result.summary["shares"])


def _kinds(rows: list[Row]) -> Found:
    return Counter((row["finding"], row["offsets"][0], row["count"]) for row in rows)


def test_records_that_nobody_was_given(check: Check, tmp_path: Path) -> None:
    story = ShareStory().give(0, 0, 5).give(3, 1, 6).begins(4, lag=0)
    rows = check(tmp_path, story, 6).rows
    # Near misses: 0 and 3 were given, 4 and 5 are not passed.
    assert _kinds(rows) == {("share_lost", 1, 2): 1}
    assert rows[0]["detail"] == (
        f"2 offset(s) of t-0 from 1 on were given to no member of share group {GROUP}, which has finished "
        "them; its start offset is 4"
    )


def test_records_that_nobody_was_given_break_the_verdict(spark: SparkSession, tmp_path: Path) -> None:
    story = ShareStory().give(0, 0, 5).give(3, 1, 6).begins(4, lag=0)
    meta = write_share_run(tmp_path, story, records=6)
    judgement = judge(meta, check_run(spark, tmp_path))
    assert judgement.verdict is VerdictWord.INVALID
    assert judgement.reasons == (
        "1 time a share group passed over records that none of its members was given",
    )


def test_the_start_offset_lags_but_a_lag_of_0_says_that_all_is_finished(check: Check, tmp_path: Path) -> None:
    story = ShareStory().give(0, 0, 88).give(2, 0, 88, word="release").give(3, 0, 88)
    found = _kinds(check(tmp_path / "0", ShareStory(list(story.given)).begins(1, lag=0), 5).rows)
    assert found == {("share_lost", 1, 1): 1, ("share_archived_unseen", 2, 1): 1}
    assert not check(tmp_path / "1", ShareStory(list(story.given)).begins(1, lag=3), 5).rows
    assert not check(tmp_path / "none", ShareStory(list(story.given)).begins(1), 5).rows


def test_what_is_given_after_the_last_answer_is_not_finished_by_its_lag_of_0(
    check: Check, tmp_path: Path
) -> None:
    story = ShareStory().give(0, 0, 5).begins(1, lag=0, at=60).give(3, 0, 70, word=None)
    unanswered = story.begins(None, at=90, error="NO_ANSWER")
    assert not check(tmp_path, unanswered, 4).rows
    # It was given before the answer, and then once more, while a member joined.
    twice = ShareStory().give(0, 0, 20, word="release").begins(0, lag=0, at=60).give(0, 1, 61, word="release")
    twice.event("joined", 1, 61).begins(None, at=90, error="NO_ANSWER")
    assert _kinds(check(tmp_path / "twice", twice, 1).rows) == {("share_redelivered", 0, 2): 1}


def test_so_low_a_limit_that_killed_members_may_reach_it(check: Check, tmp_path: Path) -> None:
    story = ShareStory().give(0, 0, 5).event("killed", 1, 6).begins(2, lag=0)
    assert _kinds(check(tmp_path / "5", story, 2).rows) == {("share_lost", 1, 1): 1}
    low = share_info(delivery_limit=2)
    assert not check(tmp_path / "2", story, 2, info=low).rows


def test_a_record_again_after_it_was_finished(check: Check, tmp_path: Path) -> None:
    story = ShareStory().begins(5, lag=0)
    story.give(0, 0, 5).give(0, 1, 9, count=2)
    # Near misses: released; answered with an error; without an answer; acquired before the answer, so that a
    # late acknowledgement is told that all is done.
    story.give(1, 0, 5, word="release").give(1, 1, 9, count=2)
    story.give(2, 0, 5, error="INVALID_RECORD_STATE").give(2, 1, 9, count=2)
    story.give(3, 0, 5, answered=False).give(3, 1, 9, count=2)
    story.give(4, 0, 5, sent=9.2).give(4, 1, 9, count=2, sent=9.1)
    rows = check(tmp_path, story, 5).rows
    found = _kinds(rows)
    assert found["share_again", 0, 1] == 1
    assert sum(count for (kind, *_), count in found.items() if kind != "share_redelivered") == 1
    assert [row["finding"] for row in rows].count("share_redelivered") == 5
    again = next(row for row in rows if row["finding"] == "share_again")
    assert again["detail"] == (
        f"offset 0 of t-0 was given to q-1 of share group {GROUP} although q-0 had accepted or rejected it "
        "and was told that this is done"
    )


def test_two_members_hold_a_record(check: Check, tmp_path: Path) -> None:
    story = ShareStory().begins(4, lag=0)
    story.give(0, 0, 20, sent=22.5).give(0, 1, 21, count=2)
    # Near misses: the lock may have ended; it had been released; the same member.
    story.give(1, 0, 20, sent=24).give(1, 1, 23, count=2)
    story.give(2, 0, 20, word="release").give(2, 1, 21, count=2)
    story.give(3, 0, 20, sent=22.5).give(3, 0, 21, count=2)
    rows = check(tmp_path, story, 4).rows
    found = Counter({key: count for key, count in _kinds(rows).items() if key[0] != "share_redelivered"})
    assert found == {("share_double_lease", 0, 2): 1}
    detail = next(row["detail"] for row in rows if row["finding"] == "share_double_lease")
    assert detail == (
        f"q-1 of share group {GROUP} was given offset 0 of t-0 while q-0 held it and its lock had not ended"
    )


@pytest.mark.parametrize(
    "why", ["killed", "closing", "joined", "error", "paused", "fault", "leader", "earlier kill"]
)
def test_a_lease_that_a_broker_may_have_forgotten_is_none(check: Check, tmp_path: Path, why: str) -> None:
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
    assert {row["finding"] for row in check(tmp_path, story, 1, **more).rows} == {"share_redelivered"}


def test_more_deliveries_than_the_limit(check: Check, tmp_path: Path) -> None:
    story = ShareStory().begins(3, lag=0)
    for number in range(LIMIT + 1):
        # Record 0: the broker tells a count above the limit. Record 1 is given as often, but the broker says
        # less. Record 2 is within the limit.
        story.give(0, 0, 20 + number, word="release", count=number + 1)
        story.give(1, 0, 20 + number, word="release", count=1)
        if number < LIMIT:
            story.give(2, 0, 20 + number, word="release", count=number + 1)
    found = {key for key in _kinds(check(tmp_path / "a", story, 3).rows) if key[0] == "share_over_limit"}
    assert found == {("share_over_limit", 0, 6), ("share_over_limit", 1, 6)}
    # A leader that changes in between counts from 1 again.
    samples = [sample(10, 1, 1, 3), sample(24, 2, 2, 4)]
    found = {
        key
        for key in _kinds(check(tmp_path / "b", story, 3, samples=samples).rows)
        if key[0] == "share_over_limit"
    }
    assert found == {("share_over_limit", 0, 6)}


def test_a_record_that_is_given_up_too_early(check: Check, tmp_path: Path) -> None:
    story = ShareStory().begins(4, lag=1)
    story.give(0, 0, 88, word="release")
    # Near misses: an accept without an answer; the limit may be reached; not finished.
    story.give(1, 0, 88, answered=False).give(2, 0, 70, word="release")
    story.give(3, 0, 88, count=4, word="release").give(4, 0, 88, word="release")
    rows = check(tmp_path, story, 5).rows
    assert _kinds(rows) == {("share_archived_unseen", 0, 1): 1}
    assert rows[0]["detail"] == (
        f"share group {GROUP} has finished offset 0 of t-0, which was given 1 time(s), last to q-0, and "
        "neither accepted nor rejected"
    )


def test_records_that_are_given_to_nobody_any_more(check: Check, tmp_path: Path) -> None:
    story = ShareStory().give(0, 0, 20).give(1, 0, 20, word="release").give(2, 0, 20, answered=False)
    story.give(3, 0, 20, count=LIMIT, word="release").begins(1, lag=4)
    assert _kinds(check(tmp_path / "a", story, 6).rows) == {
        ("share_stuck", 1, 1): 1,
        ("share_stuck", 4, 2): 1,
    }
    # Near misses: no lag; something was given a while ago; a fault.
    none = ShareStory(list(story.given)).begins(1, lag=0)
    assert not check(tmp_path / "b", none, 6).rows
    late = ShareStory(list(story.given)).begins(1, lag=4).give(5, 0, 86)
    assert not check(tmp_path / "c", late, 6).rows
    assert not check(tmp_path / "d", story, 6, windows=(window("kill", 30, 80),)).rows
    # A broker before 4.2 does not tell the lag.
    old = ShareStory(list(story.given)).begins(1)
    assert len(check(tmp_path / "e", old, 6).rows) == 2


def test_a_group_that_was_given_nothing_has_no_start_offset(check: Check, tmp_path: Path) -> None:
    unknown = ("it is not known where share group 'q' begins at the end, so the verdict is unknown",)
    never = ShareStory().begins(None)
    told = check(tmp_path / "a", never, 6)
    assert _kinds(told.rows) == {("share_stuck", 0, 6): 1}
    assert not told.problems
    detail = told.rows[0]["detail"]
    assert detail == (
        f"share group {GROUP} has no start offset in t-0 yet: its members are given none of 6 offset(s) from "
        "0 on"
    )
    # Near misses, in which nothing is known: a fault; an empty log; a delivery, so that it must have begun.
    told = check(tmp_path / "b", never, 6, windows=(window("kill", 30, 80),))
    assert (told.rows, told.problems) == ([], unknown)
    # Another coordinator may be about to begin it: it asks again after 30 s.
    told = check(tmp_path / "g", never, 6, windows=(window("kill", 30, 68),))
    assert (told.rows, told.problems) == ([], unknown)
    told = check(tmp_path / "h", never, 6, windows=(window("kill", 30, 40),))
    assert _kinds(told.rows) == {("share_stuck", 0, 6): 1}
    told = check(tmp_path / "c", never, 0)
    assert (told.rows, told.problems) == ([], unknown)
    told = check(tmp_path / "d", ShareStory().give(0, 0, 20).begins(None), 6)
    assert (told.rows, told.problems) == ([], unknown)
    # An answer before the group began is no longer true.
    told = check(tmp_path / "e", ShareStory().begins(None, at=60).begins(6, lag=0), 6)
    assert "share_stuck" not in {kind for kind, _, _ in _kinds(told.rows)}
    assert not told.problems
    rows = check(tmp_path / "f", ShareStory().begins(6, lag=0, at=60).begins(None), 6).rows
    assert "share_stuck" not in {kind for kind, _, _ in _kinds(rows)}


def test_holes_in_the_journals_of_a_share_group(spark: SparkSession, check: Check, tmp_path: Path) -> None:
    story = ShareStory().give(0, 0, 5).begins(None, error="COORDINATOR_NOT_AVAILABLE")
    told = check(tmp_path / "a", story, 1)
    assert not told.rows
    assert told.problems == (
        "it is not known where share group 'q' begins at the end, so the verdict is unknown",
    )
    story = ShareStory().give(0, 0, 5).give(1, 0, 5).begins(2, lag=0)
    write_share_run(tmp_path / "b" / "run", story, records=2)
    write_share_run(tmp_path / "c" / "run", ShareStory(story.given[:1], story.asked), records=2)
    shutil.copy(tmp_path / "b" / "run" / "run.json", tmp_path / "c" / "run" / "run.json")
    assert _checked_folder(spark, tmp_path / "c").problems == (
        "the journal of deliveries holds 1 of share group 'q', its members say 2, so the verdict is unknown",
    )
    shutil.rmtree(tmp_path / "c" / "run" / "deliveries")
    shutil.rmtree(tmp_path / "c" / "run" / "share_offsets")
    assert _checked_folder(spark, tmp_path / "c").problems == (
        "the journal of deliveries holds 0 of share group 'q', its members say 2, so the verdict is unknown",
        "it is not known where share group 'q' begins at the end, so the verdict is unknown",
    )


def test_deliveries_are_counted_by_what_became_of_them(check: Check, tmp_path: Path) -> None:
    story = ShareStory().begins(5, lag=0)
    story.give(0, 0, 5).give(1, 0, 5, word="release").give(1, 1, 9, word="reject", count=2)
    story.give(2, 0, 5, error="INVALID_RECORD_STATE").give(2, 1, 9, count=2, answered=False)
    story.give(3, 2, 6, word=None).give(3, 1, 9, count=2).give(4, 0, 6)
    (found,) = check(tmp_path, story, 6).counts
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
    (none,) = check(tmp_path / "none", ShareStory().begins(None), 6).counts
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


def test_a_doubt_in_the_moment_of_a_delivery_after_the_last_answer_counts(
    check: Check, tmp_path: Path
) -> None:
    """Hypothesis found it: such a doubt was counted as less than none."""
    story = ShareStory().give(0, 0, 20, answered=False)
    for at in (20, 20, 61):
        story.give(1, 0, at, word="release", answered=False)
    for at in (0, 61):
        story.event("joined", 0, at)
    story.begins(0, lag=0, at=60).begins(0, error="NO_ANSWER")
    kinds = _kinds(check(tmp_path, story, 2).rows)
    assert kinds == share_oracle(story, 2)
    assert not [kind for kind, _, _ in kinds if kind == "share_archived_unseen"]


SIDE_BY_SIDE = side_by_side(15, of_many=40)
"""Stories in one run, each of a share group and a partition of its own, with no other's faults."""


@many(examples(4, SIDE_BY_SIDE))
@given(drawn=st.lists(_stories(), min_size=SIDE_BY_SIDE, max_size=SIDE_BY_SIDE))
def test_random_stories_against_plain_python(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[tuple[ShareStory, int, tuple[Any, ...]]],
) -> None:
    # Faults are of the whole run.
    windows = drawn[0][2]
    stories = [(story, records) for story, records, _ in drawn]
    folder = tmp_path_factory.mktemp("stories")
    _write_side_by_side(folder / "run", stories, windows)
    told: list[Found] = [Counter() for _ in stories]
    for row in _checked_folder(spark, folder).rows:
        told[row["partition"]][row["finding"], row["offsets"][0], row["count"]] += 1
    for found, (story, records) in zip(told, stories, strict=True):
        assert found == share_oracle(story, records, windows)


def test_what_a_group_is_given_of_a_topic_that_was_created_again_is_not_given_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Its members had accepted the same offsets of the topic that was deleted."""
    folder = tmp_path / "run"
    story, records = ShareStory(), 5
    for offset in range(records):
        story.give(offset, 0, 2).give(offset, 1, 20)
    story.begins(records, lag=0, at=4).begins(records, lag=0)
    meta = write_share_run(folder, story, records=records)
    again = {(row["finding"], row["offsets"][0]) for row in _checked_folder(spark, tmp_path).rows}
    assert {("share_again", offset) for offset in range(records)} <= again
    history = History()
    for offset in range(records):
        history.send(offset, at=offset, sent=1).send(100 + offset, at=offset, sent=15)
        history.read(100 + offset, at=offset)
    for row in story.given:
        row["seq"] += 100 if row["acquired_ns"] > (ns(10) or 0) else 0
    deletion = Deletion(topic=TOPIC, before=None, at_ns=ns(10) or 0)
    shutil.rmtree(tmp_path)
    write_run(folder, history, meta=meta.model_copy(update={"deletions": (deletion,)}))
    for name, rows, schema in (
        (DELIVERIES_DIR, story.given, DELIVERIES),
        (SHARE_OFFSETS_DIR, story.asked, SHARE_OFFSETS),
    ):
        write_part(folder / name / "part-00000.parquet", rows, schema)
    checked = _checked_folder(spark, tmp_path)
    assert checked.rows == []
    assert checked.counts[0].records == 2 * records


def _write_side_by_side(
    folder: Path, stories: list[tuple[ShareStory, int]], windows: tuple[FaultWindow, ...]
) -> None:
    history, infos = History(), []
    journals: dict[str, list[Row]] = {DELIVERIES_DIR: [], SHARE_OFFSETS_DIR: [], SHARE_EVENTS_DIR: []}
    for number, (story, records) in enumerate(stories):
        own: dict[str, Any] = {"producer": number, "partition": number}
        for offset in range(records):
            history.send(offset, at=offset, **own).read(offset, at=offset, **own)
        group = {"group": f"{GROUP}-{number}"}
        journals[DELIVERIES_DIR] += [row | group | {"partition": number} for row in story.given]
        journals[SHARE_OFFSETS_DIR] += [row | group | {"partition": number} for row in story.asked]
        journals[SHARE_EVENTS_DIR] += [row | group for row in story.events]
        infos.append(share_info(name=f"q-{number}", deliveries=len(story.given), **group))
    write_run(folder, history, meta=run_meta(windows=windows, share=tuple(infos)))
    for (name, rows), schema in zip(journals.items(), (DELIVERIES, SHARE_OFFSETS, SHARE_EVENTS), strict=True):
        write_part(folder / name / "part-00000.parquet", rows, schema)


def test_a_run_without_share_groups_asks_the_engine_nothing(spark: SparkSession, tmp_path: Path) -> None:
    write_run(tmp_path / "run", History().send(0, at=0).read(0, at=0), meta=run_meta())
    assert _checked_folder(spark, tmp_path) == Checked([], (), ())
    assert not (tmp_path / "scratch").exists()


def test_a_rule_that_fails_is_a_problem(check: Check, tmp_path: Path) -> None:
    # A time that no number of nanoseconds is.
    story = ShareStory().give(0, 0, 5, word="release").begins(1, lag=0)
    told = check(tmp_path, story, 1, info=share_info(lock_seconds=1e300))
    assert told.rows == []
    reason = "cannot convert float infinity to integer"
    assert told.problems == (f"the check of share groups failed ({reason}), so the verdict is unknown",)
