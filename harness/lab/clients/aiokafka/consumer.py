"""Handles the records of a topic with aiokafka, and journals each one once it is handled."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "packages"))

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener

sys.tracebacklimit = 0  # What the handler raises is in the journal.
IDENTITY_BYTES = 28

instance = os.environ["KAFKA_CHAOS_INSTANCE"]
handle_seconds = float(os.environ["KAFKA_CHAOS_HANDLE_MS"]) / 1000
folder = Path(os.environ["KAFKA_CHAOS_DELIVERIES"])
folder.mkdir(parents=True, exist_ok=True)
is_first = instance == "0" and not any(folder.glob("0-*.jsonl"))
ends = os.environ["KAFKA_CHAOS_ENDS"] if is_first else ""
after = int(os.environ["KAFKA_CHAOS_AFTER"] or 0)
path = folder / f"{instance}-{time.time_ns() // 1_000_000}.jsonl"
journal = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
handled, failed, handling, terminated = 0, False, False, False


class HandlerFailed(Exception): ...


class Listener(ConsumerRebalanceListener):
    """Journals what the group gives to this member, and takes away."""

    def on_partitions_assigned(self, assigned: Any) -> None:
        tell("assigned", partitions=[one.partition for one in assigned])

    def on_partitions_revoked(self, revoked: Any) -> None:
        tell("revoked", partitions=[one.partition for one in revoked])


def tell(event: str, **more: Any) -> None:
    line = json.dumps({"event": event, "time_ms": time.time_ns() // 1_000_000, **more})
    os.write(journal, line.encode() + b"\n")


def is_over() -> bool:
    return terminated or (ends == "stop" and handled == after)


async def handle(record: Any) -> None:
    global handled, failed
    if ends == "kill" and handled == after:  # With this record in hand.
        os.kill(os.getpid(), signal.SIGKILL)
    await asyncio.sleep(handle_seconds)
    at = {"partition": record.partition, "offset": record.offset}
    if ends.startswith("error") and handled == after and not failed:
        failed = True
        tell("failed", **at, error="HandlerFailed")
        raise HandlerFailed
    if len(value := record.value or b"") < IDENTITY_BYTES:  # The key may tell what the record is.
        at["key"] = (record.key or b"").hex()
    tell("handled", **at, value=value[:IDENTITY_BYTES].hex())
    handled += 1


async def process(consumer: AIOKafkaConsumer) -> None:
    global handling
    async for record in consumer:
        handling = True
        try:
            await handle(record)
        except HandlerFailed:
            if ends != "error-caught":
                raise
            print(f"offset {record.offset} could not be handled", file=sys.stderr)
        handling = False
        if is_over():
            break


def terminate(running: asyncio.Task[None]) -> None:
    global terminated
    terminated = True
    if not handling:  # It waits for records; else it leaves the loop after the one in hand.
        running.cancel()


async def run() -> None:
    await asyncio.sleep(int(instance) * int(os.environ["KAFKA_CHAOS_JOIN_MS"]) / 1000)
    config = {"group_id": os.environ["KAFKA_CHAOS_GROUP"]}
    if isolation := os.environ["KAFKA_CHAOS_ISOLATION"]:
        config["isolation_level"] = isolation
    consumer = AIOKafkaConsumer(bootstrap_servers=os.environ["KAFKA_CHAOS_BOOTSTRAP"], **config)
    consumer.subscribe([os.environ["KAFKA_CHAOS_TOPIC"]], listener=Listener())
    await consumer.start()
    try:
        await process(consumer)
    finally:
        if ends != "error-raised":
            await consumer.stop()


async def main() -> None:
    tell("begin", client=f"aiokafka {version('aiokafka')}")
    running = asyncio.create_task(run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate, running)
    with suppress(asyncio.CancelledError):
        await running
    tell("end")


asyncio.run(main())
