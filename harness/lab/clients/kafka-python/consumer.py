"""Handles the records of a topic with kafka-python, and journals each one once it is handled."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "packages"))

from handler import Handler, HandlerFailed
from kafka import ConsumerRebalanceListener, KafkaConsumer

IDLE_MS = 500  # How often the loop looks whether it shall end while there are no records.

handler, terminated = Handler("kafka-python"), threading.Event()


class KafkaPythonListener(ConsumerRebalanceListener):
    """Journals what the group gives to this member, and takes away."""

    def on_partitions_assigned(self, assigned: Any) -> None:
        handler.tell_partitions("assigned", assigned)

    def on_partitions_revoked(self, revoked: Any) -> None:
        handler.tell_partitions("revoked", revoked)

    def on_partitions_lost(self, lost: Any) -> None:
        handler.tell_partitions("lost", lost)


def is_over() -> bool:
    return terminated.is_set() or handler.stops


def process(record: Any) -> None:
    try:
        handler.handle(record.partition, record.offset, record.key, record.value)
    except HandlerFailed:
        if handler.ends != "error-caught":
            raise
        print(f"offset {record.offset} could not be handled", file=sys.stderr)


def iterate(consumer: KafkaConsumer) -> None:
    while not is_over():  # `for` ends when there was no record for consumer_timeout_ms.
        for record in consumer:
            process(record)
            if is_over():
                return


def poll(consumer: KafkaConsumer) -> None:
    while not is_over():
        for records in consumer.poll(timeout_ms=IDLE_MS).values():
            for record in records:
                process(record)
                if is_over():
                    return


signal.signal(signal.SIGTERM, lambda *_: terminated.set())
time.sleep(handler.join_seconds)
isolation = os.environ["KAFKA_CHAOS_ISOLATION"]
consumer = KafkaConsumer(
    bootstrap_servers=os.environ["KAFKA_CHAOS_BOOTSTRAP"],
    group_id=os.environ["KAFKA_CHAOS_GROUP"],
    consumer_timeout_ms=IDLE_MS,
    **({"isolation_level": isolation} if isolation else {}),
)
consumer.subscribe([os.environ["KAFKA_CHAOS_TOPIC"]], listener=KafkaPythonListener())
try:
    {"default": iterate, "poll": poll}[os.environ["KAFKA_CHAOS_MODE"]](consumer)
finally:
    if handler.ends != "error-raised":
        consumer.close()
handler.tell("end")
