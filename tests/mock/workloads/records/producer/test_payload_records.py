"""Records with content of the user's, written and read over librdkafka's mock cluster."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, Message, TopicPartition

from harness.model.errors import BadInput
from workloads.records.config.payload_spec import PayloadSpec
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import WorkloadSpec
from workloads.records.producer.producers import Producers
from workloads.records.producer.send_journal import SendJournal
from workloads.records.record.carried_identity import decode_carried
from workloads.records.record.identity import OK

pytestmark = pytest.mark.mock

RUN = 1
COUNT = 500


def failing_later(_: int, seq: int) -> tuple[None, str, None]:
    if seq == 100:
        raise LookupError("order 100 does not exist")
    return None, f"order {seq}", None


def written(folder: Path, bootstrap: str, topic: str, payload: Any) -> list[dict[str, Any]]:
    spec = WorkloadSpec(keys=7, payload=PayloadSpec.model_validate(payload))
    journal = SendJournal(folder / "sends", topic)
    with Producers(
        spec,
        ProducerSettings(),
        bootstrap=bootstrap,
        topic=topic,
        partitions=4,
        run_id=RUN,
        seed=1,
        journal=journal,
    ) as producers:
        producers.start(0, records=COUNT)
        try:
            assert producers.finish(time.monotonic() + 60)
        finally:
            producers.stop()
            journal.close()
    rows: list[dict[str, Any]] = pq.read_table(folder / "sends").to_pylist()
    return rows


def read(bootstrap: str, topic: str, count: int) -> list[Message]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(4)])
    found: list[Message] = []
    deadline = time.monotonic() + 60
    while len(found) < count and time.monotonic() < deadline:
        found += [message for message in consumer.consume(count, 0.5) if message.error() is None]
    consumer.close()
    return found


@pytest.mark.parametrize("order", [{"order": "$seq"}, {"order": "$seq", "id": "$identity"}])
def test_each_record_is_journalled_and_recognised(
    tmp_path: Path, mock_bootstrap: str, mock_topic: str, order: dict[str, str]
) -> None:
    rows = written(tmp_path, mock_bootstrap, mock_topic, {"json": order})
    messages = read(mock_bootstrap, mock_topic, COUNT)
    decoded = decode_carried([m.value() for m in messages], RUN, lambda n: messages[n].headers())  # type: ignore[arg-type,return-value]
    assert set(decoded.state.tolist()) == {OK}
    for message, seq in zip(messages, decoded.seq.tolist(), strict=True):
        assert json.loads(message.value() or b"")["order"] == seq
    sent = {(row["seq"], row["partition"], row["offset"], row["size"]) for row in rows}
    got = {
        (seq, message.partition(), message.offset(), len(message.value() or b""))
        for message, seq in zip(messages, decoded.seq.tolist(), strict=True)
    }
    assert sent == got
    assert all(row["key"] == row["seq"] % 7 for row in rows)


def test_a_function_that_fails_ends_the_run_and_keeps_the_journal(
    tmp_path: Path, mock_bootstrap: str, mock_topic: str
) -> None:
    with pytest.raises(BadInput, match="did not return a record") as raised:
        written(tmp_path, mock_bootstrap, mock_topic, {"python": failing_later})
    assert "seq 100" in (raised.value.where or "")
    assert "order 100 does not exist" in (raised.value.found or "")
    assert pq.read_table(tmp_path / "sends").num_rows < COUNT
