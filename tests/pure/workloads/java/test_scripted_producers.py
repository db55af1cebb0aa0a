"""Drive steps: valid ones, the client's settings, and how a producer journals reports."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.cluster.node_plan import plan
from harness.model.errors import BadInput
from harness.model.journal import TRANSACTIONS
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import parse
from harness.spec.run_plan import lines, plan_of
from tests.support.fake_java import JavaError
from workloads.java.drive_step import Drive, Send
from workloads.java.java_settings import scripted_properties
from workloads.java.scripted_producer import ScriptedProducer
from workloads.java.scripted_producers import PyScriptedProducers
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import ScriptedProducerSpec, WorkloadSpec
from workloads.records.journal.row_journal import RowJournal
from workloads.records.producer.orders import RivalOrder
from workloads.records.producer.send_journal import SendJournal

pytestmark = pytest.mark.pure

TEXT = """
name: driven
title: t
topic: {assignment: [[1, 2, 3], [2, 3, 1]]}
workload: {client: driven, driven: {transactional: true, coordinator: 1}}
steps:
- drive: {name: one, by: writer, do: [begin, send: {partition: 1, records: 3, size: 64}, commit]}
- drive: {name: two, do: [flush, send: {awaited: false}]}
arms: [{name: only, producer: {acks: all}, promise: {lost: acked in one}}]
"""


def experiment(old: str = "", new: str = "") -> Experiment:
    return parse(TEXT.replace(old, new), "x.yaml")


def test_a_drive_step_is_data_and_described_in_words() -> None:
    told = "\n".join(lines(plan_of(experiment(), 0)))
    assert "drive one, writer: begin, send 3 records of 64 bytes to partition 1, commit" in told
    assert "drive two, first: flush, send 1 record to partition 0, not awaited" in told
    assert experiment().write_names == ("one", "two")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("partition: 1", "partition: 2", "partitions 0 to 1"),
        ("transactional: true, coordinator: 1", "transactional: false", "transactions need"),
        ("transactional: true, ", "", "`coordinator` applies to transactions only"),
        ("driven: {transactional: true, coordinator: 1}", "producers: 2", "leave producers out"),
        (
            "client: driven, driven: {transactional: true, coordinator: 1}",
            "client: java",
            "drive steps need",
        ),
        (
            "- drive: {name: two, do: [flush, send: {awaited: false}]}",
            "- write: {name: two, records: 1}",
            "no write steps",
        ),
        ("acks: all", "acks: all, socket.timeout.ms: 100", "socket.timeout.ms is librdkafka's"),
    ],
)
def test_what_does_not_fit_is_refused(old: str, new: str, why: str) -> None:
    with pytest.raises(BadInput) as raised:
        experiment(old, new)
    assert why in str(raised.value)


def test_transactions_bring_idempotence_and_their_timeout() -> None:
    settings = ProducerSettings.model_validate({"transaction.timeout.ms": 5000, "delivery.timeout.ms": 3000})
    plain = scripted_properties(ScriptedProducerSpec(), settings, "b:1")
    assert plain["enable.idempotence"] == "false"
    assert "transactional.id" not in plain
    given = scripted_properties(ScriptedProducerSpec(transactional=True), settings, "b:1", "t")
    assert given["enable.idempotence"] == "true"
    assert given["transaction.timeout.ms"] == "5000"
    assert given["transactional.id"] == "t"


def test_loggers_and_the_metadata_version_reach_the_nodes() -> None:
    spec = ClusterSpec(loggers={"kafka.request.logger": "DEBUG"}, metadata_version="3.4-IV0")
    for node in plan(spec, [20001, 20002, 20003], "id"):
        assert node.environment["KAFKA_LOG4J_LOGGERS"] == "kafka.request.logger=DEBUG"
        assert f"node.id={node.id}" in node.environment["KAFKA_CHAOS_SETTINGS"].splitlines()
        assert node.command is not None
        assert "--release-version 3.4-IV0" in node.command[-1]
        assert node.command[-1].rstrip().endswith("exec /etc/kafka/docker/run")
    for node in plan(ClusterSpec(), [20001, 20002, 20003], "id"):
        assert node.command is None
        assert "KAFKA_LOG4J_LOGGERS" not in node.environment
    for setting in ({"loggers": {"a": "INFO"}}, {"metadata_version": "3.4-IV0"}):
        with pytest.raises(ValueError, match="only KRaft clusters"):
            ClusterSpec.model_validate({"metadata": "zookeeper", "version": "3.9.2", **setting})


class Future:
    def __init__(self, offset: int | None, error: JavaError | None, done: bool) -> None:
        self.offset_, self.error, self.done = offset, error, done

    def isDone(self) -> bool:
        return self.done

    def get(self) -> Any:
        if self.error is not None:
            raise self.error
        return self

    def hasOffset(self) -> bool:
        return self.offset_ is not None

    def offset(self) -> int | None:
        return self.offset_


class Client:
    """A producer that answers as it is told, and stands for the JVM around it."""

    def __init__(self, *futures: Future | JavaError, failing: dict[str, JavaError] | None = None) -> None:
        self.futures = list(futures)
        self.failing = failing or {}
        self.called: list[str] = []
        self.sent: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        if name in ("org", "apache", "kafka", "clients", "producer", "java", "time", "Duration"):
            return self

        def call(*given: Any) -> Any:
            self.called.append(name)
            if name in self.failing:
                raise self.failing[name]
            return given

        return call

    def ProducerRecord(self, *given: Any) -> Any:
        return given

    def send(self, record: Any) -> Future:
        self.sent.append(record)
        found = self.futures.pop(0)
        if isinstance(found, JavaError):
            raise found
        return found


TIMED_OUT = JavaError("org.apache.kafka.common.errors.TimeoutException", "Expiring 1 record(s)")
WRAPPED = JavaError("java.util.concurrent.ExecutionException", "org...", TIMED_OUT.java_exception)
NEVER_QUEUED = JavaError(
    "org.apache.kafka.common.errors.TimeoutException", "Topic t not present in metadata after 1 ms."
)


def producer(client: Client, sends: SendJournal, rows: RowJournal) -> ScriptedProducer:
    return ScriptedProducer(
        client,
        client,
        number=0,
        topic="t",
        run_id=7,
        seed=1,
        acks="all",
        size=64,
        journal=sends,
        transactions=rows,
        commits=[],
    )


def driven(
    folder: Path, client: Client, *calls: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Rows of sends and of transactions after these calls, and what refused to be begun."""
    refused = []
    with SendJournal(folder / "sends", "t") as sends, RowJournal(folder / "txn", TRANSACTIONS) as rows:
        one = producer(client, sends, rows)
        for call in calls:
            if isinstance(call, Send):
                one.send(3, call)
            elif call == "begin":
                refused += [why] if (why := one.begin()) else []
            else:
                one.end(call)
        assert one.finish(time.monotonic() + 1) is all(
            not isinstance(future, Future) or future.done for future in client.futures
        )
        one.close(1)
    return pq.read_table(folder / "sends").to_pylist(), pq.read_table(folder / "txn").to_pylist(), refused


def test_a_committed_transaction_and_an_aborted_one(tmp_path: Path) -> None:
    client = Client(Future(4, None, True), Future(None, WRAPPED, True))
    sends, txns, refused = driven(
        tmp_path, client, "begin", Send(), "commit", "begin", Send(partition=1, size=80), "abort"
    )
    assert not refused
    assert [
        (row["seq"], row["partition"], row["size"], row["outcome"], row["offset"], row["error"], row["txn"])
        for row in sends
    ] == [
        (0, 0, 64, "acked", 4, None, 0),
        (1, 1, 80, "indeterminate", None, "TimeoutException", 1),
    ]
    assert [(row["txn"], row["asked"], row["outcome"], row["records"], row["error"]) for row in txns] == [
        (0, "commit", "committed", 1, None),
        (1, "abort", "aborted", 1, None),
    ]
    assert [len(record[3]) for record in client.sent] == [64, 80]
    assert client.called[:2] == ["initTransactions", "beginTransaction"]


def test_a_commit_that_fails_may_have_been_made(tmp_path: Path) -> None:
    fenced = JavaError("org.apache.kafka.common.errors.ProducerFencedException", "newer")
    client = Client(Future(4, None, True), failing={"commitTransaction": fenced})
    _, (row,), _ = driven(tmp_path, client, "begin", Send(), "commit")
    assert (row["outcome"], row["error"], row["ended_ns"]) == (
        "indeterminate",
        "ProducerFencedException",
        None,
    )


FENCED = JavaError("org.apache.kafka.common.errors.ProducerFencedException", "newer")
IN_ERROR = JavaError("org.apache.kafka.common.KafkaException", "in an error state")


def met(
    monkeypatch: pytest.MonkeyPatch, folder: Path, first: Client, transactional_id: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str], list[str]]:
    """Sends, transactions, transactional.ids of the producers, and problems of a rival step."""
    second = Client(*(Future(number, None, True) for number in (9, 10)))
    left, ids = [first, second], []

    def create(_packages: Any, properties: dict[str, str], _access: Any) -> Client:
        ids.append(properties["transactional.id"])
        return left.pop(0)

    monkeypatch.setattr("workloads.java.scripted_producers.create_producer", create)
    monkeypatch.setattr("workloads.java.scripted_producers.client_jar", lambda *_: None)
    monkeypatch.setattr("workloads.java.scripted_producers.docker_engine.connect", lambda: None)
    jvm = SimpleNamespace(packages=first, close=lambda: None)
    monkeypatch.setattr("workloads.java.scripted_producers.Jvm", lambda _: jvm)
    cluster: Any = SimpleNamespace(
        bootstrap="b:1",
        image=SimpleNamespace(kafka_version="4.3.1"),
        access=SimpleNamespace(java=dict),
    )
    with SendJournal(folder / "sends", "t") as sends, RowJournal(folder / "txn", TRANSACTIONS) as rows:
        made = PyScriptedProducers(
            WorkloadSpec.model_validate({"client": "driven", "driven": {"transactional": True}}),
            ProducerSettings(),
            cluster=cluster,
            topic="t",
            run_id=7,
            seed=1,
            journal=sends,
            transactions=rows,
            commits=[],  # type: ignore[arg-type]
        )
        known = made.transactional_id_of("first")
        problems = made.drive(0, Drive(name="before", by="first", do=("begin", "abort")))
        assert ids == [known], "a producer has the id that was asked for before it began"
        problems += made.begin_rival(1, RivalOrder("second", 0, 2, transactional_id == "same"))
        problems += made.drive(2, Drive(name="after", by="second", do=("begin", "abort")))
        made.close()
    found = pq.read_table(folder / "sends").to_pylist(), pq.read_table(folder / "txn").to_pylist()
    return *found, ids, problems


def answers(*late: Future | JavaError) -> list[Future | JavaError]:
    """What the first producer's sends are answered: two before its rival begins, and then these."""
    return [Future(0, None, True), Future(1, None, True), *late]


OLD_EPOCH = JavaError("org.apache.kafka.common.errors.InvalidProducerEpochException", "old epoch")


@pytest.mark.parametrize(
    ("failing", "error"),
    [
        ({"commitTransaction": FENCED}, "ProducerFencedException"),
        ({"commitTransaction": IN_ERROR, "abortTransaction": FENCED}, "ProducerFencedException"),
        ({"commitTransaction": IN_ERROR}, "KafkaException"),
    ],
    ids=["by the commit", "by the abort after it", "it says nothing of fencing"],
)
def test_a_java_producer_whose_id_is_taken_is_fenced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, failing: dict[str, JavaError], error: str
) -> None:
    wrapped = JavaError("java.util.concurrent.ExecutionException", "org...", OLD_EPOCH.java_exception)
    first = Client(*answers(Future(None, wrapped, True), IN_ERROR))
    before = dict(failing)
    # The transaction of the first step ends before there is a rival.
    monkeypatch.setattr(first, "failing", {})
    original = first.send

    def send(record: Any) -> Future:
        if len(first.sent) == 1:
            first.failing = before
        return original(record)

    monkeypatch.setattr(first, "send", send)
    sends, txns, ids, problems = met(monkeypatch, tmp_path, first, "same")
    assert problems == []
    assert ids == ["kafka-chaos-driven-0"] * 2
    mine = [(row["seq"], row["step"], row["outcome"], row["error"]) for row in sends if row["producer"] == 0]
    assert sorted(mine) == [
        (0, 1, "acked", None),
        (1, 1, "acked", None),
        (2, 1, "indeterminate", "InvalidProducerEpochException"),
        (3, 1, "indeterminate", "KafkaException"),
    ]
    assert [(row["offset"], row["outcome"]) for row in sends if row["producer"] == 1] == [
        (9, "acked"),
        (10, "acked"),
    ]
    told = [
        (row["txn"], row["outcome"], row["records"], row["error"]) for row in txns if row["producer"] == 0
    ]
    assert told == [(0, "aborted", 0, None), (1, "aborted", 4, error)]
    assert [row["outcome"] for row in txns if row["producer"] == 1] == ["committed", "aborted"]


def test_the_control_a_java_rival_with_an_id_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = Client(*answers(Future(2, None, True), Future(3, None, True)))
    sends, txns, ids, problems = met(monkeypatch, tmp_path, first, "own")
    assert problems == []
    assert ids == ["kafka-chaos-driven-0", "kafka-chaos-driven-1"]
    assert {row["outcome"] for row in sends} == {"acked"}
    told = [(row["producer"], row["outcome"], row["records"]) for row in txns if row["records"]]
    assert sorted(told) == [(0, "committed", 4), (1, "committed", 2)]


def test_an_abort_that_fails_commits_nothing(tmp_path: Path) -> None:
    client = Client(Future(4, None, True), failing={"abortTransaction": TIMED_OUT})
    _, (row,), _ = driven(tmp_path, client, "begin", Send(), "abort")
    assert (row["outcome"], row["error"]) == ("aborted", "TimeoutException")


def test_what_is_refused_before_it_is_queued_is_certainly_not_written(tmp_path: Path) -> None:
    sends, _, _ = driven(tmp_path, Client(NEVER_QUEUED), Send())
    assert sends[0]["outcome"] == "rejected"
    assert sends[0]["txn"] is None


def test_a_transaction_that_cannot_begin_is_reported(tmp_path: Path) -> None:
    client = Client(failing={"beginTransaction": JavaError("java.lang.IllegalStateException", "no")})
    _, txns, refused = driven(tmp_path, client, "begin")
    assert refused == ["IllegalStateException: no"]
    assert not txns


def test_what_is_open_at_the_end_is_aborted_and_unreported_sends_stay_open(tmp_path: Path) -> None:
    client = Client(Future(None, None, False))
    with SendJournal(tmp_path / "sends", "t") as sends, RowJournal(tmp_path / "txn", TRANSACTIONS) as rows:
        one = producer(client, sends, rows)
        one.begin()
        one.send(0, Send(awaited=False))
        assert not one.finish(time.monotonic())
        one.close(0)
    assert "abortTransaction" in client.called
    (row,) = pq.read_table(tmp_path / "sends").to_pylist()
    assert (row["outcome"], row["error"]) == ("indeterminate", "_NO_REPORT")
