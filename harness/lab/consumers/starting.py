"""Starts a consumer when its input is there: `python -m harness.lab.consumers.starting COMMAND ...`.

The first member commits offset 0 for its group, so that every client begins there, whatever its
auto.offset.reset; then this process becomes the program. One that is started again waits a little first.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

_SECONDS = 60.0
_EVERY_SECONDS = 0.1
_AGAIN_SECONDS = 3.0
"""What starts a program again elsewhere waits, too."""
_REQUEST_SECONDS = 10.0


def main(command: list[str]) -> None:
    """Wait, and become the program."""
    environment = os.environ
    deliveries = Path(environment["KAFKA_CHAOS_DELIVERIES"])
    deliveries.mkdir(parents=True, exist_ok=True)
    bootstrap, topic = environment["KAFKA_CHAOS_BOOTSTRAP"], environment["KAFKA_CHAOS_TOPIC"]
    if any(deliveries.iterdir()):
        # A program that ends while its broker is down would use up its restarts before the broker is back.
        time.sleep(_AGAIN_SECONDS)
    else:
        partitions = [
            TopicPartition(topic, number) for number in range(int(environment["KAFKA_CHAOS_PARTITIONS"]))
        ]
        if environment["KAFKA_CHAOS_INSTANCE"] == "0":
            _commit_start(bootstrap, environment["KAFKA_CHAOS_GROUP"], partitions)
        records, start = int(environment["KAFKA_CHAOS_RECORDS"]), int(environment["KAFKA_CHAOS_LOG_START"])
        _await_records(bootstrap, partitions, records, start)
    os.execvp(command[0], command)


def _commit_start(bootstrap: str, group: str, partitions: list[TopicPartition]) -> None:
    """Commit offset 0 of these partitions for a group that has no members yet."""
    places = [TopicPartition(one.topic, one.partition, 0) for one in partitions]
    wanted = [ConsumerGroupTopicPartitions(group, places)]
    admin, deadline = AdminClient({"bootstrap.servers": bootstrap}), time.monotonic() + _SECONDS
    while True:
        try:
            for answer in admin.alter_consumer_group_offsets(wanted).values():
                # A partition may have an error of its own though the answer has none.
                for place in answer.result(_REQUEST_SECONDS).topic_partitions:
                    if place.error is not None:
                        raise KafkaException(place.error)
            return
        except (KafkaException, TimeoutError):
            # The coordinator of a first group is still being made.
            if time.monotonic() > deadline:
                raise
            time.sleep(_EVERY_SECONDS)


def _await_records(bootstrap: str, partitions: list[TopicPartition], records: int, start: int) -> None:
    """Wait until these partitions have had this number of records, and those below `start` of each are
    deleted."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "kafka-chaos-starting"})
    try:
        while True:
            bounds = [consumer.get_watermark_offsets(one, timeout=_REQUEST_SECONDS) for one in partitions]
            if sum(end for _, end in bounds) >= records and all(begin >= start for begin, _ in bounds):
                return
            time.sleep(_EVERY_SECONDS)
    finally:
        consumer.close()


if __name__ == "__main__":
    main(sys.argv[1:])
