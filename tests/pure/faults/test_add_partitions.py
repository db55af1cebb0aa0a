"""Added partitions, against a cluster made of views: what is asked, what is proof, what the run is told."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from pydantic import ValidationError

from faults.add_partitions import AddPartitions
from faults.targets.target_context import ClusterShape
from harness.model.broker_views import PartitionState, TopologyView
from harness.model.errors import FaultError
from tests.support.builders.views import quiet, seen, silent, state, view
from tests.support.fake_cluster import FakeCluster, context

pytestmark = pytest.mark.pure

SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=9_999, replication_factor=3)


@dataclass
class Growing(FakeCluster):
    """A fake cluster that keeps how many partitions it was asked for."""

    asked: list[int] = field(default_factory=list)
    refusal: str | None = None

    def create_partitions(self, topic: str, count: int) -> str | None:
        assert topic == "t"
        self.asked.append(count)
        return self.refusal


def with_new(*news: PartitionState | None) -> TopologyView:
    """Three brokers that know partition 0, and what each says of partition 1 (None: nothing)."""
    return view(*(seen(at, state(), *(() if new is None else (new,))) for at, new in enumerate(news, 1)))


NEW = state(partition=1, leader=2, end=0)
LEADERLESS = state(partition=1, leader=-1, end=0)
LAGGING = state(partition=1, leader=2, end=0, isr=(2, 3))


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("proof_seconds", "proof_pause"):
        monkeypatch.setattr(f"faults.add_partitions.PartitionsAdded.{name}", 0.0)


def test_partitions_are_added_once() -> None:
    cluster = Growing([quiet(), quiet(), with_new(NEW, NEW, NEW)])
    injection = AddPartitions().aim(context(cluster))
    injection.apply(context(cluster))
    injection.apply(context(cluster))
    assert cluster.asked == [2]
    assert injection.target == "the topic: from 1 to 2 partitions"
    assert injection.on_topic.partitions == 2
    assert "the partitions stay" in injection.heal(context(cluster)).what


@pytest.mark.parametrize(
    ("after", "seen_", "words"),
    [
        (with_new(NEW, NEW, NEW), True, "knows 2 partitions, with a leader and a full ISR each"),
        (view(silent(1), seen(2, state(), NEW), seen(3, state(), NEW)), True, ""),
        (with_new(NEW, None, NEW), False, "broker [2] does not know partition 1"),
        (with_new(NEW, NEW, LEADERLESS), False, "has leader -1"),
        (with_new(NEW, NEW, LAGGING), False, "ISR [2, 3] of [1, 2, 3], says broker 3"),
        (quiet(), False, "does not know partition 1"),
        (view(silent(1), silent(2), silent(3)), False, "no broker answers"),
    ],
)
def test_it_is_proved_by_every_broker_that_answers(after: TopologyView, seen_: bool, words: str) -> None:
    injection = AddPartitions().aim(context(Growing([quiet()])))
    evidence = injection.verify(context(Growing([after])))
    assert evidence.seen is seen_
    assert words in evidence.what


def test_what_kafka_refuses_and_what_is_not_known() -> None:
    cluster = Growing([quiet()], refusal="POLICY_VIOLATION: too many")
    with pytest.raises(FaultError, match="POLICY_VIOLATION"):
        AddPartitions(count=3).aim(context(cluster)).apply(context(cluster))
    assert cluster.asked == [4]
    with pytest.raises(FaultError, match="number of partitions is not known"):
        AddPartitions().aim(context(Growing([view(silent(1), silent(2), silent(3))])))


def test_bad_input() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        AddPartitions(count=0)
    with pytest.raises(ValueError, match="more than 10,000"):
        AddPartitions(count=2).warnings(SHAPE)
