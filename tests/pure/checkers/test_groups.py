"""Each class about the progress of groups, with near misses: what is told, and how the verdict takes it."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from checkers.check import check_run
from checkers.judgement.judge import judge
from harness.model.result import Summary, VerdictWord
from harness.model.run import ClusterInfo, RunMeta
from tests.support.group_history import GroupHistory, group_meta
from tests.support.history import Row, findings_of, step, window

pytestmark = pytest.mark.pure

CLASSES = ("commit_lost", "commit_stale", "commit_ahead", "foreign_commit", "two_owners")


def no_spark() -> NoReturn:
    raise AssertionError("a small run is checked without Spark")


def checked(folder: Path, history: GroupHistory, meta: RunMeta | None = None) -> tuple[Summary, list[Row]]:
    """The summary, and the findings about groups."""
    summary = check_run(no_spark, history.write(folder, meta))
    assert summary.problems == ()
    return summary, [row for row in findings_of(folder) if row["finding"] in CLASSES]


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
def test_near_misses(tmp_path: Path, name: str) -> None:
    assert checked(tmp_path, NOTHING[name])[1] == []


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
            "been given",
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
def test_findings(tmp_path: Path, name: str) -> None:
    history, expected = FOUND[name]
    meta = group_meta(windows=(window("kill-1", 3.5, 12),))
    summary, rows = checked(tmp_path, history, meta)
    assert len(rows) == 1, rows
    assert {column: rows[0][column] for column in expected} == expected
    verdict = judge(meta.model_copy(update={"final_read": meta.final_read}), summary).verdict
    stale = expected["finding"] == "commit_stale"
    assert verdict is (VerdictWord.VALID if stale else VerdictWord.INVALID)


def test_what_has_expired_is_not_lost(tmp_path: Path) -> None:
    history = GroupHistory().own("a", 0, 5).give("a", 1, 0, 49).commit("a", 50, 3)
    cluster = group_meta().cluster
    short = ClusterInfo.model_validate(
        {**cluster.model_dump(), "properties": {"offsets.retention.minutes": "1"}}
    )
    history.answer(None, 64)
    assert checked(tmp_path / "expired", history, group_meta(cluster=short))[1] == []
    assert [row["finding"] for row in checked(tmp_path / "kept", history)[1]] == ["commit_lost"]


def test_what_was_deleted_with_its_topic_is_not_lost(tmp_path: Path) -> None:
    history = GroupHistory().own("a", 0, 40).give("a", 1, 0, 49).commit("a", 50, 3).answer(None, 9)
    again = group_meta(steps=(step(0, "write", 0, 50), step(1, "again", 5, 6, kind="recreate_topic")))
    assert checked(tmp_path, history, again)[1] == []


def test_the_session_time_out_of_the_new_protocol_is_the_brokers(tmp_path: Path) -> None:
    history = worked().own("b", 15, 45).give("b", 16, 50, 59).give("a", 17, 50, 54)
    meta = group_meta()
    readers = tuple(one.model_copy(update={"protocol": "consumer"}) for one in meta.readers)
    long = meta.cluster.model_copy(update={"properties": {"group.consumer.session.timeout.ms": "30000"}})
    assert checked(tmp_path / "own", history, group_meta(readers=readers))[1] == []
    found = checked(tmp_path / "brokers", history, group_meta(readers=readers, cluster=long))[1]
    assert [row["finding"] for row in found] == ["two_owners"]


def test_the_time_without_an_owner_is_told(tmp_path: Path) -> None:
    history = GroupHistory().own("a", 0, 10).own("b", 14.5, 20).own("a", 20.4, 30).own("b", 32, 40)
    (told,) = checked(tmp_path / "long", history)[0].ownerless
    assert (told.group, told.partition, told.seconds, told.longest) == ("g", 0, 6.9, 4.5)
    overlapping = GroupHistory().own("a", 0, 10).own("b", 5, 20).own("a", 20.4)
    assert checked(tmp_path / "short", overlapping)[0].ownerless == ()
