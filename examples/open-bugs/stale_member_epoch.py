"""Where a member begins that is answered STALE_MEMBER_EPOCH when it asks for its committed offset (KIP-848,
platformatic/kafka 267): offset 5 of 10 is committed, and auto.offset.reset=latest. That client began at the
end of the log; librdkafka asks again, and begins at 5.

librdkafka's mock cluster answers; `mock_brokers.py` says how.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import Consumer, Producer, TopicPartition
from mock_brokers import OFFSET_FETCH, mock_cluster
from trials import SHOWN, trials

STALE_MEMBER_EPOCH = 113
SECONDS = 8.0


def first_record(answers: int, *, committed: bool = True) -> str:
    """The first record of a member whose first questions are answered so."""
    with mock_cluster(1) as cluster:
        cluster.create("t", 1)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        for number in range(10):
            producer.produce("t", str(number), partition=0)
        producer.flush(10)
        settings = {
            "bootstrap.servers": cluster.bootstrap,
            "log_level": 0,
            "group.id": "g",
            "group.protocol": "consumer",
            "auto.offset.reset": "latest",
            "enable.auto.commit": False,
        }
        if committed:
            consumer = Consumer(settings)
            consumer.commit(offsets=[TopicPartition("t", 0, 5)], asynchronous=False)
            consumer.close()
        if answers:
            cluster.answer(OFFSET_FETCH, *[STALE_MEMBER_EPOCH] * answers)
        consumer = Consumer(settings)
        consumer.subscribe(["t"])
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                return f"{'' if message.offset() == 5 else SHOWN}it began at offset {message.offset()}"
        return f"{SHOWN if committed else ''}it was given no record in {SECONDS:g} s"


def arm(answers: int, *, committed: bool = True) -> Callable[[], str]:
    return lambda: first_record(answers, committed=committed)


if __name__ == "__main__":
    trials(
        {
            "answered once": arm(1),
            "answered 10 times": arm(10),
            "control, never answered so": arm(0),
            "control, nothing is committed": arm(0, committed=False),
        }
    )
