"""Handles the records of a topic with confluent-kafka, and journals each one once it is handled."""

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

from confluent_kafka import Consumer

sys.tracebacklimit = 0  # What the handler raises is in the journal.
IDENTITY_BYTES = 28
IDLE_SECONDS = 0.5  # How often the loop looks whether it shall end while there are no records.

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
    at = {"partition": record.partition(), "offset": record.offset()}
    if ends.startswith("error") and handled == after and not failed:
        failed = True
        tell("failed", **at, error="HandlerFailed")
        raise HandlerFailed
    if len(value := record.value() or b"") < IDENTITY_BYTES:  # The key may tell what the record is.
        at["key"] = (record.key() or b"").hex()
    tell("handled", **at, value=value[:IDENTITY_BYTES].hex())
    handled += 1


def process(record: Any) -> None:
    try:
        handle(record)
    except HandlerFailed:
        if ends != "error-caught":
            raise
        print(f"offset {record.offset()} could not be handled", file=sys.stderr)


def told(event: str) -> Any:
    """A callback that journals what the group gives to this member, or takes away."""
    return lambda _, partitions: tell(event, partitions=[one.partition for one in partitions])


tell("begin", client=f"confluent-kafka {version('confluent-kafka')}")
signal.signal(signal.SIGTERM, lambda *_: terminated.set())
time.sleep(int(instance) * int(os.environ["KAFKA_CHAOS_JOIN_MS"]) / 1000)
config = {
    "bootstrap.servers": os.environ["KAFKA_CHAOS_BOOTSTRAP"],
    "group.id": os.environ["KAFKA_CHAOS_GROUP"],
}
if mode == "consumer-protocol":
    config["group.protocol"] = "consumer"
if isolation := os.environ["KAFKA_CHAOS_ISOLATION"]:
    config["isolation.level"] = isolation
consumer = Consumer(config)
consumer.subscribe(
    [os.environ["KAFKA_CHAOS_TOPIC"]],
    on_assign=told("assigned"),
    on_revoke=told("revoked"),
    on_lost=told("lost"),
)
try:
    while not is_over():
        record = consumer.poll(IDLE_SECONDS)
        if record is None:
            continue
        if record.error():
            print(record.error(), file=sys.stderr)
            continue
        process(record)
finally:
    if ends != "error-raised":
        consumer.close()
tell("end")
