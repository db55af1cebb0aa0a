"""The lag and the members of an application's group, from what brokers answer."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException, TopicPartition

from tests.support.offsets_of_groups import OffsetsOfGroups
from workloads.applications.group_watch import _EARLIEST, GroupWatch

pytestmark = pytest.mark.pure


def _answered(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    if isinstance(value, BaseException):
        future.set_exception(value)
    else:
        future.set_result(value)
    return future


class Brokers:
    """What an admin client answers, and what the group has committed."""

    def __init__(self) -> None:
        self.state = ConsumerGroupState.STABLE
        self.members: list[list[int]] = [[0], [1]]
        self.committed: dict[int, int | KafkaError] = {0: 10, 1: 10}
        self.starts: dict[int, int] = {0: 0, 1: 0}
        self.ends: dict[int, int | KafkaException] = {0: 10, 1: 10}

    def describe_consumer_groups(self, groups: list[str], **_: Any) -> dict[str, Future[Any]]:
        members = [
            SimpleNamespace(
                client_id=f"c{number}",
                host="/10.0.0.1",
                assignment=SimpleNamespace(topic_partitions=[TopicPartition("in", one) for one in held]),
            )
            for number, held in enumerate(self.members)
        ]
        return {groups[0]: _answered(SimpleNamespace(state=self.state, members=members))}

    def list_offsets(self, wanted: dict[TopicPartition, Any], **_: Any) -> dict[TopicPartition, Future[Any]]:
        found = {}
        for place, spec in wanted.items():
            offset = (self.starts if spec is _EARLIEST else self.ends)[place.partition]
            failed = isinstance(offset, KafkaException)
            found[place] = _answered(offset if failed else SimpleNamespace(offset=offset))
        return found


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    made = Brokers()
    answer = OffsetsOfGroups(lambda _group, _topic: made.committed)
    monkeypatch.setattr("harness.cluster.topic_admin.Consumer", answer)
    return made


def _watch(brokers: Brokers, *, transactional: bool = False, group: str | None = "g") -> GroupWatch:
    watch = GroupWatch(group, "in", 2, bootstrap="127.0.0.1:1", security={}, transactional=transactional)
    watch._client = brokers  # type: ignore[assignment]
    return watch


def test_a_group_is_active_when_its_members_have_every_partition(brokers: Brokers) -> None:
    assert _watch(brokers).describe_inactive() is None
    assert _watch(brokers).strangers() == ("c0 at /10.0.0.1", "c1 at /10.0.0.1")
    brokers.members = [[1]]
    assert _watch(brokers).describe_inactive() == "no member of group g has partition(s) [0]"
    brokers.state = ConsumerGroupState.EMPTY
    assert _watch(brokers).describe_inactive() == "group g is EMPTY, with 1 member(s)"


def test_a_lag_is_allowed_up_to_a_bound(brokers: Brokers) -> None:
    assert _watch(brokers).describe_lag(0) is None
    brokers.committed = {0: 9, 1: 8}
    assert _watch(brokers).describe_lag(2) == "group g is 3 record(s) behind"
    assert _watch(brokers).describe_lag(3) is None


def test_a_partition_without_a_commit_counts_from_its_first_record(brokers: Brokers) -> None:
    brokers.committed = {0: 10, 1: -1001}
    assert _watch(brokers).describe_lag(0) == "group g is 10 record(s) behind"
    # What retention has deleted, nobody can process any more.
    brokers.starts[1] = 10
    assert _watch(brokers).describe_lag(0) is None


def test_a_leader_that_does_not_answer_leaves_the_lag_open(brokers: Brokers) -> None:
    brokers.ends[1] = KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))
    assert _watch(brokers).describe_lag(99) == "not every leader tells the end of its partition"


def test_a_coordinator_that_does_not_answer_leaves_the_lag_open(brokers: Brokers) -> None:
    brokers.committed[1] = KafkaError(KafkaError.NOT_COORDINATOR)
    said = _watch(brokers).describe_lag(99)
    assert said is not None
    assert said.startswith("the offsets of group g cannot be read: ")


def test_markers_of_transactions_are_no_lag(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    brokers.committed = {0: 9, 1: 10}
    left = {0: 0}
    watch = _watch(brokers, transactional=True)
    monkeypatch.setattr(watch, "_records_from", lambda partition, _offset, _end: left[partition])
    assert watch.describe_lag(0) is None
    left[0] = 1
    assert watch.describe_lag(0) == "group g is 1 record(s) behind"


def test_without_a_group_nothing_is_asked(brokers: Brokers) -> None:
    watch = _watch(brokers, group=None)
    assert watch.describe_inactive() is None
    assert watch.describe_lag(0) is None
    assert watch.strangers() == ()
    assert watch.ends() == {0: 10, 1: 10}


def test_a_partition_without_a_leader_has_no_end(brokers: Brokers) -> None:
    brokers.ends[0] = -1001
    watch = _watch(brokers)
    assert watch.ends() == {1: 10}
    assert watch.describe_lag(0) == "not every leader tells the end of its partition"
