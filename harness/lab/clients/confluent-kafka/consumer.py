"""Handles the records of a topic with confluent-kafka, and journals each one once it is handled."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "packages"))

from confluent_kafka import Consumer
from handler import Handler, HandlerFailed

IDLE_SECONDS = 0.5  # How often the loop looks whether it shall end while there are no records.

handler, terminated = Handler("confluent-kafka"), threading.Event()


def process(record: Any) -> None:
    try:
        handler.handle(record.partition(), record.offset(), record.key(), record.value())
    except HandlerFailed:
        if handler.ends != "error-caught":
            raise
        print(f"offset {record.offset()} could not be handled", file=sys.stderr)


def journals(event: str) -> Any:
    """A callback that journals what the group gives to this member, or takes away."""
    return lambda _, partitions: handler.tell_partitions(event, partitions)


signal.signal(signal.SIGTERM, lambda *_: terminated.set())
time.sleep(handler.join_seconds)
config = {
    "bootstrap.servers": os.environ["KAFKA_CHAOS_BOOTSTRAP"],
    "group.id": os.environ["KAFKA_CHAOS_GROUP"],
}
if os.environ["KAFKA_CHAOS_MODE"] == "consumer-protocol":
    config["group.protocol"] = "consumer"
if isolation := os.environ["KAFKA_CHAOS_ISOLATION"]:
    config["isolation.level"] = isolation
consumer = Consumer(config)
consumer.subscribe(
    [os.environ["KAFKA_CHAOS_TOPIC"]],
    on_assign=journals("assigned"),
    on_revoke=journals("revoked"),
    on_lost=journals("lost"),
)
try:
    while not (terminated.is_set() or handler.stops):
        record = consumer.poll(IDLE_SECONDS)
        if record is None:
            continue
        if record.error():
            print(record.error(), file=sys.stderr)
            continue
        process(record)
finally:
    if handler.ends != "error-raised":
        consumer.close()
handler.tell("end")
