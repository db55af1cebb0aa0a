"""What one named broker serves of a partition: the leader, and a follower up to its own high watermark."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from harness.cluster.managed import ManagedCluster
from harness.cluster.protocol.client_requests import epoch_end, fetch
from harness.cluster.protocol.connection import BrokerConnection
from harness.model.host.ports import HOST
from harness.model.polling import poll_within
from tests.chaos.support.cluster_queries import PATIENCE, leader_of
from workloads.records.log_format.segments import parse_segment

pytestmark = pytest.mark.chaos


def connected(cluster: ManagedCluster, broker: int) -> BrokerConnection:
    port = cluster.node(broker).host_port
    assert port is not None
    return BrokerConnection(broker, HOST, port, timeout=5.0)


def write(cluster: ManagedCluster, topic: str, records: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
    for _ in range(records):
        producer.produce(topic, b"x")
    assert producer.flush(2 * PATIENCE) == 0


def test_leader_and_followers_serve_what_is_committed(cluster: ManagedCluster, topic: str) -> None:
    write(cluster, topic, 10)
    leader = leader_of(cluster, topic)
    for broker in cluster.broker_ids:
        with connected(cluster, broker) as connection:

            def behind(connection: BrokerConnection = connection) -> str | None:
                seen = fetch(connection, topic, 0, 0).high_watermark
                return None if seen == 10 else f"high watermark {seen}"

            assert poll_within(PATIENCE, behind) is None
            found = fetch(connection, topic, 0, 0)
            assert (found.error, found.log_start_offset, found.last_stable_offset) == (None, 0, 10)
            assert sum(batch.count for batch in parse_segment(found.data)) == 10
            assert epoch_end(connection, topic, 0, 0) == ((0, 10) if broker == leader else None)
            assert fetch(connection, topic, 0, 11).error == "OFFSET_OUT_OF_RANGE"
            # An epoch that no leader has had yet: known to nobody.
            assert epoch_end(connection, topic, 0, 99) is None


def test_a_topic_that_is_not_there(cluster: ManagedCluster) -> None:
    with connected(cluster, cluster.broker_ids[0]) as connection:
        assert fetch(connection, "no-such-topic", 0, 0).error == "UNKNOWN_TOPIC_OR_PARTITION"
        assert epoch_end(connection, "no-such-topic", 0, 0) is None
