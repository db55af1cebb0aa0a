"""Sends with confluent-kafka, and journals what is reported."""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "packages"))

from confluent_kafka import KafkaException, Producer

from kafka_chaos import Journal

MODES = {"default": {}, "idempotent": {"enable.idempotence": True}, "acks=1": {"acks": 1}}
BLOCKED_SECONDS = 0.1

mode = os.environ["KAFKA_CHAOS_MODE"]
idempotent = mode == "idempotent"
producer = Producer(
    {
        "bootstrap.servers": os.environ["KAFKA_CHAOS_BOOTSTRAP"],
        "client.id": os.environ["KAFKA_CHAOS_CLIENT"],
        **MODES[mode],
    }
)
# The client cannot be asked: librdkafka's CONFIGURATION.md says these.
journal = Journal.begin(
    f"confluent-kafka {version('confluent-kafka')}",
    acks="1" if mode == "acks=1" else "all",
    idempotent=idempotent,
    max_in_flight=5 if idempotent else 1_000_000,
    delivery_timeout_ms=300_000,
)


def reported(seq: int, error: Any, message: Any) -> None:
    if error is None:
        journal.acked(seq, partition=message.partition(), offset=message.offset())
    else:
        journal.failed(seq, error.name())


def send(number: int) -> None:
    key, value = str(number % 10), f'{{"order": {number}}}'
    seq, header = journal.sent(value, key=key)
    try:
        producer.produce(journal.topic, value, key, headers=[header], on_delivery=partial(reported, seq))
    except BufferError:
        journal.refused(seq, "_QUEUE_FULL")
    except KafkaException as error:
        journal.refused(seq, error.args[0].name())


journal.wait_begun(60)
interval = 1 / float(os.environ["KAFKA_CHAOS_RATE"])
number, due = 0, time.monotonic()
while not journal.run_over:
    send(number)
    number += 1
    due += interval
    late = time.monotonic() - due
    if late > BLOCKED_SECONDS:
        due += late
    # `poll` calls the callbacks of reports, and returns when it has called some.
    producer.poll(0)
    while (left := due - time.monotonic()) > 0:
        producer.poll(left)
producer.flush(float(os.environ["KAFKA_CHAOS_CLOSE"]))
journal.end()
