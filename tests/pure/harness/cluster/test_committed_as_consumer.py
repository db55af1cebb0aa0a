"""What a group has committed, asked as a consumer of it; and that nothing asks as an admin client."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException

import harness
from harness.cluster.topic_admin import committed_as_consumer
from tests.support.offsets_of_groups import OffsetsOfGroups

pytestmark = pytest.mark.pure


def _told(monkeypatch: pytest.MonkeyPatch, offsets: dict[int, int | KafkaError]) -> OffsetsOfGroups:
    made = OffsetsOfGroups(lambda _group, _topic: offsets)
    monkeypatch.setattr("harness.cluster.topic_admin.Consumer", made)
    return made


def test_partitions_without_a_commit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    consumers = _told(monkeypatch, {0: 7, 1: -1001, 2: 0})
    assert committed_as_consumer({}, "g", "t", range(4), 1.0) == {0: 7, 2: 0}
    assert consumers.open == 0


def test_the_error_of_a_partition_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    consumers = _told(monkeypatch, {0: 7, 1: KafkaError(KafkaError.NOT_COORDINATOR)})
    with pytest.raises(KafkaException) as caught:
        committed_as_consumer({}, "g", "t", range(2), 1.0)
    assert caught.value.args[0].code() == KafkaError.NOT_COORDINATOR
    assert consumers.open == 0


def test_nobody_answers() -> None:
    with pytest.raises(KafkaException):
        committed_as_consumer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}, "g", "t", [0], 0.3)


def test_no_module_uses_the_admin_clients_request() -> None:
    # It may end the process (librdkafka 5040).
    root = Path(harness.__file__).parents[1]
    users = [
        path.relative_to(root)
        for room in ("harness", "faults", "workloads", "kafka_chaos")
        for path in (root / room).rglob("*.py")
        if ".list_consumer_group_offsets(" in path.read_text(encoding="utf-8")
    ]
    assert users == []
