"""A producer of the user's own on librdkafka's mock cluster: nothing changes but that it is journaled."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import (
    KafkaError,
    KafkaException,
    Producer,
    SerializingProducer,
)

from harness.model.errors import BadInput
from tests.support.own_journals import consumed, sends, transactions
from tests.support.refusing_cluster import refusing_cluster
from workloads.own.journaled import journaled
from workloads.own.json_events import has_ended
from workloads.own.producer_folder import FOLDER_VARIABLE, ProducerFolder
from workloads.records.clients import client_logger, flush
from workloads.records.record.carried_identity import IDENTITY_HEADER, decode_carried

pytestmark = pytest.mark.mock

NOWHERE = "127.0.0.1:1"


@pytest.fixture
def folder(tmp_path: Path) -> ProducerFolder:
    return ProducerFolder(tmp_path / "journals")


def client(bootstrap: str, **settings: Any) -> Producer:
    config = {"bootstrap.servers": bootstrap, **{key.replace("_", "."): one for key, one in settings.items()}}
    return Producer(config, logger=client_logger())


def test_every_send_and_its_report_is_journaled(
    folder: ProducerFolder, mock_bootstrap: str, mock_topic: str
) -> None:
    producer = journaled(client(mock_bootstrap), journal=folder.path, topic=mock_topic)
    for number in range(3000):
        producer.produce(mock_topic, f'{{"id": {number}}}', key=f"{number % 7}")
        producer.poll(0)
    assert producer.flush(30) == 0
    assert len(producer) == 0
    assert producer.close()
    rows = sends(folder)
    assert [row["seq"] for row in rows] == list(range(3000))
    assert {row["outcome"] for row in rows} == {"acked"}
    assert {row["topic"] for row in rows} == {mock_topic}
    assert len({(row["partition"], row["offset"]) for row in rows}) == 3000
    assert all(row["closed_ns"] >= row["sent_ns"] for row in rows)
    assert rows[10]["size"] == len('{"id": 10}')
    assert has_ended(folder.path / "0.jsonl")
    records = consumed(mock_bootstrap, mock_topic, 3000)
    decoded = decode_carried(
        [one.value() for one in records],
        folder.target().run_id,
        lambda index: records[index].headers(),
    )
    places = {row["seq"]: (row["partition"], row["offset"]) for row in rows}
    assert not decoded.state.any(), "every record has its identity, and its checksum is right"
    for record, seq in zip(records, decoded.seq.tolist(), strict=True):
        assert places[seq] == (record.partition(), record.offset())


def test_the_programs_own_callbacks_and_headers_stay(
    folder: ProducerFolder, mock_bootstrap: str, mock_topic: str
) -> None:
    called: list[tuple[str, Any, int]] = []

    def note(name: str) -> Any:
        return lambda error, message: called.append((name, error, message.offset()))

    producer = journaled(
        client(mock_bootstrap), journal=folder.path, topic=mock_topic, on_delivery=note("default")
    )
    stale: dict[str, str | bytes | None] = {
        "theirs": "1",
        IDENTITY_HEADER: b"of a record that was read and is passed on",
    }
    producer.produce(mock_topic, b"a", partition=1, on_delivery=note("named"), headers=stale)
    producer.produce(mock_topic, b"b", None, 1, note("by place"), timestamp=1_700_000_000_000)
    producer.produce(mock_topic, b"c", partition=1, headers=[("theirs", b"2")])
    producer.flush(30)
    producer.close()
    assert sorted(called) == [("by place", None, 1), ("default", None, 2), ("named", None, 0)]
    records = sorted(consumed(mock_bootstrap, mock_topic, 3), key=lambda one: one.offset())
    headers = [dict(record.headers()) for record in records]
    assert [one.get("theirs") for one in headers] == [b"1", None, b"2"]
    assert {len(one[IDENTITY_HEADER]) for one in headers} == {28}
    assert records[1].timestamp()[1] == 1_700_000_000_000
    assert [row["partition"] for row in sends(folder)] == [1, 1, 1]
    # Where none was given, the client took the time of the send.
    assert [row["timestamp_ms"] for row in sends(folder)] == [None, 1_700_000_000_000, None]


def test_refused_given_up_and_unconfirmed_records(
    folder: ProducerFolder, mock_bootstrap: str, mock_topic: str, tmp_path: Path
) -> None:
    errors: list[KafkaError] = []
    producer = journaled(
        client(NOWHERE, message_max_bytes=2000, message_timeout_ms=200),
        journal=folder.path,
        topic=mock_topic,
    )
    with pytest.raises(KafkaException) as refused:
        producer.produce(mock_topic, bytes(5000))
    assert refused.value.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
    producer.produce(mock_topic, b"x", on_delivery=lambda error, _: errors.append(error))
    producer.flush(60)
    producer.close(0)
    assert [error.name() for error in errors] == ["_MSG_TIMED_OUT"]
    assert [(row["outcome"], row["error"]) for row in sends(folder)] == [
        ("rejected", "MSG_SIZE_TOO_LARGE"),
        ("indeterminate", "_MSG_TIMED_OUT"),
    ]
    patient = journaled(client(NOWHERE), journal=folder.path, topic=mock_topic)
    patient.produce(mock_topic, b"never reported")
    patient.close(0)
    assert [(row["outcome"], row["error"]) for row in sends(folder, 1)] == [("indeterminate", "_PURGE_QUEUE")]
    no_acks = ProducerFolder(tmp_path / "no-acks")
    with journaled(
        client(mock_bootstrap, acks=0), journal=no_acks.path, topic=mock_topic, acks="0"
    ) as careless:
        careless.produce(mock_topic, b"y")
    assert [(row["outcome"], row["offset"]) for row in sends(no_acks)] == [("unconfirmed", None)]


def test_a_full_queue_is_no_send(folder: ProducerFolder, mock_bootstrap: str, mock_topic: str) -> None:
    producer = journaled(
        client(mock_bootstrap, queue_buffering_max_messages=1), journal=folder.path, topic=mock_topic
    )
    producer.produce(mock_topic, b"a")
    with pytest.raises(BufferError):
        producer.produce(mock_topic, b"b")
    with pytest.raises(TypeError):
        producer.produce(mock_topic, b"b", partition="first")  # type: ignore[arg-type]
    producer.flush(30)
    producer.produce(mock_topic, b"b")
    producer.close()
    assert [(row["seq"], row["outcome"]) for row in sends(folder)] == [(0, "acked"), (1, "acked")]


def test_records_of_other_topics_are_passed_on(
    folder: ProducerFolder, mock_bootstrap: str, mock_topic: str
) -> None:
    reports: list[Any] = []
    producer = journaled(client(mock_bootstrap), journal=folder.path, topic=mock_topic)
    other = f"{mock_topic}-audit"
    producer.produce(other, b"theirs", on_delivery=lambda error, _: reports.append(error), headers={"a": "b"})
    producer.flush(30)
    producer.close()
    assert (reports, sends(folder)) == ([None], [])
    assert consumed(mock_bootstrap, other, 1)[0].headers() == [("a", b"b")]


def test_threads_may_share_it(folder: ProducerFolder, mock_bootstrap: str, mock_topic: str) -> None:
    producer = journaled(client(mock_bootstrap), journal=folder.path, topic=mock_topic)

    def work() -> None:
        for number in range(2000):
            producer.produce(mock_topic, str(number))
            producer.poll(0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    producer.flush(30)
    producer.close()
    rows = sends(folder)
    assert [row["seq"] for row in rows] == list(range(8000))
    assert {row["outcome"] for row in rows} == {"acked"}


def test_transactions_are_committed_aborted_and_left_open(
    folder: ProducerFolder, mock_bootstrap: str, mock_topic: str
) -> None:
    producer = journaled(
        client(mock_bootstrap, transactional_id=mock_topic), journal=folder.path, topic=mock_topic
    )
    producer.init_transactions(30)
    with pytest.raises(KafkaException):
        producer.produce(mock_topic, b"outside of any transaction")
    producer.begin_transaction()
    producer.produce(mock_topic, b"a")
    producer.produce(mock_topic, b"b")
    producer.commit_transaction(30)
    producer.begin_transaction()
    producer.produce(mock_topic, b"c")
    producer.flush(30)
    producer.abort_transaction(30)
    producer.begin_transaction()
    producer.produce(mock_topic, b"d")
    producer.flush(30)
    producer.close()
    found = transactions(folder)
    assert [(one["txn"], one["asked"], one["outcome"], one["records"]) for one in found] == [
        (0, "commit", "committed", 2),
        (1, "abort", "aborted", 1),
        (2, "abort", "aborted", 1),
    ]
    assert [one["ended_ns"] is None for one in found] == [False, False, True]
    assert [(row["txn"], row["outcome"]) for row in sends(folder)] == [
        (None, "rejected"),
        (0, "acked"),
        (0, "acked"),
        (1, "acked"),
        (2, "acked"),
    ]


class Failing:
    """A producer whose commit and abort fail with these errors, one after the other."""

    def __init__(self, *errors: KafkaError | None) -> None:
        self.errors = list(errors)

    def begin_transaction(self) -> None: ...

    def commit_transaction(self) -> None:
        error = self.errors.pop(0)
        if error is not None:
            raise KafkaException(error)

    abort_transaction = commit_transaction

    def produce(self, *_: Any, **__: Any) -> None: ...
    def poll(self, *_: Any) -> int:
        return 0

    def flush(self, *_: Any) -> int:
        return 0

    def purge(self, *_: Any, **__: Any) -> None: ...


def error(code: int = KafkaError._FAIL, **more: bool) -> KafkaError:
    return KafkaError(code, "", **more)


@pytest.mark.parametrize(
    ("calls", "errors", "outcome"),
    [
        (("commit", "commit"), (error(retriable=True), None), "committed"),
        (("commit", "abort"), (error(txn_requires_abort=True), None), "aborted"),
        (("commit", "abort"), (error(txn_requires_abort=True), error(fatal=True)), "indeterminate"),
        (("commit",), (error(KafkaError._FENCED, fatal=True),), "indeterminate"),
        (("commit",), (error(retriable=True),), "indeterminate"),
        (("abort",), (error(fatal=True),), "aborted"),
        (("abort", "abort"), (error(retriable=True), None), "aborted"),
        ((), (), "aborted"),
    ],
)
def test_what_an_error_of_a_transaction_leaves_open(
    calls: tuple[str, ...], errors: tuple[KafkaError | None, ...], outcome: str, folder: ProducerFolder
) -> None:
    producer = journaled(Failing(*errors), journal=folder.path, topic="t")
    producer.begin_transaction()
    producer.produce("t", b"a")
    for call, one in zip(calls, errors, strict=True):
        work = getattr(producer, f"{call}_transaction")
        if one is None:
            work()
        else:
            with pytest.raises(KafkaException):
                work()
    producer.close()
    assert [(one["outcome"], one["records"]) for one in transactions(folder)] == [(outcome, 1)]


def test_several_producers_share_a_folder(
    folder: ProducerFolder, mock_bootstrap: str, mock_topic: str
) -> None:
    first = journaled(client(mock_bootstrap), journal=folder.path, topic=mock_topic)
    second = journaled(client(mock_bootstrap), journal=folder.path)
    seventh = journaled(client(mock_bootstrap), journal=folder.path, producer_id=7)
    assert [one.number for one in (first, second, seventh)] == [0, 1, 7]
    for one in (first, second, seventh):
        one.produce(mock_topic, b"a")
        one.close()
    assert [len(sends(folder, number)) for number in (0, 1, 7)] == [1, 1, 1]
    with pytest.raises(BadInput, match="producer 7 has a journal already"):
        journaled(client(mock_bootstrap), journal=folder.path, producer_id=7)
    with pytest.raises(BadInput, match="journals of another topic"):
        journaled(client(mock_bootstrap), journal=folder.path, topic="another")


PROGRAM = """
import sys
from confluent_kafka import Producer
import kafka_chaos
producer = kafka_chaos.journaled(Producer({"bootstrap.servers": sys.argv[1]}))
for number in range(100):
    producer.produce(sys.argv[2], str(number))
if sys.argv[3] == "crash":
    import os
    producer.flush()
    os._exit(1)
"""


@pytest.mark.parametrize("end", ["end", "crash"])
def test_a_program_in_another_process(
    end: str, folder: ProducerFolder, mock_bootstrap: str, mock_topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    journaled(client(mock_bootstrap), journal=folder.path, topic=mock_topic).close()
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder.path))
    subprocess.run([sys.executable, "-c", PROGRAM, mock_bootstrap, mock_topic, end], check=end == "end")
    assert {row["outcome"] for row in sends(folder, 1)} == {"acked"}
    assert len(sends(folder, 1)) == 100
    assert has_ended(folder.path / "1.jsonl") is (end == "end"), "the end of a program closes its journal"


def test_what_cannot_be_journaled_is_refused(
    folder: ProducerFolder, mock_bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    with pytest.raises(BadInput, match="no folder for the journal is named"):
        journaled(client(mock_bootstrap))
    with pytest.raises(BadInput, match="no topic is named"):
        journaled(client(mock_bootstrap), journal=folder.path)
    with pytest.raises(BadInput, match="this producer cannot be journaled"):
        journaled(SerializingProducer({"bootstrap.servers": mock_bootstrap}), journal=folder.path, topic="t")
    with pytest.raises(BadInput, match="this producer cannot be journaled"):
        journaled(object(), journal=folder.path, topic="t")
    producer = journaled(client(mock_bootstrap), journal=folder.path, topic="t")
    with pytest.raises(BadInput, match="this producer cannot be journaled"):
        journaled(producer, journal=folder.path)
    with pytest.raises(NotImplementedError):
        producer.produce_batch("t", [])
    producer.close()
    with pytest.raises(ValueError, match="is closed"):
        producer.produce("t", b"a")


def test_every_report_behind_a_fatal_error_is_journaled(folder: ProducerFolder) -> None:
    """confluent-kafka calls its first callback behind that error while it is set (docs/open-bugs.md)."""
    produce, out_of_order = 0, 45
    with refusing_cluster() as cluster:
        cluster.create("t", replicas=1, partitions=4)
        wrapped = journaled(
            client(cluster.bootstrap, enable_idempotence=True, linger_ms=100), journal=folder.path, topic="t"
        )
        for partition in range(4):
            wrapped.produce("t", b"first", partition=partition)
        assert wrapped.flush(30) == 0
        cluster.answer(produce, out_of_order)
        for number in range(80):
            wrapped.produce("t", b"then", partition=number % 4)
        # Its own flush says nothing else than that of the producer.
        assert flush(wrapped, 30) == 0
        wrapped.end()
    told = Counter(row["error"] or row["outcome"] for row in sends(folder))
    # Without a report it would be `indeterminate`, without an error.
    assert set(told) <= {"acked", "OUT_OF_ORDER_SEQUENCE_NUMBER", "_PURGE_QUEUE"}, told
    assert told.total() == 84
