"""Deleted records, against a cluster made of views: what is asked, what is proof, what the run is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from pydantic import ValidationError

from faults.delete_records import DeleteOldRecords
from faults.targets.target_context import ClusterShape
from harness.model.broker_views import TopologyView
from harness.model.errors import FaultError
from tests.support.builders.views import quiet, seen, silent, state, view
from tests.support.fake_cluster import FakeCluster, context

pytestmark = pytest.mark.pure

SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=2, replication_factor=3)


@dataclass
class Deleting(FakeCluster):
    """A fake cluster that keeps what it was asked to delete."""

    asked: list[dict[int, int]] = field(default_factory=list)

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        assert topic == "t"
        self.asked.append(dict(before))


def begins(*starts: int) -> TopologyView:
    """The leader, broker 1, and its followers, whose logs begin at these offsets."""
    return view(
        *(seen(at, state(start=start, mark=10 if at == 1 else None)) for at, start in enumerate(starts, 1))
    )


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faults.delete_records.RecordsDeleted.proof_seconds", 0.0)
    monkeypatch.setattr("faults.delete_records.RecordsDeleted.proof_pause", 0.0)


@pytest.mark.parametrize(
    ("fault", "start", "offset"),
    [
        (DeleteOldRecords(), 0, 5),
        (DeleteOldRecords(share=0.25), 0, 3),
        (DeleteOldRecords(share=0.5), 4, 7),
        (DeleteOldRecords(share=1.0), 4, 10),
        (DeleteOldRecords(before=7), 4, 7),
        (DeleteOldRecords(before=99), 4, 10),
    ],
    ids=repr,
)
def test_the_offset(fault: DeleteOldRecords, start: int, offset: int) -> None:
    cluster = Deleting([begins(start, start, start)])
    injection = fault.aim(context(cluster))
    injection.apply(context(cluster))
    assert cluster.asked == [{0: offset}]
    assert injection.on_topic.deleted_below == {0: offset}
    assert injection.nodes == (1,)
    assert injection.target == f"records of partition 0 below offset {offset}"


@pytest.mark.parametrize(
    ("after", "seen_", "words"),
    [
        (begins(5, 5, 5), True, "partition 0 begins at offset 5, on every replica"),
        (begins(6, 5, 5), True, ""),
        (view(seen(1, state(start=5)), silent(2), seen(3, state(start=5))), True, ""),
        (begins(5, 5, 4), False, "still begins at offset 4 on broker 3"),
        (begins(0, 0, 0), False, "still begins at offset 0 on broker 1"),
        (view(silent(1), silent(2), silent(3)), False, "no replica of partition 0 answers"),
    ],
)
def test_it_is_proved_by_the_log_start_of_every_replica(after: TopologyView, seen_: bool, words: str) -> None:
    injection = DeleteOldRecords().aim(context(Deleting([begins(0, 0, 0)])))
    evidence = injection.verify(context(Deleting([after])))
    assert evidence.seen is seen_
    assert words in evidence.what


@pytest.mark.parametrize(
    ("now", "fault"),
    [
        (begins(10, 10, 10), DeleteOldRecords()),
        (begins(7, 7, 7), DeleteOldRecords(before=7)),
        (view(silent(1), seen(2, state()), seen(3, state())), DeleteOldRecords()),
    ],
    ids=["nothing is left", "nothing below", "the leader is silent"],
)
def test_nothing_to_delete_is_refused(now: TopologyView, fault: DeleteOldRecords) -> None:
    with pytest.raises(FaultError, match="there are no records to delete"):
        fault.aim(context(Deleting([now])))


def test_it_is_not_undone() -> None:
    cluster = Deleting([quiet()])
    injection = DeleteOldRecords().aim(context(cluster))
    assert "stays deleted" in injection.heal(context(cluster)).what
    assert cluster.asked == []


def test_bad_input() -> None:
    with pytest.raises(ValidationError, match="exclude each other"):
        DeleteOldRecords(before=3, share=0.5)
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        DeleteOldRecords(share=1.5)
    with pytest.raises(ValueError, match="there is no partition 2"):
        DeleteOldRecords(partition=2).warnings(SHAPE)
