"""An application under test: copies a topic, at least once. Arguments: bootstrap, input, output, group."""

from __future__ import annotations

import sys
import time

from confluent_kafka import Consumer, Producer


def main(bootstrap: str, source: str, target: str, group: str, pause: float = 0.0) -> None:
    """Copy records in batches of 100: write them, wait for their reports, then commit their offsets."""
    settings = {"group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    consumer = Consumer({"bootstrap.servers": bootstrap, "session.timeout.ms": 6000, **settings})
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 2})
    consumer.subscribe([source])
    while True:
        batch = [one for one in consumer.consume(100, timeout=0.2) if one.error() is None]
        for one in batch:
            producer.produce(target, one.value(), one.key(), partition=one.partition())
        if producer.flush(60) == 0 and batch:
            time.sleep(pause)
            consumer.commit(asynchronous=False)


if __name__ == "__main__":
    main(*sys.argv[1:5], pause=float(sys.argv[5]) if len(sys.argv) > 5 else 0.0)
