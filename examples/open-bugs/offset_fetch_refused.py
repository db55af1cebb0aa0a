"""A member of a group that asks a broker for its offset which does not coordinate the group any more never
begins to read (librdkafka 5586). The error is raised once, and the question is not asked again: the member
keeps its partition, goes on with its heartbeats, and is given nothing. The mock cluster of `mock_brokers.py`
refuses the first question.
"""

from __future__ import annotations

import time

from confluent_kafka import Consumer, Producer
from mock_brokers import OFFSET_FETCH, mock_cluster
from trials import SHOWN, trials

TOPIC, RECORDS = "t", 20
SECONDS = 20.0
"""How long the member is polled after it has been given its partition."""
COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR = 14, 15, 16


def read(*errors: int, again: bool = False) -> str:
    """Join a group whose first questions for an offset are answered with these errors, and read. With `again`
    the member assigns itself the same partitions again when it is told of an error."""
    with mock_cluster(1) as cluster:
        cluster.join_at_once()
        cluster.create(TOPIC, replicas=1)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        for _ in range(RECORDS):
            producer.produce(TOPIC, b"value")
        producer.flush(SECONDS)
        if errors:
            cluster.answer(OFFSET_FETCH, *errors)
        given: list[int] = []
        consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "group.id": "g",
                "auto.offset.reset": "earliest",
                "log_level": 0,
            }
        )
        consumer.subscribe(
            [TOPIC], on_assign=lambda _, partitions: given.extend(one.partition for one in partitions)
        )
        told: list[str] = []
        records = 0
        until = time.monotonic() + SECONDS
        while records < RECORDS and time.monotonic() < until:
            message = consumer.poll(0.1)
            if message is None:
                continue
            error = message.error()
            if error is None:
                records += 1
            else:
                told.append(error.name())
                if again:
                    mine = consumer.assignment()
                    consumer.unassign()
                    consumer.assign(mine)
    errors_told = ", ".join(sorted(set(told))) or "no error"
    what = f"given partitions {given}, read {records} of {RECORDS} records, told of {errors_told}"
    return what if records else SHOWN + what


if __name__ == "__main__":
    trials(
        {
            "NOT_COORDINATOR": lambda **_: read(NOT_COORDINATOR),
            "COORDINATOR_NOT_AVAILABLE": lambda **_: read(COORDINATOR_NOT_AVAILABLE),
            "control, COORDINATOR_LOAD_IN_PROGRESS": lambda **_: read(COORDINATOR_LOAD_IN_PROGRESS),
            "control, no error": lambda **_: read(),
            "control, assigned again": lambda **_: read(NOT_COORDINATOR, again=True),
        }
    )
