"""Producers of kafka-python, aiokafka and AIOProducer on librdkafka's mock cluster: nothing changes but that
they are journaled."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiokafka
import kafka
import pytest
from confluent_kafka.aio import AIOProducer
from kafka.serializer import JsonSerializer

from harness.model.errors import BadInput
from tests.support.own_journals import consumed, sends, taken_over
from workloads.own.client_settings import ClientSettings
from workloads.own.journaled import journaled
from workloads.own.json_events import has_ended, open_events, parse_settings
from workloads.own.producer_folder import ProducerFolder
from workloads.records.record.carried_identity import decode_carried

pytestmark = pytest.mark.mock

Rows = list[dict[str, Any]]
MANY = 300


@pytest.fixture
def folder(tmp_path: Path) -> ProducerFolder:
    return ProducerFolder(tmp_path / "journals")


def kafka_python(bootstrap: str, **settings: Any) -> kafka.KafkaProducer:
    # Without a version it asks in a way that the mock cluster answers as no broker does.
    return kafka.KafkaProducer(bootstrap_servers=bootstrap, api_version=(2, 0), **settings)


def with_kafka_python(bootstrap: str, topic: str, folder: ProducerFolder) -> list[Any]:
    client = kafka_python(bootstrap, value_serializer=JsonSerializer(), acks="all")
    told: list[Any] = []
    with journaled(client, journal=folder.path, topic=topic) as producer:
        for number in range(MANY):
            future = producer.send(
                topic, {"id": number}, key=b"%d" % (number % 7), headers=[("theirs", b"1")]
            )
            future.add_callback(told.append)
        producer.flush(30)
    return [(one.partition, one.offset) for one in told]


def with_aiokafka(bootstrap: str, topic: str, folder: ProducerFolder) -> list[Any]:
    async def work() -> list[Any]:
        client = aiokafka.AIOKafkaProducer(
            bootstrap_servers=bootstrap, value_serializer=lambda order: json.dumps(order).encode(), acks="all"
        )
        async with journaled(client, journal=folder.path, topic=topic) as producer:
            futures = [
                await producer.send(
                    topic, {"id": number}, key=b"%d" % (number % 7), headers=[("theirs", b"1")]
                )
                for number in range(MANY)
            ]
            return [(one.partition, one.offset) for one in await asyncio.gather(*futures)]

    return asyncio.run(work())


def with_aio_producer(bootstrap: str, topic: str, folder: ProducerFolder) -> list[Any]:
    async def work() -> list[Any]:
        client = AIOProducer({"bootstrap.servers": bootstrap})
        async with journaled(client, journal=folder.path, topic=topic) as producer:
            futures = [
                await producer.produce(
                    topic, json.dumps({"id": number, "its": producer.identity_text}), f"{number % 7}"
                )
                for number in range(MANY)
            ]
            await producer.flush()
            return [(one.partition(), one.offset()) for one in await asyncio.gather(*futures)]

    return asyncio.run(work())


CLIENTS = {"kafka-python": with_kafka_python, "aiokafka": with_aiokafka, "AIOProducer": with_aio_producer}


@pytest.mark.parametrize("name", CLIENTS)
def test_every_send_and_its_report_is_journaled(
    folder: ProducerFolder, mock_bootstrap: str, mock_topic: str, name: str
) -> None:
    told = CLIENTS[name](mock_bootstrap, mock_topic, folder)
    rows = sends(folder)
    assert [row["seq"] for row in rows] == list(range(MANY))
    assert {row["outcome"] for row in rows} == {"acked"}
    assert sorted((row["partition"], row["offset"]) for row in rows) == sorted(told), (
        "the program was told so"
    )
    assert has_ended(folder.path / "0.jsonl")
    records = consumed(mock_bootstrap, mock_topic, MANY)
    decoded = decode_carried(
        [one.value() for one in records], folder.target().run_id, lambda index: records[index].headers()
    )
    places = {row["seq"]: (row["partition"], row["offset"]) for row in rows}
    assert not decoded.state.any(), "every record has its identity, and its checksum is right"
    for record, seq in zip(records, decoded.seq.tolist(), strict=True):
        assert places[seq] == (record.partition(), record.offset())
        assert json.loads(record.value())["id"] == seq, "the value was serialised once"
        if name != "AIOProducer":
            assert dict(record.headers())["theirs"] == b"1"


def told_by(folder: ProducerFolder) -> ClientSettings | None:
    return parse_settings(open_events(folder.path / "0.jsonl")[0])


@pytest.mark.parametrize(
    ("settings", "acks", "idempotent"),
    [({}, "all", True), ({"acks": 1}, "1", False), ({"acks": 0, "enable_idempotence": False}, "0", False)],
)
def test_kafka_python_says_how_it_is_configured(
    folder: ProducerFolder, mock_bootstrap: str, mock_topic: str, settings: Any, acks: str, idempotent: bool
) -> None:
    client = kafka_python(mock_bootstrap, delivery_timeout_ms=40_000, **settings)
    journaled(client, journal=folder.path, topic=mock_topic).close()
    said = told_by(folder)
    assert said is not None
    assert (said.acks, said.idempotent, said.delivery_timeout_ms) == (acks, idempotent, 40_000)
    assert said.client.startswith("kafka-python ")


@pytest.mark.parametrize(
    ("settings", "acks", "idempotent"),
    [({}, "1", False), ({"acks": "all"}, "all", False), ({"enable_idempotence": True}, "all", True)],
)
def test_aiokafka_says_how_it_is_configured(
    folder: ProducerFolder, mock_bootstrap: str, mock_topic: str, settings: Any, acks: str, idempotent: bool
) -> None:
    async def work() -> None:
        client = aiokafka.AIOKafkaProducer(bootstrap_servers=mock_bootstrap, **settings)
        async with journaled(client, journal=folder.path, topic=mock_topic):
            pass

    asyncio.run(work())
    said = told_by(folder)
    assert said is not None
    assert (said.acks, said.idempotent, said.max_in_flight) == (acks, idempotent, 1)
    assert said.client.startswith("aiokafka ")


def test_what_kafka_python_refuses_is_rejected_and_other_topics_are_passed_on(
    folder: ProducerFolder, mock_bootstrap: str, mock_topic: str
) -> None:
    client = kafka_python(mock_bootstrap, max_request_size=2000, value_serializer=lambda text: text.encode())
    producer = journaled(client, journal=folder.path, topic=mock_topic)
    with pytest.raises(kafka.errors.MessageSizeTooLargeError):
        producer.send(mock_topic, "x" * 3000)
    with pytest.raises(ValueError, match="Need at least one"):
        producer.send(mock_topic)
    elsewhere = producer.send(f"{mock_topic}-other", "y").get(30)
    assert producer.send(mock_topic, "z", partition=2, timestamp_ms=1_700_000_000_000).get(30).partition == 2
    producer.close()
    first, second = sends(folder)
    assert (first["outcome"], first["error"]) == ("rejected", "MessageSizeTooLargeError")
    assert (second["outcome"], second["partition"], second["timestamp_ms"]) == ("acked", 2, 1_700_000_000_000)
    (other,) = consumed(mock_bootstrap, elsewhere.topic, 1)
    assert (other.value(), other.headers()) == (b"y", None)


def test_threads_may_share_a_producer_of_kafka_python(
    folder: ProducerFolder, mock_bootstrap: str, mock_topic: str
) -> None:
    with journaled(kafka_python(mock_bootstrap), journal=folder.path, topic=mock_topic) as producer:

        def write() -> None:
            for number in range(50):
                producer.send(mock_topic, b"%d" % number, partition=0)

        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    rows = sends(folder)
    assert len(rows) == 200
    assert [row["offset"] for row in rows] == list(range(200)), "queued in the order of their numbers"


def test_a_send_that_nobody_waits_for_any_more_is_journaled_when_it_is_reported(
    folder: ProducerFolder, mock_bootstrap: str, mock_topic: str
) -> None:
    async def work() -> None:
        client = aiokafka.AIOKafkaProducer(bootstrap_servers=mock_bootstrap, linger_ms=1000)
        async with journaled(client, journal=folder.path, topic=mock_topic) as producer:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(producer.send_and_wait(mock_topic, b"order-11"), 0.2)
            given_up = await producer.send(mock_topic, b"order-12")
            given_up.cancel()

    asyncio.run(work())
    assert [row["outcome"] for row in sends(folder)] == ["acked", "acked"]
    assert len(consumed(mock_bootstrap, mock_topic, 2)) == 2


def test_what_cannot_be_journaled_is_refused(
    folder: ProducerFolder, mock_bootstrap: str, mock_topic: str
) -> None:
    async def of_aiokafka() -> None:
        client = aiokafka.AIOKafkaProducer(bootstrap_servers=mock_bootstrap)
        async with journaled(client, journal=folder.path, topic=mock_topic) as producer:
            with pytest.raises(NotImplementedError, match="call send for each record"):
                await producer.send_batch(producer.create_batch(), mock_topic, partition=0)
            with pytest.raises(BadInput, match="cannot be journaled"):
                journaled(producer)

    async def of_confluent() -> None:
        async with journaled(AIOProducer({"bootstrap.servers": mock_bootstrap})) as producer:
            with pytest.raises(BadInput, match="identity_text"):
                await producer.produce(mock_topic, "a value without a place for it")

    asyncio.run(of_aiokafka())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_CHAOS_JOURNAL", str(folder.path))
        asyncio.run(of_confluent())
    assert sends(folder, 1) == []


async def aiokafka_transactions(bootstrap: str, topic: str, folder: ProducerFolder) -> None:
    client = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id="t")
    async with journaled(client, journal=folder.path, topic=topic) as producer:
        async with producer.transaction():
            await producer.send(topic, b"committed")
        with suppress(KeyError):
            async with producer.transaction():
                await producer.send_and_wait(topic, b"aborted")
                raise KeyError
        await producer.begin_transaction()
        await producer.send_and_wait(topic, b"left open")


def kafka_python_transactions(bootstrap: str, topic: str, folder: ProducerFolder) -> None:
    with journaled(
        kafka_python(bootstrap, transactional_id="t"), journal=folder.path, topic=topic
    ) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"committed")
        producer.commit_transaction()
        producer.begin_transaction()
        producer.send(topic, b"aborted").get(30)
        producer.abort_transaction()
        producer.begin_transaction()
        producer.send(topic, b"left open").get(30)


@pytest.mark.parametrize("client", ["kafka-python", "aiokafka"])
def test_transactions_are_committed_aborted_and_left_open(
    folder: ProducerFolder, mock_bootstrap: str, mock_topic: str, client: str
) -> None:
    if client == "aiokafka":
        asyncio.run(aiokafka_transactions(mock_bootstrap, mock_topic, folder))
    else:
        kafka_python_transactions(mock_bootstrap, mock_topic, folder)
    rows, ended = taken_over(folder, 0)
    assert [(row["outcome"], row["txn"]) for row in rows] == [("acked", 0), ("acked", 1), ("acked", 2)]
    assert [(row["txn"], row["outcome"], row["records"]) for row in ended] == [
        (0, "committed", 1),
        (1, "aborted", 1),
        (2, "aborted", 1),
    ]
    assert [row["ended_ns"] is None for row in ended] == [False, False, True], "nobody answered the last"


def test_a_callback_that_only_confluent_kafka_has_is_refused(
    folder: ProducerFolder, mock_bootstrap: str, mock_topic: str
) -> None:
    client = kafka_python(mock_bootstrap)
    with pytest.raises(BadInput, match="no on_delivery in its configuration"):
        journaled(client, journal=folder.path, topic=mock_topic, on_delivery=print)
    assert not list(folder.path.glob("*.jsonl")), "no journal was begun"
    client.close()
