"""The offsets that consumer groups have committed, asked of real brokers."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, TopicPartition

from harness.cluster.managed import ManagedCluster

pytestmark = pytest.mark.chaos


def test_groups_that_committed_offsets_of_the_topic(cluster: ManagedCluster, topic: str) -> None:
    admin = cluster.admin()
    assert admin.committed(topic) == {}
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "committed-orders"})
    try:
        consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
        assert admin.committed(topic) == {"committed-orders": {0: 0}}
        consumer.commit(offsets=[TopicPartition(topic, 0, 7)], asynchronous=False)
        assert admin.committed(topic) == {"committed-orders": {0: 7}}
        assert admin.committed("another-topic") == {}
    finally:
        consumer.close()
        admin.delete_groups(["committed-orders"])
    assert admin.committed(topic) == {}
