"""What producers of a user's own have journaled, as a run takes it over, and what they have written."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from harness.model.journal import SENDS_DIR
from harness.model.journal_reader import journal_rows
from workloads.own.producer_folder import ProducerFolder
from workloads.own.take_over import import_events
from workloads.records.clients import client_logger
from workloads.records.producer.send_journal import SendJournal

Rows = list[dict[str, Any]]


def taken_over(folder: ProducerFolder, number: int) -> tuple[Rows, Rows]:
    """The sends and the transactions of a producer, as a run takes them over."""
    transactions: Rows = []
    with tempfile.TemporaryDirectory() as to:
        sends = Path(to) / SENDS_DIR
        with SendJournal(sends, folder.target().topic) as journal:
            file = folder.path / f"{number}.jsonl"
            import_events(file, folder.target(), journal, transactions, taken=set())
        return sorted(journal_rows(sends), key=lambda row: row["seq"]), transactions


def sends(folder: ProducerFolder, number: int = 0) -> Rows:
    return taken_over(folder, number)[0]


def transactions(folder: ProducerFolder) -> Rows:
    return taken_over(folder, 0)[1]


def consumed(bootstrap: str, topic: str, count: int) -> list[Any]:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"},
        logger=client_logger(),
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(4)])
    found: list[Any] = []
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            found += [one for one in consumer.consume(count, 0.2) if one.error() is None]
            if len(found) >= count:
                return found
    finally:
        consumer.close()
    raise AssertionError(f"{len(found)} of {count} records were read")
