"""Expectations on consumer groups and share groups, on runs that hold what they are given."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from harness.lab.suite.expect_groups import (
    accepted,
    commits_answered,
    given_times,
    handover,
    last_answer,
    moved,
    owned,
    still_committed,
    transaction,
    transaction_records,
)
from harness.lab.suite.expect_records import committed, writers
from harness.lab.suite.expectations import Expectation
from harness.lab.suite.run_evidence import SECOND, FinishedRun
from harness.model.journal import TxnOutcome
from harness.model.run import StepInfo

pytestmark = pytest.mark.pure


class Run(FinishedRun):
    """Two steps, from 10 s to 20 s and from 20 s to 30 s, and the rows of journals by their folders."""

    def __init__(self, **rows: list[dict[str, Any]]) -> None:
        steps = [
            StepInfo(index=n, name=name, kind="x", started_ns=at * SECOND, ended_ns=(at + 10) * SECOND)
            for n, (name, at) in enumerate({"one": 10, "two": 20}.items())
        ]
        self.__dict__["meta"] = SimpleNamespace(steps=steps)
        self._rows = rows


def seen(expectation: Expectation, run: Run) -> tuple[str, bool | None]:
    found = expectation.observe(run)
    return found.seen, found.ok


def owner(at: float, reader: str, event: str, partition: int) -> dict[str, Any]:
    return {"at_ns": int(at * SECOND), "reader": reader, "event": event, "partition": partition}


MOVES = [
    owner(1, "a", "assigned", 0),
    owner(1, "a", "assigned", 1),
    owner(12, "a", "revoked", 1),
    owner(13, "b", "assigned", 1),
    owner(35, "a", "revoked", 0),
]


def test_partitions_that_move_in_the_steps_count() -> None:
    run = Run(assignments=MOVES)
    assert seen(moved("a", "one", 1), run) == ("1", True)
    assert seen(moved("a", "two", 0), run) == ("0", True)
    assert seen(moved("a", "one", 2), run) == ("1", False)
    assert seen(moved("c", "one", 0), run)[1] is None
    assert seen(owned("b", "one", 1), run) == ("1", True)
    assert seen(owned("a", "one", 1, 2), run) == ("0", False)
    assert seen(handover("b", "one", least=2, most=4), run) == ("3.0 s", True)
    assert seen(handover("b", "two", least=0, most=4), run)[1] is None


def commit(reader: str, offset: int, error: str | None = None, session: int = 0) -> dict[str, Any]:
    return {"reader": reader, "session": session, "partition": 0, "offset": offset, "error": error}


def test_commits_that_were_answered_count() -> None:
    rows = [commit("late-0", 1), commit("late-1", 1, "NOT_COORDINATOR"), commit("later-0", 1)]
    run = Run(commits=rows)
    assert seen(commits_answered("late", 1), run) == ("1", True)
    assert seen(commits_answered("late", 2, 9), run) == ("1", False)
    assert seen(commits_answered("none", 0), run)[1] is None


def test_the_last_commit_of_a_session() -> None:
    run = Run(commits=[commit("a", 5), commit("a", 7, "x"), commit("a", 6), commit("a", 9, session=1)])
    assert seen(committed("a", 0, 6), run) == ("6", True)
    assert seen(committed("a", 2, 6), run)[1] is None


def sent(producer: int, seq: int, outcome: str = "acked", txn: int = 0) -> dict[str, Any]:
    return {"producer": producer, "seq": seq, "outcome": outcome, "txn": txn, "step": 0}


@pytest.mark.parametrize(
    ("error", "ok"),
    [("_FENCED", True), ("ProducerFencedException", True), ("_TIMED_OUT", False), (None, False)],
)
def test_a_fenced_producer_is_known_by_the_error_of_its_transaction(error: str | None, ok: bool) -> None:
    run = Run(transactions=[{"producer": 0, "txn": 1, "outcome": "aborted", "error": error}])
    aborted, committed = TxnOutcome.ABORTED, TxnOutcome.COMMITTED
    assert seen(transaction(0, 1, aborted, fenced=True), run) == (f"aborted, {error or 'no error'}", ok)
    assert seen(transaction(0, 1, committed, fenced=True), run)[1] is False
    assert seen(transaction(0, 2, aborted, fenced=True), run) == ("producer 0 has no transaction 2", None)
    assert seen(transaction(0, 1, aborted), run) == ("aborted", True)
    assert seen(transaction(0, 1, committed), run) == ("aborted", False)


def test_records_of_a_transaction_in_the_log_and_committed() -> None:
    sends = [sent(0, 0), sent(0, 1, txn=1), sent(0, 2, txn=1), sent(0, 3, "indeterminate", txn=1), sent(1, 1)]
    reads = [{"producer": producer, "seq": seq} for producer, seq in ((0, 0), (0, 1), (0, 2), (1, 1))]
    run = Run(sends=sends, reads=reads, committed=[reads[0], reads[3]])
    assert seen(transaction_records(0, 1, log=2, committed=0), run) == ("in the log: 2, committed: 0", True)
    assert seen(transaction_records(0, 0, log=1, committed=1), run)[1] is True
    assert seen(transaction_records(0, 1, log=2, committed=2), run)[1] is False
    assert seen(transaction_records(0, 2, log=0, committed=0), run)[1] is None


def test_the_producers_whose_records_were_acknowledged() -> None:
    run = Run(sends=[sent(0, 0, "indeterminate"), sent(1, 0), sent(2, 0) | {"step": 1}])
    assert seen(writers("one", frozenset({1})), run) == ("1", True)
    assert seen(writers("one", frozenset({0, 1})), run) == ("1", False)


def answer(at: int, offset: int | None, error: str | None = None, source: str = "fetch") -> dict[str, Any]:
    row = {"group": "g", "partition": 0, "source": source, "error": error}
    return {**row, "at_ns": at, "offset": offset}


def test_the_last_answer_about_a_group() -> None:
    rows = [answer(5, 3), answer(9, None), answer(10, 4, "NOT_COORDINATOR"), answer(11, 8, source="logged")]
    assert seen(last_answer("g", None), Run(offsets=rows)) == ("none", True)
    assert seen(last_answer("g", 3), Run(offsets=rows[:1])) == ("3", True)
    assert seen(last_answer("h", 3), Run(offsets=rows))[1] is None


def test_whether_an_offset_is_still_committed() -> None:
    rows = [answer(5, 3), answer(9, None, "NOT_COORDINATOR")]
    for found, held in ((rows[:1], True), (rows, False), ([], False), ([answer(5, 4)], False)):
        assert seen(still_committed("g", 3, held), Run(offsets=found))[1] is True
        assert seen(still_committed("g", 3, not held), Run(offsets=found))[1] is False


def given(offset: int, acknowledgement: str = "accept", error: str | None = None) -> dict[str, Any]:
    row = {"partition": 0, "offset": offset, "acknowledgement": acknowledgement}
    return {**row, "answered_ns": 5, "error": error}


def test_how_often_members_of_a_share_group_were_given_records() -> None:
    log = [{"partition": 0, "offset": offset} for offset in (0, 1)]
    run = Run(deliveries=[given(0), given(0), given(1, "release"), given(1, error="x")], reads=log)
    assert seen(given_times(2), run) == ("2", True)
    assert seen(accepted(1), run) == ("1", True)
    assert seen(accepted(2), run) == ("1", False)
    never = Run(deliveries=[given(0)], reads=log)
    assert seen(given_times(1), never) == ("0, 1", False)
    assert seen(given_times(1), Run(deliveries=[], reads=[]))[1] is None
