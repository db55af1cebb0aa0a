"""Sends with kafka-python, and journals what is reported."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "packages"))

from kafka import KafkaProducer
from kafka.errors import KafkaError

from kafka_chaos import journaled

MODES = {"default": {}, "acks=1": {"acks": 1}}
BLOCKED_SECONDS = 0.1


def send_and_flush() -> None:
    topic, interval = os.environ["KAFKA_CHAOS_TOPIC"], 1 / float(os.environ["KAFKA_CHAOS_RATE"])
    number, due = 0, time.monotonic()
    while not producer.run_over:
        with suppress(KafkaError):  # It is in the journal.
            producer.send(topic, key=b"%d" % (number % 10), value=b'{"order": %d}' % number)
        number += 1
        due += interval
        late = time.monotonic() - due
        if late > BLOCKED_SECONDS:
            due += late
        time.sleep(max(0.0, -late))
    producer.flush()


producer = journaled(
    KafkaProducer(
        bootstrap_servers=os.environ["KAFKA_CHAOS_BOOTSTRAP"],
        client_id=os.environ["KAFKA_CHAOS_CLIENT"],
        **MODES[os.environ["KAFKA_CHAOS_MODE"]],
    )
)
producer.wait_begun(60)
# A thread, since `send` blocks for up to a minute, and `flush` until every batch has been given up.
sender = threading.Thread(target=send_and_flush, daemon=True)
sender.start()
while sender.is_alive() and not producer.run_over:
    time.sleep(0.05)
sender.join(float(os.environ["KAFKA_CHAOS_CLOSE"]))
producer.end(0)
with suppress(KafkaError):  # Records without a report are given up.
    producer.close(timeout=0)
