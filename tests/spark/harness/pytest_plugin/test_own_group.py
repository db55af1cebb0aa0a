"""The user's own groups: what is told of their members' journals, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkers.groups import one_group
from harness.model.errors import BadInput, CheckError
from harness.model.journal import READS, READS_DIR
from harness.pytest_plugin import own_group
from harness.pytest_plugin.delivery_report import Committed
from harness.pytest_plugin.own_group import group_problems
from tests.support.history import T0, TOPIC, History, run_meta, window, write_part
from workloads.own import consumer_journal
from workloads.own.consumer_journal import ConsumerJournal

pytestmark = pytest.mark.spark

SECOND = 1_000_000_000
LOG = [(0, offset) for offset in range(40)]
DURING = " (during kill-1)"


class Clock:
    """A second passes between two events."""

    def __init__(self) -> None:
        self.now = 10 * SECOND

    def time_ns(self) -> int:
        self.now += SECOND
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(consumer_journal.time, "time_ns", made.time_ns)
    monkeypatch.setattr(own_group, "_AGAIN_SECONDS", 0.0)
    return made


def problems(
    folder: Path, *journals: ConsumerJournal, committed: Committed | str | None = None
) -> list[tuple[str, str]]:
    meta = run_meta(windows=(window("kill-1", -T0 / SECOND, None),))
    found = group_problems(journals, meta, with_log(folder), lambda: committed)
    assert all(one.endswith(DURING) for one in found)
    return [(name, detail) for name, _, detail in (one.removesuffix(DURING).partition(": ") for one in found)]


def with_log(folder: Path) -> Path:
    """The folder of a run whose final read has found `LOG`."""
    history = History()
    for _, offset in LOG:
        history.read(offset, at=offset)
    (folder / READS_DIR).mkdir(exist_ok=True)
    write_part(folder / READS_DIR / "part-00000.parquet", history.reads, READS)
    return folder


def worked(member: str = "a") -> ConsumerJournal:
    journal = ConsumerJournal("g", member)
    journal.assigned([0])
    journal.processed(LOG[:20])
    journal.committed([(0, 20)], asked_ns=journal.events[-1].at_ns)
    return journal


def test_a_member_that_commits_what_it_has_processed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_group.engines, "engine", None)  # Without a suspicion no engine is asked.
    one = worked()
    assert problems(tmp_path, one, committed={"g": {0: 20}}) == []
    assert problems(tmp_path, one, committed="the brokers do not answer") == []
    assert problems(tmp_path, one) == []
    one.revoked([0])
    other = worked("b")
    assert problems(tmp_path, one, other, committed={"g": {0: 20}, "h": {0: 3}}) == []
    assert (tmp_path / own_group.FOLDER / "g" / "commits").is_dir(), "the evidence is kept"


def test_a_commit_that_the_coordinator_lacks(tmp_path: Path) -> None:
    lost = (
        f"a of group g committed offset 20 of {TOPIC}-0 and was told that it is done, then the coordinator "
    )
    assert problems(tmp_path, worked(), committed={"g": {0: 12}}) == [
        ("commit_lost", lost + "answered 12, and the commit did not come back")
    ]
    assert problems(tmp_path, worked(), committed={}) == [
        ("commit_lost", lost + "answered no offset, and the commit did not come back")
    ]


def test_one_that_was_only_late_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_group, "_AGAIN_SECONDS", 60.0)
    monkeypatch.setattr(own_group, "_EVERY_SECONDS", 0.0)
    answers = iter([{"g": {0: 12}}, {"g": {0: 12}}, {"g": {0: 20}}])
    assert group_problems([worked()], run_meta(), with_log(tmp_path), lambda: next(answers)) == []


def test_a_commit_before_the_records_are_processed(tmp_path: Path) -> None:
    journal = ConsumerJournal("g", "a")
    journal.assigned([(0, 0)])
    journal.committed([(0, 20)], asked_ns=1)
    journal.processed(LOG[:20])
    beyond = (
        f"a of group g committed offset 20 of {TOPIC}-0, 20 record(s) beyond what its members had processed"
    )
    assert problems(tmp_path, journal, committed={"g": {0: 20}}) == [("commit_ahead", beyond)]


def test_a_commit_of_another_members_partition(tmp_path: Path) -> None:
    one = worked()
    one.revoked([0])
    other = worked("b")
    asked = other.events[-1].at_ns
    one.committed([(0, 20)], asked_ns=asked)
    found = problems(tmp_path, one, other, committed={"g": {0: 20}})
    assert [name for name, _ in found] == ["foreign_commit"]


def test_a_partition_with_two_owners(tmp_path: Path) -> None:
    one, other = worked(), worked("b")
    one.processed([(0, 20)])
    one.revoked([0])
    found = problems(tmp_path, one, other, committed={"g": {0: 20}})
    assert [name for name, _ in found] == ["two_owners"]


def test_rules_that_fail_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(one_group, "suspect_rules", fail)
    with pytest.raises(CheckError, match="the groups of the application cannot be judged") as refused:
        problems(tmp_path, worked())
    assert refused.value.found == "by zero"


def test_two_journals_of_one_member_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="two journals are of one member"):
        problems(tmp_path, worked(), worked())
