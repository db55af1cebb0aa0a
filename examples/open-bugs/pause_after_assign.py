"""Where a consumer begins that is paused at once after assign() gave it an offset, and then resumed
(librdkafka 2190): it may lose that offset and begin where auto.offset.reset says.

librdkafka's mock cluster answers; `mock_brokers.py` says how.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from mock_brokers import mock_cluster
from trials import SHOWN, trials

TIMES = 20


def first_records(assign: Callable[[Any, Callable[[Any], None]], None]) -> str:
    """Assign offset 5 of 10 and pause, 20 times, each in a new consumer and group; the first records after
    the partition was resumed."""
    seen: Counter[int | None] = Counter()
    with mock_cluster(1) as cluster:
        cluster.create("t", 1)
        cluster.join_at_once()
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        for number in range(10):
            producer.produce("t", str(number), partition=0)
        producer.flush(10)
        for _ in range(TIMES):
            consumer = Consumer(
                {
                    "bootstrap.servers": cluster.bootstrap,
                    "log_level": 0,
                    "group.id": f"pause-{time.time_ns()}",
                    "auto.offset.reset": "earliest",
                    "enable.auto.commit": False,
                    "fetch.wait.max.ms": 10,
                }
            )
            assign(consumer, _assign_and_pause)
            consumer.poll(0.2)
            consumer.resume([TopicPartition("t", 0)])
            seen[_first(consumer)] += 1
            consumer.close()
    told = ", ".join(f"{count} began at {offset}" for offset, count in sorted(seen.items(), key=str))
    return told if set(seen) == {5} else SHOWN + told


def _assign_and_pause(consumer: Any) -> None:
    consumer.assign([TopicPartition("t", 0, 5)])
    consumer.pause([TopicPartition("t", 0)])


def _first(consumer: Any) -> int | None:
    until = time.monotonic() + 5
    while time.monotonic() < until:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            return int(message.offset())
    return None


def by_hand(consumer: Any, assign: Callable[[Any], None]) -> None:
    """Without a group."""
    assign(consumer)


def in_callback(consumer: Any, assign: Callable[[Any], None]) -> None:
    """In the callback of a rebalance."""
    called = []

    def on_assign(consumer: Any, _partitions: Any) -> None:
        assign(consumer)
        called.append(True)

    consumer.subscribe(["t"], on_assign=on_assign)
    until = time.monotonic() + 10
    while not called and time.monotonic() < until:
        consumer.poll(0.05)


if __name__ == "__main__":
    trials({"by hand": lambda: first_records(by_hand), "in a callback": lambda: first_records(in_callback)})
