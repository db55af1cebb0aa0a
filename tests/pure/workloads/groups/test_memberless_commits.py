"""Commits of groups without members: which broker takes them, and what is journaled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from harness.model.errors import BadInput, ClusterError
from tests.support.journal_rows import Rows
from workloads.groups import memberless_commits
from workloads.groups.commit_flood import AnsweredCommit
from workloads.groups.group_steps import CommitOffsets
from workloads.groups.memberless_commits import MemberlessCommits

pytestmark = pytest.mark.pure


class Cluster:
    """Broker 2 coordinates; `login` is set if clients must authenticate."""

    broker_ids = (1, 2, 3)

    def __init__(self, login: object = None) -> None:
        self.access = SimpleNamespace(login=login)

    def endpoint(self, broker: int) -> tuple[str, int]:
        return ("127.0.0.1", broker)

    def coordinator(self, key: str, **_: Any) -> int:  # noqa: ARG002
        return 2


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, tuple[str, ...]]]:
    """The broker and the groups of each flood."""
    calls: list[tuple[int, tuple[str, ...]]] = []

    class Flood:
        def __init__(
            self,
            address: tuple[str, int],
            groups: Iterable[str],
            body: bytes,  # noqa: ARG002
            answered: Callable[[AnsweredCommit], None],
        ) -> None:
            self._broker, self._groups, self._answered = address[1], tuple(groups), answered
            calls.append((self._broker, self._groups))

        def send(self, seconds: float) -> None:
            pass

        def collect(self, seconds: float) -> None:  # noqa: ARG002
            for group in self._groups:
                self._answered(AnsweredCommit(group, 1, 2, None if self._broker == 2 else "NOT_COORDINATOR"))

    monkeypatch.setattr(memberless_commits, "CommitFlood", Flood)
    monkeypatch.setattr(memberless_commits, "_RETRY_SECONDS", 0.01)
    return calls


def step(name: str, **values: Any) -> CommitOffsets:
    return CommitOffsets.model_validate({"name": name, "within": 30, **values})


def commits(rows: Rows, login: object = None) -> MemberlessCommits:
    return MemberlessCommits(Cluster(login), "t", rows)  # type: ignore[arg-type]


EVERY = (1, 2, 3)


def test_the_coordinator_takes_them_and_later_steps_know_it(asked: list[Any]) -> None:
    rows = Rows()
    made = commits(rows)
    made.carry_out(step("one", through={"all": True}, groups=3, offset=4), lambda _: EVERY)
    made.carry_out(step("two", same_as="one", awaited=False), lambda _: ())
    made.end()
    assert asked == [(1, ("one-0",)), (2, ("one-0",)), (2, ("one-1", "one-2")), (2, ("two-0",))]
    assert [(row["reader"], row["offset"], row["error"], row["kind"]) for row in rows.rows] == [
        ("one-0", 4, None, "alone"),
        ("one-1", 4, None, "alone"),
        ("one-2", 4, None, "alone"),
        ("two-0", 1, None, "alone"),
    ]
    assert [(info.name, info.group, info.records) for info in made.infos()] == [
        (name, name, 0) for name in ("one-0", "one-1", "one-2", "two-0")
    ]


def test_a_refused_commit_has_no_reader(asked: list[Any]) -> None:
    rows = Rows()
    made = commits(rows)
    made.carry_out(step("one", through={"all": True}), lambda _: EVERY)
    with pytest.raises(ClusterError, match="no broker took a commit") as raised:
        made.carry_out(step("two", other_than="one", within=0.5), lambda _: ())
    assert "NOT_COORDINATOR" in str(raised.value)
    assert {broker for broker, groups in asked if groups == ("two-0",)} == {1, 3}
    assert len(rows.rows) == len(made.infos()) == 1


def test_what_expires_is_not_judged(asked: list[Any]) -> None:
    rows = Rows()
    made = commits(rows)
    made.carry_out(step("one", through={"all": True}, retention=0.1), lambda _: EVERY)
    assert asked
    assert (rows.rows, made.infos(), made.answered) == ([], (), [])


def test_a_cluster_with_a_password_is_refused() -> None:
    with pytest.raises(BadInput, match="raw requests"):
        commits(Rows(), login=object()).carry_out(step("one", through={"all": True}), lambda _: EVERY)
