"""Where members begin that are answered STALE_MEMBER_EPOCH when they ask for their committed offset (KIP-848,
platformatic/kafka 267): offset 5 of 10 is committed, and auto.offset.reset=latest. That client began at the
end of the log; librdkafka asks again, and begins at 5.

Without --bootstrap librdkafka's mock cluster answers one member (`mock_brokers.py`). --topic is a topic of
real brokers (200 partitions for the arms of fifty members), which gets 10 records more in each partition; the
proxies of `proxied_brokers.py` answer so. kafka-chaos has to be installed for them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from mock_brokers import OFFSET_FETCH, mock_cluster
from trials import SHOWN, trials

CLIENT = "member"
STALE_MEMBER_EPOCH = 113
SECONDS, OF_MANY_SECONDS = 12.0, 90.0
"""How long one member, or fifty, are waited for."""


class AskedAgain(logging.Handler):
    """Counts how often members ask for a partition's committed offset again, as their debug logs say."""

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.times += "because of stale member epoch" in record.getMessage()


class Member:
    """A member of the group, and the first record that it was given of each partition that it has now."""

    def __init__(self, settings: dict[str, Any], topic: str, logger: logging.Logger) -> None:
        self.first: dict[int, int | None] = {}
        self._consumer = Consumer(settings, logger=logger)
        self._consumer.subscribe(
            [topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked
        )

    def _assigned(self, _consumer: Any, partitions: list[TopicPartition]) -> None:
        self.first |= {one.partition: None for one in partitions}

    def _revoked(self, _consumer: Any, partitions: list[TopicPartition]) -> None:
        for one in partitions:
            self.first.pop(one.partition, None)

    def poll(self, seconds: float) -> None:
        message = self._consumer.poll(seconds)
        if message is None or message.error() is not None:
            return
        if self.first.get(message.partition(), 0) is None:
            self.first[message.partition()] = message.offset()

    def leave(self) -> None:
        """Give up its partitions, and close it."""
        self._consumer.unsubscribe()
        for _ in range(50):
            self._consumer.poll(0.1)
            if not self.first:
                break
        self._consumer.close()


def write(bootstrap: str, topic: str, partitions: int) -> dict[int, int]:
    """Ten records to each partition; the offset of the sixth, by partition."""
    offsets: dict[int, int] = {}
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})

    def reported(error: Any, message: Any) -> None:
        if error is None and message.value() == b"5":
            offsets[message.partition()] = message.offset()

    for number in range(10 * partitions):
        producer.produce(topic, str(number % 10), partition=number // 10, on_delivery=reported)
    producer.flush(OF_MANY_SECONDS)
    return offsets


def trial(
    bootstrap: str, topic: str, partitions: int, count: int, begin: Callable[[], None], *, committed: bool
) -> str:
    """This number of members join at once, after offsets were committed and `begin` was called."""
    offsets = write(bootstrap, topic, partitions)
    settings = {
        "bootstrap.servers": bootstrap,
        "client.id": CLIENT,
        "group.id": f"g-{time.time_ns()}",
        "group.protocol": "consumer",
        "auto.offset.reset": "latest",
        "enable.auto.commit": False,
    }
    if committed:
        consumer = Consumer(settings | {"log_level": 0})
        consumer.commit(offsets=[TopicPartition(topic, *one) for one in offsets.items()], asynchronous=False)
        consumer.close()
    begin()
    asked = AskedAgain()
    logger = logging.Logger("members")
    logger.addHandler(asked)
    members = [Member(settings | {"debug": "cgrp"}, topic, logger) for _ in range(count)]
    until = time.monotonic() + (SECONDS if count == 1 else OF_MANY_SECONDS)
    found: dict[int, int | None] = {}
    while time.monotonic() < until:
        for one in members:
            one.poll(0.2 if count == 1 else 0.005)
        found = {partition: offset for one in members for partition, offset in one.first.items()}
        having = sum(bool(one.first) for one in members)
        if len(found) == partitions and having == min(count, partitions) and None not in found.values():
            break
    for one in members:
        one.leave()
    if len(found) < partitions:
        return f"not tried: only {len(found)} of {partitions} partitions were assigned in time"
    right = sum(found[partition] == offset for partition, offset in offsets.items())
    told = f"{right} of {partitions} began at the committed offset, asked again {asked.times} times"
    return told if right == partitions or not committed else SHOWN + told


def on_mock_brokers(count: int, *, answers: int = 0, committed: bool = True) -> str:
    if count > 1:
        return "not tried: needs --bootstrap and --topic"
    with mock_cluster(1) as cluster:
        cluster.create("t", 1)

        def begin() -> None:
            if answers:
                cluster.answer(OFFSET_FETCH, *[STALE_MEMBER_EPOCH] * answers)

        return trial(cluster.bootstrap, "t", 1, count, begin, committed=committed)


def on_real_brokers(
    bootstrap: str, topic: str, count: int, *, answers: int = 0, committed: bool = True
) -> str:
    from proxied_brokers import proxied_brokers

    known = Producer({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics(topic, timeout=30)
    with proxied_brokers(bootstrap) as proxied:

        def begin() -> None:
            if answers:
                error: dict[str, Any] = {"action": "error", "error": "STALE_MEMBER_EPOCH", "first": answers}
                proxied.rule("stale", api=("OffsetFetch",), client=CLIENT, **error)

        partitions = len(known.topics[topic].partitions)
        return trial(proxied.bootstrap, topic, partitions, count, begin, committed=committed)


def arm(count: int, **what: Any) -> Callable[..., str]:
    def run(bootstrap: str | None, topic: str | None) -> str:
        if bootstrap is None:
            return on_mock_brokers(count, **what)
        return on_real_brokers(bootstrap, topic or "t", count, **what)

    return run


if __name__ == "__main__":
    trials(
        {
            "answered once": arm(1, answers=1),
            "answered 10 times": arm(1, answers=10),
            "fifty members join": arm(50),
            "control, never answered so": arm(1),
            "control, nothing is committed": arm(1, committed=False),
        },
        options=("bootstrap", "topic"),
        seconds=240.0,
    )
