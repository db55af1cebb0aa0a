"""Consumers of kafka-python, aiokafka and confluent-kafka in a group on librdkafka's mock cluster: nothing
changes but that what they hand out, commit and own is journaled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiokafka
import kafka
import pytest
from confluent_kafka import Consumer, Producer

from harness.model.errors import BadInput
from workloads.own.consumer_journal import ConsumerJournal
from workloads.own.delivered import delivered
from workloads.records.clients import client_logger

pytestmark = pytest.mark.mock

MANY, STOP = 40, 25
SECONDS = 60


class Stopped(Exception):
    """What the handler of a program raises."""


def written(bootstrap: str, topic: str, many: int = MANY) -> set[tuple[int, int]]:
    producer = Producer({"bootstrap.servers": bootstrap}, logger=client_logger())
    told: set[tuple[int, int]] = set()
    for number in range(many):
        producer.produce(
            topic, b"%d" % number, on_delivery=lambda _, one: told.add((one.partition(), one.offset()))
        )
    assert producer.flush(30) == 0
    return told


Handler = Callable[[Any], None]


def counting(stop_at: int | None = None) -> Handler:
    handled = 0

    def handle(_record: Any) -> None:
        nonlocal handled
        handled += 1
        if handled == stop_at:
            raise Stopped

    return handle


def kafka_consumer(bootstrap: str, topic: str, **settings: Any) -> Any:
    # Without a version it asks in a way that the mock cluster answers as no broker does.
    return kafka.KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id="g",
        auto_offset_reset="earliest",
        api_version=(2, 0),
        **settings,
    )


def with_kafka_python(bootstrap: str, topic: str, handle: Handler, many: int) -> ConsumerJournal:
    consumer = delivered(kafka_consumer(bootstrap, topic), topic=topic, member="m")
    deadline, handled = time.monotonic() + SECONDS, 0
    try:
        while handled < many and time.monotonic() < deadline:
            for records in consumer.poll(timeout_ms=200, max_records=7).values():
                for record in records:
                    handle(record)
                    handled += 1
    finally:
        consumer.close()
        journal: ConsumerJournal = consumer.journal
        JOURNALS.append(journal)
    return journal


def with_kafka_python_one_by_one(bootstrap: str, topic: str, handle: Handler, many: int) -> ConsumerJournal:
    consumer = delivered(
        kafka_consumer(bootstrap, topic, consumer_timeout_ms=SECONDS * 1000), topic=topic, member="m"
    )
    try:
        for handled, record in enumerate(consumer, 1):
            handle(record)
            if handled == many:
                break
    finally:
        consumer.close()
        JOURNALS.append(consumer.journal)
    return consumer.journal  # type: ignore[no-any-return]


def with_aiokafka(bootstrap: str, topic: str, handle: Handler, many: int) -> ConsumerJournal:
    async def work() -> None:
        client = aiokafka.AIOKafkaConsumer(
            topic, bootstrap_servers=bootstrap, group_id="g", auto_offset_reset="earliest"
        )
        async with delivered(client, topic=topic, member="m") as consumer:
            JOURNALS.append(consumer.journal)
            handled = 0
            while handled < many:
                handle(await asyncio.wait_for(consumer.getone(), SECONDS))
                handled += 1

    asyncio.run(work())
    return JOURNALS[-1]


def with_confluent(bootstrap: str, topic: str, handle: Handler, many: int) -> ConsumerJournal:
    journal = ConsumerJournal("g", "m", topic=topic)
    JOURNALS.append(journal)
    settings = {"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    client = Consumer({**settings, "on_commit": journal.on_commit}, logger=client_logger())
    with delivered(client, journal=journal) as consumer:
        consumer.subscribe([topic])
        deadline, handled = time.monotonic() + SECONDS, 0
        while handled < many and time.monotonic() < deadline:
            for message in consumer.consume(7, timeout=0.2):
                assert message.error() is None
                handle(message)
                handled += 1
    return journal


JOURNALS: list[ConsumerJournal] = []
"""The journals of programs that raise."""
CLIENTS = {
    "kafka-python, poll": with_kafka_python,
    "kafka-python, one by one": with_kafka_python_one_by_one,
    "aiokafka": with_aiokafka,
    "confluent-kafka": with_confluent,
}


def committed(journal: ConsumerJournal) -> dict[int, int]:
    """The last offset of each partition whose commit was answered as done."""
    done: dict[int, int] = {}
    for event in journal.events:
        if event.event == "committed" and event.error is None:
            done.update({partition: offset or 0 for partition, offset in event.places})
    return done


@pytest.mark.parametrize("name", CLIENTS)
def test_all_that_a_program_processed_and_committed_is_journaled(
    own_mock_bootstrap: str, mock_topic: str, name: str
) -> None:
    there = written(own_mock_bootstrap, mock_topic)
    journal = CLIENTS[name](own_mock_bootstrap, mock_topic, counting(), MANY)
    assert sorted(journal.positions()) == sorted(there), "each once"
    ends = {partition: max(o for p, o in there if p == partition) + 1 for partition, _ in there}
    assert {p: o for p, o in committed(journal).items() if p in ends} == ends
    events = [event.event for event in journal.events]
    assert events[0] == "assigned"
    # confluent-kafka tells the answer to its last commit after that.
    assert [event for event in events if event != "committed"][-1] == "revoked"
    owned = [partition for partition, _ in journal.events[0].places]
    assert sorted(owned) == [0, 1, 2, 3]


@pytest.mark.parametrize("name", CLIENTS)
def test_a_record_whose_handler_raised_was_not_processed(
    own_mock_bootstrap: str, mock_topic: str, name: str
) -> None:
    there = written(own_mock_bootstrap, mock_topic)
    with suppress(Stopped):
        CLIENTS[name](own_mock_bootstrap, mock_topic, counting(STOP), MANY)
    journal = JOURNALS[-1]
    assert len(journal.positions()) == STOP - 1
    assert set(journal.positions()) < there


def test_commits_of_the_program_come_after_what_it_processed(
    own_mock_bootstrap: str, mock_topic: str
) -> None:
    written(own_mock_bootstrap, mock_topic)
    client = kafka_consumer(own_mock_bootstrap, mock_topic, enable_auto_commit=False)
    consumer = delivered(client, topic=mock_topic, member="m")
    deadline = time.monotonic() + SECONDS
    while len(consumer.journal.positions()) < MANY and time.monotonic() < deadline:
        for records in consumer.poll(timeout_ms=200, max_records=9).values():
            for _record in records:
                pass
        consumer.commit()
    consumer.close()
    reached: dict[int, int] = {}
    for event in consumer.journal.events:
        for partition, offset in event.places:
            if event.event == "processed":
                assert offset is not None
                reached[partition] = offset + 1
            elif event.event == "committed":
                assert event.error is None
                assert event.asked_ns is not None
                assert offset == reached.get(partition, 0), "nothing ahead of what was processed"
    assert sum(committed(consumer.journal).values()) == MANY


def test_another_process_leaves_a_file(own_mock_bootstrap: str, mock_topic: str, tmp_path: Path) -> None:
    there = written(own_mock_bootstrap, mock_topic)
    consumer = delivered(
        kafka_consumer(own_mock_bootstrap, mock_topic, session_timeout_ms=7_000),
        topic=mock_topic,
        member="m",
        path=tmp_path / "m.jsonl",
    )
    for number, _ in enumerate(consumer, 1):
        if number == MANY:
            break
    # It is not closed: the process is killed here.
    read = ConsumerJournal.read(tmp_path / "m.jsonl")
    assert (read.group, read.member, read.session_ms) == ("g", "m", 7_000)
    assert len(read.positions()) == MANY - 1, "the last one was in hand"
    assert set(read.positions()) < there
    consumer.close()


def test_what_cannot_be_journaled_is_refused() -> None:
    with pytest.raises(BadInput, match="this consumer cannot be journaled"):
        delivered(object(), topic="t", group="g")
    client = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g"}, logger=client_logger())
    with pytest.raises(BadInput, match="names no group"):
        delivered(client, topic="t")
    with pytest.raises(BadInput, match="no topic is named"):
        delivered(client, group="g")
    with pytest.raises(BadInput, match="the journal names no topic"):
        delivered(client, journal=ConsumerJournal("g", "m"))
    wrapped = delivered(client, group="g", topic="t")
    with pytest.raises(BadInput, match="this consumer cannot be journaled"):
        delivered(wrapped, group="g", topic="t")
    wrapped.close()
