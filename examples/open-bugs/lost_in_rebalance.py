"""A member that exceeds max.poll.interval.ms while a rebalance is under way is not told that it has lost its
partitions (librdkafka 5604). With the eager protocol they are revoked as if it still owned them, so that it
commits; with the cooperative one nothing is revoked, and it is given records of a partition it has lost.

Without --bootstrap librdkafka's mock cluster answers; `mock_brokers.py` says how. --topic is a topic of real
brokers, of one partition, which gets 10 records more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from mock_brokers import mock_cluster
from trials import SHOWN, trials

MAX_POLL_MS = 6000
"""max.poll.interval.ms, and session.timeout.ms, which may not be longer."""


class Member:
    """A member of the group, and what it was told, in order."""

    def __init__(self, settings: dict[str, Any], topic: str) -> None:
        self.told: list[str] = []
        self.read: list[int] = []
        self._consumer = Consumer(settings)
        self._consumer.subscribe(
            [topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )

    def _assigned(self, _consumer: Any, partitions: list[TopicPartition]) -> None:
        self.told.append(f"assigned {len(partitions)}")

    def _revoked(self, consumer: Any, partitions: list[TopicPartition]) -> None:
        """Commit what was processed, as applications do when a partition is revoked."""
        answer = "OK"
        try:
            consumer.commit(
                offsets=[TopicPartition(one.topic, one.partition, 1) for one in partitions],
                asynchronous=False,
            )
        except KafkaException as error:
            answer = error.args[0].name()
        self.told.append(f"revoked {len(partitions)} (its commit: {answer})")

    def _lost(self, _consumer: Any, partitions: list[TopicPartition]) -> None:
        self.told.append(f"lost {len(partitions)}")

    def poll(self) -> None:
        """Take one record or event."""
        message = self._consumer.poll(0.1)
        if message is not None and message.error() is not None:
            self.told.append(message.error().name())
        elif message is not None:
            self.read.append(message.offset())


def trial(address: str, topic: str, strategy: str, *, second: bool) -> str:
    """One member reads a record, does not poll for longer than it may, and polls again for 2 s; with `second`
    another one joins while it does not poll."""
    settings = {
        "bootstrap.servers": address,
        "log_level": 0,
        "group.id": f"lost-{time.time_ns()}",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "session.timeout.ms": MAX_POLL_MS,
        "max.poll.interval.ms": MAX_POLL_MS,
        "heartbeat.interval.ms": 500,
        "partition.assignment.strategy": strategy,
    }
    producer = Producer({"bootstrap.servers": address, "log_level": 0})
    for number in range(10):
        producer.produce(topic, str(number), partition=0)
    producer.flush(10)
    first = Member(settings, topic)
    while not first.read:
        first.poll()
    other = Member(settings, topic) if second else None
    until = time.monotonic() + MAX_POLL_MS / 1000 * 1.5
    while time.monotonic() < until:
        if other is not None:
            other.poll()
        else:
            time.sleep(0.1)
    read, told_before, given = len(first.read), len(first.told), 0
    until = time.monotonic() + 2
    while time.monotonic() < until:
        first.poll()
        if all(one in ("assigned 0", "_MAX_POLL_EXCEEDED") for one in first.told[told_before:]):
            given = len(first.read) - read
    told = f"told {', '.join(first.told)}; given {given} records before it knew"
    return told if any(one.startswith("lost") for one in first.told) else SHOWN + told


def arm(strategy: str, *, second: bool) -> Callable[..., str]:
    def run(bootstrap: str | None, topic: str | None) -> str:
        if bootstrap is not None:
            return trial(bootstrap, topic or "t", strategy, second=second)
        with mock_cluster(1) as cluster:
            cluster.create("t", 1)
            cluster.join_at_once()
            return trial(cluster.bootstrap, "t", strategy, second=second)

    return run


if __name__ == "__main__":
    trials(
        {
            "eager, a second member joins": arm("range", second=True),
            "cooperative, a second member joins": arm("cooperative-sticky", second=True),
            "control, eager, alone": arm("range", second=False),
            "control, cooperative, alone": arm("cooperative-sticky", second=False),
        },
        options=("bootstrap", "topic"),
    )
