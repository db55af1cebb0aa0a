"""The offsets that groups have committed for a topic, against an admin client that answers from a table."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition

from harness.cluster.topic_admin import TopicAdmin
from harness.model.errors import ClusterError

pytestmark = pytest.mark.pure

Offsets = dict[str, list[TopicPartition] | KafkaException]


class _Client:
    def __init__(self, offsets: Offsets) -> None:
        self._offsets = offsets

    def list_consumer_groups(self, **_: Any) -> Future[Any]:
        return _done(SimpleNamespace(valid=[SimpleNamespace(group_id=name) for name in self._offsets]))

    def list_consumer_group_offsets(
        self, asked: list[ConsumerGroupTopicPartitions], **_: Any
    ) -> dict[str, Future[Any]]:
        (one,) = asked
        told = self._offsets[one.group_id]
        if isinstance(told, KafkaException):
            return {one.group_id: _done(error=told)}
        return {one.group_id: _done(ConsumerGroupTopicPartitions(one.group_id, told))}


def _done(result: Any = None, error: Exception | None = None) -> Future[Any]:
    future: Future[Any] = Future()
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
    return future


def _admin(monkeypatch: pytest.MonkeyPatch, offsets: Offsets) -> TopicAdmin:
    monkeypatch.setattr("harness.cluster.topic_admin.AdminClient", lambda _: _Client(offsets))
    return TopicAdmin("127.0.0.1:1")


def test_groups_with_offsets_of_the_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = _admin(
        monkeypatch,
        {
            "orders": [TopicPartition("t", 0, 7), TopicPartition("t", 1, -1001), TopicPartition("u", 2, 9)],
            "at-the-start": [TopicPartition("t", 2, 0)],
            "elsewhere": [TopicPartition("u", 0, 5)],
            "none": [],
        },
    )
    assert admin.committed("t") == {"orders": {0: 7}, "at-the-start": {2: 0}}


def test_a_group_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = KafkaException(KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE))
    with pytest.raises(ClusterError, match="committed offsets could not be read") as caught:
        _admin(monkeypatch, {"orders": gone}).committed("t")
    assert caught.value.where == "group orders"
