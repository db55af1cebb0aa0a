"""Each class about the progress of groups, with near misses: what is told, and how the verdict takes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.found import Found
from checkers.groups.find import find, ownerless_times
from checkers.journals.views import Scratch, Views
from checkers.judgement.judge import judge
from checkers.registry import load_whole_run
from harness.model.result import OwnerlessTime, Summary, VerdictWord
from harness.model.run import ClusterInfo, RunMeta
from tests.support.group_history import GroupHistory, group_meta
from tests.support.history import Row, step, window

pytestmark = pytest.mark.spark


def found(
    spark: SparkSession, folder: Path, history: GroupHistory, meta: RunMeta | None = None
) -> tuple[list[Row], list[str]]:
    """The findings about groups in a run folder that is written for them, and the problems."""
    views = Views.of(spark, load_whole_run(history.write(folder / "run", meta)))
    result = find(views, Scratch(spark, folder / "scratch"))
    rows = [] if result.findings is None else result.findings.toArrow().to_pylist()
    return rows, list(result.problems)


def rows_of(
    spark: SparkSession, folder: Path, history: GroupHistory, meta: RunMeta | None = None
) -> list[Row]:
    rows, problems = found(spark, folder, history, meta)
    assert problems == []
    return rows


def ownerless(spark: SparkSession, folder: Path, history: GroupHistory) -> tuple[OwnerlessTime, ...]:
    return ownerless_times(Views.of(spark, load_whole_run(history.write(folder))))


def worked() -> GroupHistory:
    """Member a owns the partition from 0 on and has processed offsets 0 to 49."""
    return GroupHistory().own("a", 0, 40).give("a", 1, 0, 49).commit("a", 20, 2).commit("a", 50, 3)


NOTHING: dict[str, GroupHistory] = {
    "the answer has the commit": worked().answer(50, 4),
    "it was asked before the commit was answered": worked().answer(20, 3.5, asked=2.95),
    "another commit may have followed": worked().commit("a", 20, 5).answer(20, 6),
    "a commit that was open at the same time may have followed": worked()
    .commit("a", 30, 3.05, asked=2.5)
    .answer(30, 6),
    "a commit that was never answered may have followed": worked()
    .commit("a", 20, 4, error="_TIMED_OUT")
    .answer(20, 30),
    "somebody else committed it: the log has it later": worked().logged(20, 50, 10).answer(10, 6),
    "the answer was an error": worked().answer(None, 6, error="NOT_COORDINATOR"),
    "a commit that failed may be nowhere": worked().commit("a", 60, 5, error="_TIMED_OUT").answer(50, 6),
    "the group has none before its first commit": worked().answer(None, 1),
    "the answer of another group": worked().answer(20, 6, group="h"),
    "a transaction's offset after its commit was asked for": GroupHistory()
    .own("a", 0, 40)
    .give("a", 1, 0, 49)
    .commit("a", 50, 9, asked=5, kind="transaction")
    .answer(50, 6),
    "a transaction that may have committed": GroupHistory()
    .own("a", 0, 40)
    .give("a", 1, 0, 49)
    .commit("a", 50, 9, asked=5, kind="transaction", error="INDETERMINATE")
    .answer(50, 30),
    "an aborted transaction's offset that another commit set": GroupHistory()
    .own("a", 0, 40)
    .give("a", 1, 0, 49)
    .commit("a", 50, 3, kind="transaction", error="ABORTED")
    .commit("a", 50, 5, kind="transaction")
    .answer(50, 6),
    "the client's own commit is a little ahead": GroupHistory()
    .own("a", 0, 40)
    .give("a", 1, 0, 9)
    .commit("a", 30, 2, asked=None, kind="auto")
    .give("a", 2.1, 10, 29),
    "there is nothing beyond the log's end": GroupHistory()
    .own("a", 0, 40)
    .give("a", 1, 0, 99)
    .commit("a", 140, 2),
    "another member was given it": worked().own("b", 40, 45).give("a", 30, 50, 60).commit("b", 61, 41),
    "asked for while it was owned": worked().commit("a", 50, 42, asked=39.9),
    "asked for at a time that is not known": worked().commit("a", 50, 42, asked=None),
    "a foreign commit that was refused": worked().commit("a", 50, 42, error="ILLEGAL_GENERATION"),
    "one owner after the other": worked().own("b", 40, 45).give("b", 41, 50, 59),
    "two owners, but the first was given nothing then": worked().own("b", 8, 45).give("b", 9, 50, 59),
    "two owners, but the second was given nothing then": worked()
    .own("b", 8, 45)
    .give("a", 9, 50, 59)
    .give("b", 41, 60, 69),
    "the first owner may have been expired": worked()
    .own("b", 13.1, 45)
    .give("a", 14, 50, 59)
    .give("b", 15, 50, 59),
    "the first owner lost it": GroupHistory()
    .own("a", 0, 12, how="lost")
    .own("b", 8, 45)
    .give("a", 9, 0, 9)
    .give("b", 9, 0, 9),
    "the first owner's end is not known": GroupHistory()
    .own("a", 0)
    .own("b", 8, 45)
    .give("a", 9, 0, 9)
    .give("b", 9, 0, 9),
}


@pytest.mark.parametrize("name", NOTHING)
def test_near_misses(spark: SparkSession, tmp_path: Path, name: str) -> None:
    assert rows_of(spark, tmp_path, NOTHING[name]) == []


FOUND: dict[str, tuple[GroupHistory, dict[str, object]]] = {
    "commit lost: the last answer lacks it": (
        worked().answer(50, 4).answer(20, 6, broker=2).answer(20, 8, broker=2),
        {
            "finding": "commit_lost",
            "offsets": [50],
            "count": 2,
            "reader": "a",
            "windows": "kill-1",
            "detail": "a of group g committed offset 50 of t-0 and was told that it is done, then broker 2 "
            "answered 20, and the commit did not come back",
        },
    ),
    "commit lost: the last answer is that there is none": (
        worked().answer(None, 6),
        {
            "finding": "commit_lost",
            "detail": "a of group g committed offset 50 of t-0 and was told that it is done, then broker 1 "
            "answered no offset, and the commit did not come back",
        },
    ),
    "commit lost: overtaken by a later one, and the files have only older and newer ones": (
        worked().answer(20, 4).commit("a", 60, 5).give("a", 4, 50, 60).answer(60, 6).logged(20, 60),
        {"finding": "commit_lost", "offsets": [50], "count": 1},
    ),
    "commit lost: of the client's own": (
        GroupHistory()
        .own("a", 0, 40)
        .give("a", 1, 0, 49)
        .commit("a", 20, 2, asked=None, kind="auto")
        .commit("a", 50, 33, asked=None, kind="auto")
        .answer(20, 34),
        {"finding": "commit_lost", "offsets": [50]},
    ),
    "commit stale: a later answer has it": (
        worked().answer(20, 4, broker=2).answer(50, 5, broker=2).logged(20, 50),
        {
            "finding": "commit_stale",
            "offsets": [50],
            "count": 1,
            "detail": "a of group g committed offset 50 of t-0 and was told that it is done, then broker 2 "
            "answered 20, and later answers have the commit again",
        },
    ),
    "commit stale: overtaken by a later one, and the files were not read": (
        worked().answer(20, 4).commit("a", 60, 5).give("a", 4, 50, 60).answer(60, 6),
        {"finding": "commit_stale", "offsets": [50]},
    ),
    "commit stale: overtaken by a later one, and the files were cleaned": (
        worked().answer(20, 4).commit("a", 60, 5).give("a", 4, 50, 60).answer(60, 6).logged(60),
        {"finding": "commit_stale", "offsets": [50]},
    ),
    "commit ahead": (
        GroupHistory().own("a", 0, 40).give("a", 1, 0, 9).commit("a", 30, 2).give("a", 2.1, 10, 29),
        {
            "finding": "commit_ahead",
            "offsets": [30],
            "count": 20,
            "reader": "a",
            "detail": "a of group g committed offset 30 of t-0, 20 record(s) beyond what its members had "
            "processed",
        },
    ),
    "commit ahead: nothing was given yet": (
        GroupHistory().own("a", 0, 40).commit("a", 30, 2).give("a", 3, 0, 29),
        {"finding": "commit_ahead", "count": 30},
    ),
    "commit ahead: what was given to another group does not count": (
        GroupHistory().own("a", 0, 40).give("a", 1, 0, 9).give("other", 1, 10, 29).commit("a", 30, 2),
        {"finding": "commit_ahead", "count": 20},
    ),
    "commit ahead: a transaction's offset before its commit was asked for": (
        GroupHistory()
        .own("a", 0, 40)
        .give("a", 1, 0, 49)
        .commit("a", 50, 9, asked=8, kind="transaction")
        .answer(50, 6),
        {
            "finding": "commit_ahead",
            "offsets": [50],
            "reader": "g",
            "detail": "broker 1 answered offset 50 of t-0 for group g, which only a transaction sets that "
            "had not committed",
        },
    ),
    "commit ahead: an aborted transaction's offset": (
        GroupHistory()
        .own("a", 0, 40)
        .give("a", 1, 0, 49)
        .commit("a", 50, 4, kind="transaction", error="ABORTED")
        .answer(50, 6),
        {"finding": "commit_ahead", "offsets": [50]},
    ),
    "foreign commit: after it was revoked": (
        worked().commit("a", 50, 42).commit("a", 51, 43).give("a", 39, 50, 50),
        {
            "finding": "foreign_commit",
            "offsets": [50],
            "count": 2,
            "reader": "a",
            "detail": "a of group g committed offset 50 of t-0 without owning the partition, and the "
            "coordinator accepted it",
        },
    ),
    "foreign commit: at a time that is not known, and never owned before": (
        GroupHistory().own("a", 5, 40).give("a", 6, 0, 9).commit("a", 0, 2, asked=None),
        {"finding": "foreign_commit", "offsets": [0]},
    ),
    "foreign commit: it had a newer owner": (
        GroupHistory().own("a", 0, 30).give("a", 1, 0, 9).own("b", 20, 40).commit("a", 10, 26, asked=25),
        {"finding": "foreign_commit", "reader": "a"},
    ),
    "two owners": (
        worked().own("b", 8, 45).give("b", 9, 50, 59).give("a", 10, 50, 54),
        {
            "finding": "two_owners",
            "offsets": [50],
            "count": 10,
            "reader": "a",
            "windows": "kill-1",
            "detail": "a and b of group g owned t-0 at once and both were given records; the second one was "
            "given 10 record(s) before the first had given it up",
        },
    ),
    "two owners: a commit showed that the first was not expired": (
        worked().commit("a", 50, 15).own("b", 20, 45).give("b", 21, 50, 59).give("a", 22, 50, 54),
        {"finding": "two_owners", "count": 10},
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_findings(spark: SparkSession, tmp_path: Path, name: str) -> None:
    history, expected = FOUND[name]
    meta = group_meta(windows=(window("kill-1", 3.5, 12),))
    rows = rows_of(spark, tmp_path, history, meta)
    assert len(rows) == 1, rows
    assert {column: rows[0][column] for column in expected} == expected


@pytest.mark.parametrize("name", FOUND)
def test_all_but_stale_answers_break_a_verdict(spark: SparkSession, tmp_path: Path, name: str) -> None:
    history, expected = FOUND[name]
    meta = group_meta()
    summary: Summary = check_run(spark, history.write(tmp_path, meta))
    assert summary.problems == ()
    stale = expected["finding"] == "commit_stale"
    assert judge(meta, summary).verdict is (VerdictWord.VALID if stale else VerdictWord.INVALID)


def test_what_has_expired_is_not_lost(spark: SparkSession, tmp_path: Path) -> None:
    history = GroupHistory().own("a", 0, 5).give("a", 1, 0, 49).commit("a", 50, 3)
    cluster = group_meta().cluster
    short = ClusterInfo.model_validate(
        {**cluster.model_dump(), "properties": {"offsets.retention.minutes": "1"}}
    )
    history.answer(None, 64)
    assert rows_of(spark, tmp_path / "expired", history, group_meta(cluster=short)) == []
    kept = rows_of(spark, tmp_path / "kept", history)
    assert [row["finding"] for row in kept] == ["commit_lost"]


def test_what_was_deleted_with_its_topic_is_not_lost(spark: SparkSession, tmp_path: Path) -> None:
    history = GroupHistory().own("a", 0, 40).give("a", 1, 0, 49).commit("a", 50, 3).answer(None, 9)
    again = group_meta(steps=(step(0, "write", 0, 50), step(1, "again", 5, 6, kind="recreate_topic")))
    assert rows_of(spark, tmp_path, history, again) == []


def test_what_was_committed_in_the_new_topic_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    """Although a higher offset had been committed in the topic that was deleted."""
    history = GroupHistory().own("a", 0, 40).give("a", 1, 0, 49).commit("a", 50, 3)
    history.give("a", 7, 0, 19).commit("a", 20, 8).answer(None, 9)
    again = group_meta(steps=(step(0, "write", 0, 50), step(1, "again", 5, 6, kind="recreate_topic")))
    (row,) = rows_of(spark, tmp_path, history, again)
    assert (row["finding"], row["offsets"]) == ("commit_lost", [20])


def test_the_session_time_out_of_the_new_protocol_is_the_brokers(spark: SparkSession, tmp_path: Path) -> None:
    history = worked().own("b", 15, 45).give("b", 16, 50, 59).give("a", 17, 50, 54)
    meta = group_meta()
    readers = tuple(one.model_copy(update={"protocol": "consumer"}) for one in meta.readers)
    long = meta.cluster.model_copy(update={"properties": {"group.consumer.session.timeout.ms": "30000"}})
    assert rows_of(spark, tmp_path / "own", history, group_meta(readers=readers)) == []
    rows = rows_of(spark, tmp_path / "brokers", history, group_meta(readers=readers, cluster=long))
    assert [row["finding"] for row in rows] == ["two_owners"]


def test_a_contact_about_another_partition_shows_that_an_owner_was_not_expired(
    spark: SparkSession, tmp_path: Path
) -> None:
    history = worked().own("b", 20, 45).give("b", 21, 50, 59).give("a", 22, 50, 54)
    assert rows_of(spark, tmp_path / "none", history) == []
    elsewhere = GroupHistory().commit("a", 5, 15).commits[0] | {"partition": 1}
    rows = rows_of(spark, tmp_path / "contact", replace(history, commits=[*history.commits, elsewhere]))
    # The commit itself is of a partition that it did not own.
    assert {row["finding"] for row in rows} == {"two_owners", "foreign_commit"}


def test_members_that_read_committed_records_are_not_ahead_of_those_they_cannot_be_given(
    spark: SparkSession, tmp_path: Path
) -> None:
    history = GroupHistory().own("a", 0, 40).give("a", 1, 0, 9).commit("a", 30, 2)
    assert [row["count"] for row in rows_of(spark, tmp_path / "all", history)] == [20]
    readers = tuple(one.model_copy(update={"committed": True}) for one in group_meta().readers)
    assert rows_of(spark, tmp_path / "committed", history, group_meta(readers=readers)) == []


def test_a_run_without_groups_asks_the_engine_nothing(spark: SparkSession, tmp_path: Path) -> None:
    class NoJobs:
        def __getattr__(self, name: str) -> object:
            raise AssertionError(f"the engine was asked for {name}")

    readers = tuple(one.model_copy(update={"group": None}) for one in group_meta().readers)
    views = Views.of(spark, load_whole_run(worked().write(tmp_path / "readers", group_meta(readers=readers))))
    silent = Views.of(spark, load_whole_run(GroupHistory().write(tmp_path / "silent")))
    for one in (views, silent):
        idle = replace(one, spark=NoJobs())  # type: ignore[arg-type]
        assert find(idle, Scratch(spark, tmp_path / "scratch")) == Found(summary={"ownerless": ()})
        assert ownerless_times(idle) == ()
    assert not (tmp_path / "scratch").exists()


def test_the_greatest_offset_is_one_like_any_other(spark: SparkSession, tmp_path: Path) -> None:
    history = GroupHistory().own("a", 0, 5).commit("a", 2**63 - 1, 3)
    history.owners[0]["offset"] = 0
    assert [row["count"] for row in rows_of(spark, tmp_path, history)] == [100]


def test_a_rule_that_fails_is_a_problem(spark: SparkSession, tmp_path: Path) -> None:
    # Nothing is before the least number of 64 bits.
    history = GroupHistory().own("a", 0, 5).commit("a", 50, 3).give("a", 4, 0, 0)
    history.given[0]["offset"] = -(2**63)
    rows, (problem,) = found(spark, tmp_path, history)
    assert rows == []
    assert problem.startswith("the check of consumer groups failed (Python int")
    assert problem.endswith("), so the verdict is unknown")


def test_the_time_without_an_owner_is_told(spark: SparkSession, tmp_path: Path) -> None:
    history = GroupHistory().own("a", 0, 10).own("b", 14.5, 20).own("a", 20.4, 30).own("b", 32, 40)
    (told,) = ownerless(spark, tmp_path / "long", history)
    assert (told.group, told.partition, told.seconds, told.longest) == ("g", 0, 6.9, 4.5)
    overlapping = GroupHistory().own("a", 0, 10).own("b", 5, 20).own("a", 20.4)
    assert ownerless(spark, tmp_path / "short", overlapping) == ()
