"""Producers of every client journal the ids that their records have of their own, and the log has the
same."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import aiokafka
import kafka
import pytest
from confluent_kafka import Producer
from confluent_kafka.aio import AIOProducer

from harness.model.errors import BadInput
from harness.model.id_journal import LOG_IDS_DIR
from harness.model.journal import SENDS_DIR
from harness.model.journal_reader import journal_rows
from workloads.own.journaled import journaled
from workloads.own.log_ids import log_ids
from workloads.own.producer_folder import TARGET_FILE, ProducerFolder, ProducerTarget
from workloads.own.take_over import import_events
from workloads.records.clients import client_logger
from workloads.records.config.id_spec import IdSpec
from workloads.records.producer.send_journal import SendJournal
from workloads.records.reader.final_reader import AlsoWritten, read_range

pytestmark = pytest.mark.mock

MANY = 20
SPEC = IdSpec.model_validate({"json": "order.id"})


def value_of(number: int, more: str = "") -> bytes:
    return b'{"order": {"id": "order-%d"}%s}' % (number, more.encode())


def with_confluent(bootstrap: str, topic: str, folder: Path) -> None:
    client = Producer({"bootstrap.servers": bootstrap}, logger=client_logger())
    with journaled(client, journal=folder) as producer:
        for number in range(MANY):
            producer.produce(topic, value_of(number))


def with_kafka_python(bootstrap: str, topic: str, folder: Path) -> None:
    client = kafka.KafkaProducer(bootstrap_servers=bootstrap, api_version=(2, 0))
    with journaled(client, journal=folder) as producer:
        for number in range(MANY):
            producer.send(topic, value_of(number))


def with_aiokafka(bootstrap: str, topic: str, folder: Path) -> None:
    async def work() -> None:
        async with journaled(aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap), journal=folder) as one:
            for number in range(MANY):
                await one.send(topic, value_of(number))

    asyncio.run(work())


def with_aio_producer(bootstrap: str, topic: str, folder: Path) -> None:
    async def work() -> None:
        async with journaled(AIOProducer({"bootstrap.servers": bootstrap}), journal=folder) as producer:
            for number in range(MANY):
                await producer.produce(
                    topic, value_of(number, f', "its": "{producer.identity_text}"').decode()
                )
            await producer.flush()

    asyncio.run(work())


CLIENTS = {
    "confluent-kafka": with_confluent,
    "kafka-python": with_kafka_python,
    "aiokafka": with_aiokafka,
    "AIOProducer": with_aio_producer,
}


@pytest.mark.parametrize("name", CLIENTS)
def test_sends_and_the_log_have_the_same_ids(
    name: str, mock_bootstrap: str, mock_topic: str, tmp_path: Path
) -> None:
    folder = ProducerFolder(tmp_path / "producers")
    target = folder.create(ProducerTarget(17, mock_topic, "all", mock_bootstrap, SPEC))
    assert folder.target() == target, "as it was written"
    CLIENTS[name](mock_bootstrap, mock_topic, folder.path)
    sent: list[dict[str, Any]] = []
    with SendJournal(tmp_path / SENDS_DIR, mock_topic) as sends:
        import_events(folder.path / "0.jsonl", target, sends, [], taken=set(), ids=sent)
    assert [(one["seq"], one["id"]) for one in sent] == [(seq, f"order-{seq}") for seq in range(MANY)]
    places = {
        (row["partition"], row["offset"]): f"order-{row['seq']}" for row in journal_rows(tmp_path / SENDS_DIR)
    }
    read_range(
        mock_bootstrap,
        topic=mock_topic,
        bounds={number: (0, sum(partition == number for partition, _ in places)) for number in range(4)},
        run_id=17,
        reader="final",
        folder=None,
        deadline=time.monotonic() + 60,
        also=AlsoWritten(tmp_path / LOG_IDS_DIR, log_ids(SPEC, mock_topic)),
    )
    rows = list(journal_rows(tmp_path / LOG_IDS_DIR))
    assert {row["topic"] for row in rows} == {mock_topic}
    assert {(row["partition"], row["offset"]): row["id"] for row in rows} == places


def test_a_folder_whose_place_of_ids_cannot_be_read_is_refused(tmp_path: Path) -> None:
    folder = ProducerFolder(tmp_path)
    folder.create(ProducerTarget(17, "t", id=SPEC))
    file = tmp_path / TARGET_FILE
    file.write_text(file.read_text().replace('"json"', '"xml"'))
    with pytest.raises(BadInput, match="no folder for journals of producers"):
        folder.target()
