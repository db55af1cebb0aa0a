"""Handles the records of a topic with aiokafka, and journals each one once it is handled."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "packages"))

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from handler import Handler, HandlerFailed

handler = Handler("aiokafka")
handling, terminated = False, False


class AiokafkaListener(ConsumerRebalanceListener):
    """Journals what the group gives to this member, and takes away."""

    def on_partitions_assigned(self, assigned: Any) -> None:
        handler.tell_partitions("assigned", assigned)

    def on_partitions_revoked(self, revoked: Any) -> None:
        handler.tell_partitions("revoked", revoked)


async def handle(record: Any) -> None:
    handler.take()
    await asyncio.sleep(handler.seconds)
    handler.done(record.partition, record.offset, record.key, record.value)


async def process(consumer: AIOKafkaConsumer) -> None:
    global handling
    async for record in consumer:
        handling = True
        try:
            await handle(record)
        except HandlerFailed:
            if handler.ends != "error-caught":
                raise
            print(f"offset {record.offset} could not be handled", file=sys.stderr)
        handling = False
        if terminated or handler.stops:
            break


def terminate(running: asyncio.Task[None]) -> None:
    global terminated
    terminated = True
    if not handling:  # It waits for records; else it leaves the loop after the one in hand.
        running.cancel()


async def run() -> None:
    await asyncio.sleep(handler.join_seconds)
    config = {"group_id": os.environ["KAFKA_CHAOS_GROUP"]}
    if isolation := os.environ["KAFKA_CHAOS_ISOLATION"]:
        config["isolation_level"] = isolation
    consumer = AIOKafkaConsumer(bootstrap_servers=os.environ["KAFKA_CHAOS_BOOTSTRAP"], **config)
    consumer.subscribe([os.environ["KAFKA_CHAOS_TOPIC"]], listener=AiokafkaListener())
    await consumer.start()
    try:
        await process(consumer)
    finally:
        if handler.ends != "error-raised":
            await consumer.stop()


async def main() -> None:
    running = asyncio.create_task(run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate, running)
    with suppress(asyncio.CancelledError):
        await running
    handler.tell("end")


asyncio.run(main())
