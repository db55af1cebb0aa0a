"""Writes a receipt for every order of a topic, and, if MISTAKE names one, makes a planted mistake."""

from __future__ import annotations

import json
import os
import signal

from confluent_kafka import Consumer, Message, Producer

MISTAKE = os.environ.get("MISTAKE", "")
EVERY = 50
"""A mistake is made at every 50th order."""


def receipt(order: Message) -> bytes:
    """The receipt names the order that it is for."""
    return json.dumps({"receipt": {"for": json.loads(order.value())["id"]}}).encode()


def receipts(number: int, order: Message) -> list[bytes]:
    """What is written for an order; one receipt, unless a mistake is due."""
    if number % EVERY or not MISTAKE:
        return [receipt(order)]
    if MISTAKE == "skip":
        return []
    if MISTAKE == "double":
        return [receipt(order), receipt(order)]
    if MISTAKE == "invent":
        return [receipt(order), b'{"receipt": {"for": "an order that nobody made"}}']
    return [receipt(order)]


def in_order(orders: list[Message]) -> list[Message]:
    """The orders as they came, or, for the mistake "reorder", each batch backwards."""
    return orders[::-1] if MISTAKE == "reorder" else orders


def main() -> None:
    running = True

    def stop(*_: object) -> None:
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, stop)
    settings = {"bootstrap.servers": os.environ["BOOTSTRAP"]}
    consumer = Consumer(
        settings
        | {"group.id": os.environ["GROUP"], "auto.offset.reset": "earliest", "enable.auto.commit": False}
        | {"isolation.level": os.environ.get("ISOLATION", "read_committed")}
    )
    producer = Producer(settings | {"enable.idempotence": True})
    consumer.subscribe([os.environ["ORDERS"]])
    number = 0
    while running:
        orders = [one for one in consumer.consume(100, timeout=0.5) if one.error() is None]
        for order in in_order(orders):
            number += 1
            for value in receipts(number, order):
                producer.produce(os.environ["RECEIPTS"], value, key=order.key(), partition=order.partition())
        producer.flush()
        if orders:
            consumer.commit(asynchronous=False)
    consumer.close()


if __name__ == "__main__":
    main()
