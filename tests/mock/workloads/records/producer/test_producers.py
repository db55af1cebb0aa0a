"""Producers against librdkafka's mock cluster: each send journalled once, with the right outcome."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, murmur2

from harness.model.errors import BadInput, JournalError
from harness.model.journal import SendOutcome
from tests.support.refusing_cluster import refusing_cluster
from workloads.records.clients import LOGGER_NAME, flush
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import WorkloadSpec
from workloads.records.producer.producers import Producers
from workloads.records.producer.reports import DeliveryReports, Tally
from workloads.records.producer.send_journal import NO_KEY, SendBatch, SendJournal
from workloads.records.record.identity import ValueBuilder, encode_key

pytestmark = pytest.mark.mock

PARTITIONS = 4
NOWHERE = "127.0.0.1:1"
PRODUCE, OUT_OF_ORDER_SEQUENCE_NUMBER = 0, 45
Rows = list[dict[str, Any]]


def soon() -> float:
    return time.monotonic() + 60


@pytest.fixture
def producers(
    tmp_path: Path, mock_bootstrap: str, mock_topic: str
) -> Callable[..., tuple[Producers, Callable[[], Rows]]]:
    """`make(spec, settings, ...)` -> (producers, rows()); rows() closes both and reads the journal."""

    def make(
        spec: WorkloadSpec | None = None,
        settings: ProducerSettings | None = None,
        bootstrap: str = mock_bootstrap,
        **more: Any,
    ) -> tuple[Producers, Callable[[], Rows]]:
        journal = SendJournal(tmp_path / "sends", mock_topic)
        made = Producers(
            spec or WorkloadSpec(),
            settings or ProducerSettings(),
            bootstrap=bootstrap,
            topic=mock_topic,
            partitions=PARTITIONS,
            run_id=1,
            seed=5,
            journal=journal,
            **more,
        )

        def rows() -> Rows:
            made.close(0.1)
            journal.close()
            if "transactions" in more:
                more["transactions"].close()
            found: Rows = pq.read_table(tmp_path / "sends").to_pylist()
            keys = Counter((row["producer"], row["seq"]) for row in found)
            assert set(keys.values()) <= {1}, "a send has more than one row"
            assert len(found) == made.progress().sent
            return found

        return made, rows

    return make


@pytest.mark.parametrize(
    ("settings", "outcome"),
    [
        (ProducerSettings(acks="0"), "unconfirmed"),
        (ProducerSettings(acks="1"), "acked"),
        (ProducerSettings(acks="all"), "acked"),
        (ProducerSettings(enable_idempotence=True), "acked"),
    ],
    ids=["acks-0", "acks-1", "acks-all", "idempotent"],
)
def test_each_send_has_one_row(producers: Any, settings: ProducerSettings, outcome: str) -> None:
    made, rows = producers(WorkloadSpec(producers=3), settings)
    made.start(0, records=3001)
    assert made.finish(soon())
    made.start(1, records=2)
    assert made.finish(soon())
    progress = made.progress()
    assert (progress.sent, progress.open, progress.errors) == (3003, 0, {})
    assert getattr(progress, outcome) == 3003
    found = rows()
    for producer, count in ((0, 1002), (1, 1001), (2, 1000)):
        mine = sorted(row["seq"] for row in found if row["producer"] == producer)
        assert mine == list(range(count)), "seq must be dense"
    assert {row["outcome"] for row in found} == {outcome}
    assert Counter(row["step"] for row in found) == {0: 3001, 1: 2}
    assert all(row["partition"] == row["seq"] % PARTITIONS and row["key"] is None for row in found)
    assert all(row["closed_ns"] >= row["sent_ns"] for row in found)
    offsets = [(row["partition"], row["offset"]) for row in found]
    if outcome == "acked":
        assert len(set(offsets)) == len(found), "each acknowledged record has an offset of its own"
    else:
        assert {offset for _, offset in offsets} == {None}


def test_keys_lead_to_partitions(producers: Any) -> None:
    made, rows = producers(WorkloadSpec(keys=7))
    made.start(0, records=100)
    assert made.finish(soon())
    found = rows()
    assert all(row["key"] == row["seq"] % 7 for row in found)
    assert all(row["partition"] == row["key"] % PARTITIONS for row in found)


@pytest.mark.parametrize("keys", [None, 7])
def test_where_the_client_chooses_its_reports_say_the_partition(producers: Any, keys: int | None) -> None:
    spec = WorkloadSpec(keys=keys, spread="client")
    made, rows = producers(spec, ProducerSettings(partitioner="murmur2_random", sticky_linger_ms=0))
    made.start(0, records=400)
    assert made.finish(soon())
    found = rows()
    assert len({(row["partition"], row["offset"]) for row in found}) == 400
    if keys is not None:
        chosen = {row["key"]: row["partition"] for row in found}
        assert chosen == {key: murmur2(encode_key(key), PARTITIONS) for key in range(keys)}
    else:
        assert {row["partition"] for row in found} == set(range(PARTITIONS))


def test_a_partition_that_the_client_never_chose_is_not_known(producers: Any) -> None:
    made, rows = producers(
        WorkloadSpec(spread="client"), ProducerSettings(delivery_timeout_ms=200), bootstrap=NOWHERE
    )
    made.start(0, records=5)
    assert made.finish(soon())
    assert {(row["outcome"], row["partition"]) for row in rows()} == {("indeterminate", -1)}


def test_a_rate_spreads_the_sends_over_time(producers: Any) -> None:
    made, rows = producers(WorkloadSpec(producers=2, rate=400))
    made.start(0, records=100)
    assert made.finish(soon())
    sent = sorted(row["sent_ns"] for row in rows())
    # 50 records of each of two producers at 200 a second: the last is due 0.245 s after the first.
    assert sent[-1] - sent[0] >= 0.23e9


def test_a_step_ends_at_its_time_and_its_own_rate_wins(producers: Any) -> None:
    made, rows = producers(WorkloadSpec(rate=1e9))
    made.start(0, seconds=1, rate=100)
    assert made.finish(soon())
    assert 1 <= len(rows()) <= 101


def test_stop_ends_an_endless_step(producers: Any) -> None:
    made, rows = producers(WorkloadSpec(rate=1000))
    made.start(0)
    deadline = soon()
    while made.progress().acked < 20:
        assert time.monotonic() < deadline
        assert not made.finish(time.monotonic() + 0.01)
    with pytest.raises(RuntimeError, match="still writing"):
        made.start(1)
    made.stop()
    assert made.finish(soon())
    assert {row["outcome"] for row in rows()} == {"acked"}


def test_a_step_may_begin_while_sends_of_the_last_are_open(producers: Any) -> None:
    made, rows = producers(settings=ProducerSettings(linger_ms=3000))
    made.start(0, records=5)
    assert not made.finish(time.monotonic() + 0.2)
    made.start(1, records=5)
    assert made.finish(soon())
    found = sorted(rows(), key=lambda row: row["seq"])
    assert [row["step"] for row in found] == [0] * 5 + [1] * 5
    assert {row["outcome"] for row in found} == {"acked"}


def test_a_full_queue_is_no_outcome(producers: Any) -> None:
    settings = ProducerSettings(extra={"queue.buffering.max.messages": "10"})
    made, rows = producers(settings=settings)
    made.start(0, records=500)
    assert made.finish(soon())
    assert made.progress().acked == 500
    assert [row["seq"] for row in sorted(rows(), key=lambda row: row["seq"])] == list(range(500))


def test_too_large_for_the_client_is_rejected(producers: Any) -> None:
    settings = ProducerSettings(extra={"message.max.bytes": "1000"})
    made, rows = producers(WorkloadSpec(record_size=2000), settings)
    made.start(0, records=5)
    assert made.finish(soon())
    assert made.progress().errors == {"MSG_SIZE_TOO_LARGE": 5}
    assert made.progress().last_error == "MSG_SIZE_TOO_LARGE"
    found = rows()
    assert {(row["outcome"], row["error"], row["offset"]) for row in found} == {
        ("rejected", "MSG_SIZE_TOO_LARGE", None)
    }
    assert all(row["closed_ns"] is not None for row in found)


def test_no_broker_leaves_timeouts_indeterminate(producers: Any) -> None:
    made, rows = producers(settings=ProducerSettings(delivery_timeout_ms=200), bootstrap=NOWHERE)
    made.start(0, records=5)
    assert made.finish(soon())
    assert {(row["outcome"], row["error"]) for row in rows()} == {("indeterminate", "_MSG_TIMED_OUT")}


def test_close_gives_up_what_is_open(producers: Any) -> None:
    made, rows = producers(bootstrap=NOWHERE)
    made.start(0, records=5)
    assert not made.finish(time.monotonic() + 1)
    assert made.progress().open in (0, 5)
    found = rows()
    assert len(found) == 5
    assert {(row["outcome"], row["error"]) for row in found} == {("indeterminate", "_PURGE_QUEUE")}


@pytest.mark.parametrize(
    ("extra", "names"),
    [({"no.such.property": "1"}, "no.such.property"), ({"message.max.bytes": "big"}, "message.max.bytes")],
)
def test_refused_settings_name_the_property(producers: Any, extra: dict[str, str], names: str) -> None:
    with pytest.raises(BadInput) as caught:
        producers(settings=ProducerSettings(extra=extra))
    assert caught.value.found is not None
    assert names in caught.value.found
    assert caught.value.where is not None
    assert names in caught.value.where


def test_the_clients_log_lines_go_to_the_logger(
    producers: Any, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, LOGGER_NAME):
        made, rows = producers(settings=ProducerSettings(delivery_timeout_ms=300), bootstrap=NOWHERE)
        made.start(0, records=1)
        assert made.finish(soon())
        rows()
    assert any("Connect to" in record.getMessage() for record in caplog.records)
    assert capfd.readouterr().err == ""


def test_a_journal_that_fails_ends_the_step_and_is_told(
    producers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise JournalError("a journal cannot be written")

    made, _ = producers()
    monkeypatch.setattr(SendJournal, "opened", full)
    made.start(0, records=5)
    with pytest.raises(JournalError):
        made.finish(soon())
    with pytest.raises(JournalError):
        made.close(0.1)


class DyingClient:
    """Accepts `lives` records, acknowledges none, then refuses with the fatal error of a dead producer."""

    lives = 3

    def __init__(self, config: dict[str, Any], logger: logging.Logger) -> None:
        assert logger.name == LOGGER_NAME
        self._error_cb = config["error_cb"]
        self._waiting: list[tuple[bytes, Any]] = []

    def produce(self, _topic: str, value: bytes, _key: None, _partition: int, report: Any) -> None:
        if len(self._waiting) == self.lives:
            raise KafkaException(KafkaError(KafkaError._FATAL, "epoch lost", fatal=True))
        self._waiting.append((value, report))

    def poll(self, _timeout: float) -> int:
        if len(self._waiting) == self.lives:
            for value, report in self._waiting:
                report(KafkaError(KafkaError._PURGE_QUEUE), FakeMessage(value, 0.1))
            self._waiting = []
            self.lives = 0
        return 0

    def flush(self, _timeout: float) -> int:
        return 0

    def purge(self, **_: bool) -> None: ...

    def close(self) -> None: ...


class DeadInPoll(DyingClient):
    """Its fatal error is raised by poll, once, as confluent-kafka does."""

    def produce(self, _topic: str, value: bytes, _key: None, _partition: int, report: Any) -> None:
        self._waiting.append((value, report))

    def poll(self, timeout: float) -> int:
        super().poll(timeout)
        if not self.lives:
            self.lives = -1
            raise KafkaException(KafkaError(KafkaError._FATAL, "epoch lost", fatal=True))
        return 0


class FakeMessage:
    def __init__(self, value: bytes, latency: float, offset: int | None = None) -> None:
        self._value, self._latency, self._offset = value, latency, offset

    def value(self) -> bytes:
        return self._value

    def latency(self) -> float:
        return self._latency

    def offset(self) -> int | None:
        return self._offset


def opened(count: int) -> SendBatch:
    zeros = np.zeros(count, dtype=np.int64)
    return SendBatch(0, 0, 0, 100, zeros, zeros.astype(np.int32), zeros + NO_KEY)


def test_a_dead_client_sends_no_more_and_is_a_problem(producers: Any) -> None:
    made, rows = producers(client=DyingClient)
    made.start(0, records=100)
    assert made.finish(soon())
    assert [problem for problem in made.problems if "producer 0" in problem and "epoch lost" in problem]
    made.start(1, records=100)
    assert made.finish(soon())
    outcomes = {row["seq"]: (row["outcome"], row["error"]) for row in rows()}
    purged = ("indeterminate", "_PURGE_QUEUE")
    assert outcomes == {0: purged, 1: purged, 2: purged, 3: ("rejected", "_FATAL")}


def test_a_fatal_error_that_poll_raises_does_the_same(producers: Any) -> None:
    made, rows = producers(client=DeadInPoll)
    made.start(0, records=3)
    assert made.finish(soon())
    made.start(1, records=100)
    assert made.finish(soon())
    assert [problem for problem in made.problems if "producer 0" in problem and "epoch lost" in problem]
    purged = ("indeterminate", "_PURGE_QUEUE")
    assert {row["seq"]: (row["outcome"], row["error"]) for row in rows()} == dict.fromkeys(range(3), purged)


@pytest.mark.parametrize("partition_known", [True, False])
def test_reports_behind_a_fatal_error_are_kept(tmp_path: Path, *, partition_known: bool) -> None:
    """confluent-kafka calls its callback while the error is set, which loses both: docs/open-bugs.md."""
    settings = ProducerSettings.model_validate({"enable.idempotence": True})
    journal, tally = SendJournal(tmp_path / "sends", "t"), Tally()
    journal.opened(opened(20 * PARTITIONS))
    reports = DeliveryReports(0, settings, journal, tally, partition_known=partition_known)
    build = ValueBuilder(1, 0, 100, 5)
    with refusing_cluster() as cluster:
        config = {"bootstrap.servers": cluster.bootstrap, "linger.ms": 100, "log_level": 0}
        client = Producer({**config, "enable.idempotence": True})
        cluster.create("t", replicas=1, partitions=PARTITIONS)
        for partition in range(PARTITIONS):
            client.produce("t", b"first", partition=partition)
        assert flush(client, 30) == 0
        cluster.answer(PRODUCE, OUT_OF_ORDER_SEQUENCE_NUMBER)
        for number, value in enumerate(build.build_many(0, 20 * PARTITIONS)):
            client.produce("t", value, partition=number % PARTITIONS, on_delivery=reports.callback)
        assert flush(client, 30) == 0
    reports.take()
    told = tally.progress()
    assert told.acked > 0
    assert told.errors["OUT_OF_ORDER_SEQUENCE_NUMBER"] > 0
    assert told.acked + sum(told.errors.values()) == 20 * PARTITIONS, told
    journal.close()


@pytest.mark.parametrize(
    ("retries", "latency", "outcome"),
    [(0, 0.01, "rejected"), (0, 0.5, "indeterminate"), (None, 0.01, "indeterminate")],
)
def test_a_brokers_refusal_is_rejected_only_as_the_only_attempt(
    tmp_path: Path, retries: int | None, latency: float, outcome: str
) -> None:
    tally = Tally()
    journal = SendJournal(tmp_path / "sends", "t")
    reports = DeliveryReports(0, ProducerSettings(retries=retries), journal, tally)
    value = ValueBuilder(1, 0, 100, 1)(0)
    journal.opened(opened(1))
    reports.callback(KafkaError(KafkaError.NOT_ENOUGH_REPLICAS), FakeMessage(value, latency))
    reports.take()
    assert getattr(tally.progress(), outcome) == 1
    assert tally.progress().errors == {"NOT_ENOUGH_REPLICAS": 1}


def test_a_success_without_an_offset_is_acked(tmp_path: Path) -> None:
    journal = SendJournal(tmp_path, "t")
    reports = DeliveryReports(0, ProducerSettings(enable_idempotence=True), journal, Tally())
    build = ValueBuilder(1, 0, 100, 1)
    journal.opened(opened(2))
    reports.callback(None, FakeMessage(build(0), 0.1, None))
    reports.callback(None, FakeMessage(build(1), 0.1, 8))
    reports.take()
    journal.close()
    found = pq.read_table(tmp_path).sort_by("seq").to_pylist()
    assert [(row["outcome"], row["offset"]) for row in found] == [
        (SendOutcome.ACKED, None),
        (SendOutcome.ACKED, 8),
    ]
