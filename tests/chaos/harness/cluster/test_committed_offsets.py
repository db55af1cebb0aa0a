"""The offsets that consumer groups have committed, asked of real brokers."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from harness.cluster.managed import ManagedCluster
from harness.model.polling import wait_until
from tests.chaos.support.cluster_queries import PATIENCE

pytestmark = pytest.mark.chaos


def commit(consumer: Consumer, place: TopicPartition) -> None:
    """The first group of a cluster waits for its coordinator: until the topic with the offsets exists."""

    def refused() -> str | None:
        try:
            consumer.commit(offsets=[place], asynchronous=False)
        except KafkaException as error:
            return str(error)
        return None

    wait_until(refused, what="the commit is answered", seconds=2 * PATIENCE)


def test_groups_that_committed_offsets_of_the_topic(cluster: ManagedCluster, topic: str) -> None:
    admin = cluster.admin()
    assert admin.committed(topic) == {}
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "committed-orders"})
    try:
        commit(consumer, TopicPartition(topic, 0, 0))
        assert admin.committed(topic) == {"committed-orders": {0: 0}}
        commit(consumer, TopicPartition(topic, 0, 7))
        assert admin.committed(topic) == {"committed-orders": {0: 7}}
        assert admin.committed("another-topic") == {}
    finally:
        consumer.close()
        admin.delete_groups(["committed-orders"])
    assert admin.committed(topic) == {}
