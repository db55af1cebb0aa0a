"""Writes a line to a ledger for every record of a topic: at least once, since it commits afterwards."""

from __future__ import annotations

import argparse
import json
import signal
from contextlib import suppress
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, TopicPartition

from kafka_chaos import ConsumerJournal


def commit(consumer: Consumer, journal: ConsumerJournal) -> None:
    # While the coordinator is away a commit fails; the next one has these offsets too.
    with suppress(KafkaException):
        journal.commit(consumer)


def take_all(consumer: Consumer, journal: ConsumerJournal, topic: str) -> list[TopicPartition]:
    """Assign all partitions to this instance, which is a mistake if there is another one."""
    numbers = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    partitions = [TopicPartition(topic, number, 0) for number in numbers]
    consumer.assign(partitions)
    journal.assigned(partitions)
    return partitions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--ledger", required=True, type=Path)
    parser.add_argument("--journal", type=Path, help="for tests: what this member of the group does")
    parser.add_argument("--name", default="ledger-1", help="of this member of the group")
    parser.add_argument("--commit-first", action="store_true", help="a bug that a test finds")
    parser.add_argument(
        "--by-hand", action="store_true", help="another one: assign() in place of subscribe()"
    )
    options = parser.parse_args()
    running = True

    def stop(*_: object) -> None:
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, stop)
    consumer = Consumer(
        {
            "bootstrap.servers": options.bootstrap,
            "group.id": "ledger",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    journal = ConsumerJournal("ledger", options.name, path=options.journal)
    mine: list[TopicPartition] = []
    if options.by_hand:
        mine = take_all(consumer, journal, options.topic)
    else:
        consumer.subscribe([options.topic], **journal.callbacks())
    with options.ledger.open("a") as ledger:
        while running:
            records = [one for one in consumer.consume(1000, timeout=0.5) if one.error() is None]
            if records and options.commit_first:
                commit(consumer, journal)
            for one in records:
                line = {"partition": one.partition(), "offset": one.offset(), "bytes": len(one.value())}
                print(json.dumps(line), file=ledger)
            ledger.flush()
            journal.processed(records)
            if records and not options.commit_first:
                commit(consumer, journal)
    if mine:
        journal.revoked(mine)
    consumer.close()


if __name__ == "__main__":
    main()
