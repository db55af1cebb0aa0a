"""The Java client with confluent-kafka's calls: reports in order, failures by exception, a lost JVM."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaException
from py4j.protocol import Py4JNetworkError

from harness.model.errors import BadInput
from harness.model.journal import SendOutcome
from tests.support.fake_java import JavaError
from workloads.java import java_client
from workloads.java.java_client import JavaClient
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.producer.producers import Producers, WorkloadSpec
from workloads.records.producer.send_journal import SendJournal

pytestmark = pytest.mark.pure


class Future:
    def __init__(self, place: str) -> None:
        self.place = place
        self.done = False
        self.error: Exception | None = None

    def isDone(self) -> bool:
        return self.done

    def get(self) -> Any:
        if self.error is not None:
            raise self.error
        return SimpleNamespace(toString=lambda: self.place)


class JavaProducer:
    """KafkaProducer, of which a test decides what is reported."""

    def __init__(self, *_: object) -> None:
        self.futures: list[Future] = []
        self.answer: Exception | None = None
        self.closed = 0
        self.at_once = False

    def send(self, record: tuple[Any, ...]) -> Future:
        if self.answer is not None:
            raise self.answer
        topic, partition, _, _ = record
        future = Future(f"{topic}-{partition or 0}@{len(self.futures)}")
        future.done = self.at_once
        self.futures.append(future)
        return future

    def close(self, _: object) -> None:
        self.closed += 1


class Jvm:
    def __init__(self, producer: Any) -> None:
        self.closed = 0
        make = producer if callable(producer) else lambda *_: producer
        clients = SimpleNamespace(KafkaProducer=make, ProducerRecord=lambda *record: record)
        serializer = SimpleNamespace(ByteArraySerializer=object)
        kafka = SimpleNamespace(
            clients=SimpleNamespace(producer=clients), common=SimpleNamespace(serialization=serializer)
        )
        self.packages = SimpleNamespace(
            java=SimpleNamespace(
                util=SimpleNamespace(HashMap=lambda: SimpleNamespace(put=lambda *_: None)),
                time=SimpleNamespace(Duration=SimpleNamespace(ZERO=0)),
            ),
            org=SimpleNamespace(apache=SimpleNamespace(kafka=kafka)),
        )

    def close(self) -> None:
        self.closed += 1


class Made:
    """A client over a producer of this test, and what its callback got: (error's name, value, partition,
    offset)."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.producer = JavaProducer()
        self.jvm = Jvm(self.producer)
        monkeypatch.setattr(java_client, "Jvm", lambda _: self.jvm)
        self.client = JavaClient(Path("clients.jar"), {"acks": "all"}, {})
        self.reports: list[tuple[str | None, bytes, int | None, int | None]] = []

    def send(self, value: bytes, partition: int = 0) -> None:
        self.client.produce("t", value, None, partition, self.take)

    def take(self, error: Any, report: Any) -> None:
        name = None if error is None else error.name()
        self.reports.append((name, report.value(), report.partition(), report.offset()))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    return Made(monkeypatch)


def test_reports_are_given_as_they_arrive(made: Made) -> None:
    for value, partition in ((b"a", 0), (b"b", 0), (b"c", 1), (b"d", -1)):
        made.send(value, partition)
    assert (made.client.poll(0), len(made.client)) == (0, 4)
    made.producer.futures[1].done = made.producer.futures[2].done = made.producer.futures[3].done = True
    assert made.client.poll(0) == 2
    assert made.reports == [(None, b"c", 1, 2), (None, b"d", 0, 3)]
    made.producer.futures[0].done = True
    made.producer.futures[1].place = "t-0@-1"
    assert made.client.flush(5) == 0
    assert made.reports[2:] == [(None, b"a", 0, 0), (None, b"b", 0, None)]


def test_reports_do_not_wait_for_the_end_of_a_long_row_of_sends(made: Made) -> None:
    made.producer.at_once = True
    made.send(b"a")
    time.sleep(2 * java_client._POLL_SECONDS)
    made.send(b"b")
    assert [value for _, value, _, _ in made.reports] == [b"a"]


def test_failures_are_named_by_the_clients_own_exception(made: Made) -> None:
    made.send(b"a")
    cause = JavaError("org.apache.kafka.common.errors.NotEnoughReplicasException", "x").java_exception
    made.producer.futures[0].done = True
    made.producer.futures[0].error = JavaError("java.util.concurrent.ExecutionException", "y", cause)
    made.producer.answer = JavaError("java.lang.IllegalStateException", "closed")
    made.send(b"b")
    assert made.client.poll(0) == 2
    assert [name for name, *_ in made.reports] == ["NotEnoughReplicasException", "IllegalStateException"]


def test_a_jvm_that_ends_leaves_no_send_without_a_report(made: Made) -> None:
    made.send(b"a")
    made.producer.answer = Py4JNetworkError("gone")
    with pytest.raises(KafkaException) as raised:
        made.send(b"b")
    assert raised.value.args[0].fatal()
    assert made.client.poll(0) == 1
    assert made.reports == [("JvmEnded", b"a", 0, None)]


def test_waiting_is_bounded_and_nothing_to_wait_for_waits_too(made: Made) -> None:
    begun = time.monotonic()
    assert made.client.poll(0.05) == 0
    made.send(b"a")
    assert made.client.flush(0.05) == 1
    assert 0.1 <= time.monotonic() - begun < 60


def test_closing_ends_the_client_and_its_jvm(made: Made) -> None:
    made.client.close()
    assert (made.producer.closed, made.jvm.closed) == (1, 1)


def test_refused_settings_are_bad_input_and_leave_no_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise JavaError("org.apache.kafka.common.config.ConfigException", "buffer.memory: many")

    jvm = Jvm(refuse)
    monkeypatch.setattr(java_client, "Jvm", lambda _: jvm)
    with pytest.raises(BadInput, match="the Java client refuses the producer settings") as raised:
        JavaClient(Path("clients.jar"), {"buffer.memory": "many"}, {"sasl.jaas.config": "secret"})
    assert "buffer.memory: many" in str(raised.value)
    assert "secret" not in str(raised.value)
    assert jvm.closed == 1


def test_refused_settings_are_told_with_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    why = "delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms"

    def refuse(*_: object) -> None:
        cause = JavaError("org.apache.kafka.common.config.ConfigException", why).java_exception
        raise JavaError("org.apache.kafka.common.KafkaException", "Failed to construct kafka producer", cause)

    monkeypatch.setattr(java_client, "Jvm", lambda _: Jvm(refuse))
    with pytest.raises(BadInput) as raised:
        JavaClient(Path("clients.jar"), {"delivery.timeout.ms": "1"}, {})
    assert f"Failed to construct kafka producer: {why}" in str(raised.value)


@pytest.mark.parametrize(
    ("exception", "message", "outcome"),
    [
        ("NotEnoughReplicasException", "x", SendOutcome.INDETERMINATE),
        ("TimeoutException", "Topic t not present in metadata after 60000 ms.", SendOutcome.REJECTED),
    ],
)
def test_a_workload_writes_with_it(
    made: Made, tmp_path: Path, exception: str, message: str, outcome: SendOutcome
) -> None:
    made.producer.at_once = True
    with SendJournal(tmp_path / "sends", "t") as journal:
        producers = Producers(
            WorkloadSpec(client="java"),
            ProducerSettings(),
            bootstrap="b:1",
            topic="t",
            partitions=2,
            run_id=7,
            seed=1,
            journal=journal,
            client=lambda *_, **__: made.client,
        )
        producers.start(0, records=10)
        assert producers.finish(time.monotonic() + 60)
        made.producer.answer = JavaError(f"org.apache.kafka.common.errors.{exception}", message)
        producers.start(1, records=5)
        assert producers.finish(time.monotonic() + 60)
        producers.close()
    progress = producers.progress()
    assert progress.acked == 10
    assert getattr(progress, outcome.value) == 5
    assert made.jvm.closed == 1
