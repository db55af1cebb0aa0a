"""Handles the records of a topic with kafka-python, and journals each one once it is handled."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "packages"))

from kafka import ConsumerRebalanceListener, KafkaConsumer

sys.tracebacklimit = 0  # What the handler raises is in the journal.
IDENTITY_BYTES = 28
IDLE_MS = 500  # How often the loop looks whether it shall end while there are no records.

instance, mode = os.environ["KAFKA_CHAOS_INSTANCE"], os.environ["KAFKA_CHAOS_MODE"]
handle_seconds = float(os.environ["KAFKA_CHAOS_HANDLE_MS"]) / 1000
folder = Path(os.environ["KAFKA_CHAOS_DELIVERIES"])
folder.mkdir(parents=True, exist_ok=True)
is_first = instance == "0" and not any(folder.glob("0-*.jsonl"))
ends = os.environ["KAFKA_CHAOS_ENDS"] if is_first else ""
after = int(os.environ["KAFKA_CHAOS_AFTER"] or 0)
path = folder / f"{instance}-{time.time_ns() // 1_000_000}.jsonl"
journal = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
handled, failed, terminated = 0, False, threading.Event()


class HandlerFailed(Exception): ...


class Listener(ConsumerRebalanceListener):
    """Journals what the group gives to this member, and takes away."""

    def on_partitions_assigned(self, assigned: Any) -> None:
        tell("assigned", partitions=[one.partition for one in assigned])

    def on_partitions_revoked(self, revoked: Any) -> None:
        tell("revoked", partitions=[one.partition for one in revoked])

    def on_partitions_lost(self, lost: Any) -> None:
        tell("lost", partitions=[one.partition for one in lost])


def tell(event: str, **more: Any) -> None:
    line = json.dumps({"event": event, "time_ms": time.time_ns() // 1_000_000, **more})
    os.write(journal, line.encode() + b"\n")


def is_over() -> bool:
    return terminated.is_set() or (ends == "stop" and handled == after)


def handle(record: Any) -> None:
    global handled, failed
    if ends == "kill" and handled == after:  # With this record in hand.
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(handle_seconds)
    at = {"partition": record.partition, "offset": record.offset}
    if ends.startswith("error") and handled == after and not failed:
        failed = True
        tell("failed", **at, error="HandlerFailed")
        raise HandlerFailed
    if len(value := record.value or b"") < IDENTITY_BYTES:  # The key may tell what the record is.
        at["key"] = (record.key or b"").hex()
    tell("handled", **at, value=value[:IDENTITY_BYTES].hex())
    handled += 1


def process(record: Any) -> None:
    try:
        handle(record)
    except HandlerFailed:
        if ends != "error-caught":
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


tell("begin", client=f"kafka-python {version('kafka-python')}")
signal.signal(signal.SIGTERM, lambda *_: terminated.set())
time.sleep(int(instance) * int(os.environ["KAFKA_CHAOS_JOIN_MS"]) / 1000)
isolation = os.environ["KAFKA_CHAOS_ISOLATION"]
consumer = KafkaConsumer(
    bootstrap_servers=os.environ["KAFKA_CHAOS_BOOTSTRAP"],
    group_id=os.environ["KAFKA_CHAOS_GROUP"],
    consumer_timeout_ms=IDLE_MS,
    **({"isolation_level": isolation} if isolation else {}),
)
consumer.subscribe([os.environ["KAFKA_CHAOS_TOPIC"]], listener=Listener())
try:
    {"default": iterate, "poll": poll}[mode](consumer)
finally:
    if ends != "error-raised":
        consumer.close()
tell("end")
