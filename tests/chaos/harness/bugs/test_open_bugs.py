"""Bugs that are open in current clients: a test that fails here shows that a bug has been fixed.

docs/bugs.md describes them; the workarounds of the harness would then no longer be needed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from harness.cluster.managed import ManagedCluster
from harness.model.polling import wait_until
from harness.spec.cluster import ClusterSpec

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

ALLOWED = 2.0
"""The time-out of the call in seconds."""
STUCK = 20.0
"""Seconds after which the call counts as ignoring its time-out."""


@pytest.fixture
def pair() -> Iterator[ManagedCluster]:
    """Two brokers; the internal topics have one replica each, so that no broker takes over."""
    alone = {
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }
    with ManagedCluster(ClusterSpec(brokers=2, properties=alone)) as started:
        yield started


def of_broker(cluster: ManagedCluster, broker: int, *, transactional: bool) -> str:
    """A transactional id or a group that this broker coordinates."""
    names = (f"one-{number}" for number in range(100))
    return next(
        name for name in names if cluster.coordinator(name, transactional=transactional, within=30) == broker
    )


def test_offsets_of_a_transaction_wait_longer_than_allowed(pair: ManagedCluster) -> None:
    """librdkafka 5456: send_offsets_to_transaction does not respect its time-out."""
    pair.admin().create("t", partitions=1, replication_factor=1, config={}, assignment=[[1]])
    group = of_broker(pair, 2, transactional=False)
    common = pair.access.properties | {"bootstrap.servers": pair.bootstrap}
    consumer = Consumer(common | {"group.id": group})
    producer = Producer(common | {"transactional.id": of_broker(pair, 1, transactional=True)})
    took: list[float] = []

    def send(allowed: float) -> None:
        producer.begin_transaction()
        producer.produce("t", b"value", partition=0)
        began = time.monotonic()
        try:
            producer.send_offsets_to_transaction(
                [TopicPartition("t", 0, 1)], consumer.consumer_group_metadata(), allowed
            )
        finally:
            took.append(time.monotonic() - began)

    producer.init_transactions(120)
    # The control: with its coordinator there, the call returns.
    send(STUCK)
    producer.commit_transaction(60)
    assert took[0] < STUCK
    # The markers are written after the answer; until then no other transaction accepts offsets.
    time.sleep(3)
    pair.kill(2)

    def not_fenced() -> str | None:
        told = [seen.brokers for seen in pair.view(()).answered()]
        return None if told == [(1,)] else f"{told}"

    # The next transaction finds a group without a coordinator.
    wait_until(not_fenced, what="broker 1 alone is left", seconds=60)
    waiting = threading.Thread(target=send, args=(ALLOWED,), daemon=True)
    waiting.start()
    waiting.join(STUCK)
    stuck = waiting.is_alive()
    # Whether it returns once the coordinator is back differs from run to run.
    pair.start_node(2)
    waiting.join(30)
    print(f"allowed {ALLOWED:g} s, took {took[1:] or 'more than 30 s after the coordinator was back'}")
    assert stuck, f"it came back after {took[1]:.1f} s: is librdkafka 5456 closed?"
    consumer.close()
