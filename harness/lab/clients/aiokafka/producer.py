"""Sends with aiokafka, and journals what is reported."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "packages"))

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from kafka_chaos import journaled

MODES = {"default": {}, "idempotent": {"enable_idempotence": True}}
BLOCKED_SECONDS = 0.1


async def send_and_stop(producer: Any) -> None:
    topic, interval = os.environ["KAFKA_CHAOS_TOPIC"], 1 / float(os.environ["KAFKA_CHAOS_RATE"])
    number, due = 0, time.monotonic()
    while not producer.run_over:
        with suppress(KafkaError):  # It is in the journal.
            await producer.send(topic, key=b"%d" % (number % 10), value=b'{"order": %d}' % number)
        number += 1
        due += interval
        late = time.monotonic() - due
        if late > BLOCKED_SECONDS:
            due += late
        await asyncio.sleep(max(0.0, -late))
    await producer.stop()


async def main() -> None:
    producer = journaled(
        AIOKafkaProducer(
            bootstrap_servers=os.environ["KAFKA_CHAOS_BOOTSTRAP"],
            client_id=os.environ["KAFKA_CHAOS_CLIENT"],
            **MODES[os.environ["KAFKA_CHAOS_MODE"]],
        )
    )
    await producer.start()
    await asyncio.to_thread(producer.wait_begun, 60)
    sending = asyncio.create_task(send_and_stop(producer))
    while not sending.done() and not producer.run_over:
        await asyncio.sleep(0.05)
    await asyncio.wait({sending}, timeout=float(os.environ["KAFKA_CHAOS_CLOSE"]))
    producer.end()
    if not sending.done():
        os._exit(0)  # What still waits is not waited for.
    sending.result()


asyncio.run(main())
