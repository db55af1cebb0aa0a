"""Transactional producers against librdkafka's mock cluster, which answers but neither fences nor hides."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.support.transactional_producers import TransactionalProducers
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import TransactionSpec, WorkloadSpec
from workloads.records.producer.producers import Producers
from workloads.records.producer.send_journal import SendJournal

pytestmark = pytest.mark.mock

NOWHERE = "127.0.0.1:1"


def test_every_send_is_in_one_transaction_and_every_transaction_has_its_row(
    tmp_path: Path, mock_bootstrap: str, mock_topic: str
) -> None:
    spec = WorkloadSpec(producers=2, transactions=TransactionSpec(records=30, abort=0.4))
    case = TransactionalProducers(tmp_path, mock_bootstrap, mock_topic, spec, linger_ms=0)
    case.write(0, 1001)
    case.write(1, 10)
    sends, txns = case.journals()
    assert len(sends) == 1011
    assert {row["outcome"] for row in sends} == {"acked"}
    for producer in (0, 1):
        mine = sorted((row for row in sends if row["producer"] == producer), key=lambda row: row["seq"])
        numbers = [row["txn"] for row in mine]
        assert numbers == sorted(numbers)
        ended = {row["txn"]: row for row in txns if row["producer"] == producer}
        assert sorted(ended) == list(range(len(ended))), "txn must be dense"
        assert Counter(numbers) == {txn: row["records"] for txn, row in ended.items() if row["records"]}
        assert len({row["step"] for row in mine if row["txn"] == numbers[-1]}) == 1, "a step ends its own"
    assert {(row["asked"], row["outcome"]) for row in txns} == {
        ("commit", "committed"),
        ("abort", "aborted"),
    }
    assert max(len({row["partition"] for row in sends if row["txn"] == txn}) for txn in range(5)) == 4
    assert all(row["ended_ns"] > row["begun_ns"] and row["error"] is None for row in txns)


def test_without_transactions_there_are_none(tmp_path: Path, mock_bootstrap: str, mock_topic: str) -> None:
    journal = SendJournal(tmp_path / "sends", mock_topic)
    made = Producers(
        WorkloadSpec(),
        ProducerSettings(),
        bootstrap=mock_bootstrap,
        topic=mock_topic,
        partitions=4,
        run_id=1,
        seed=5,
        journal=journal,
    )
    made.start(0, records=10)
    assert made.finish(time.monotonic() + 60)
    made.close()
    journal.close()
    assert {row["txn"] for row in pq.read_table(tmp_path / "sends").to_pylist()} == {None}


def test_a_step_stopped_early_still_ends_its_transaction(
    tmp_path: Path, mock_bootstrap: str, mock_topic: str
) -> None:
    spec = WorkloadSpec(rate=500, transactions=TransactionSpec(records=100_000))
    case = TransactionalProducers(tmp_path, mock_bootstrap, mock_topic, spec)
    case.producers.start(0)
    deadline = time.monotonic() + 60
    while case.producers.progress().acked < 20:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    case.producers.stop()
    assert case.producers.finish(deadline)
    sends, (txn,) = case.journals()
    assert (txn["outcome"], txn["records"]) == ("committed", len(sends))


def test_no_coordinator_leaves_nothing_begun_and_is_a_problem(tmp_path: Path, mock_topic: str) -> None:
    spec = WorkloadSpec(transactions=TransactionSpec())
    case = TransactionalProducers(tmp_path, NOWHERE, mock_topic, spec)
    case.producers.start(0, records=10)
    assert not case.producers.finish(time.monotonic() + 0.3)
    sends, txns = case.journals(0.1)
    assert (sends, txns) == ([], [])
    (problem,) = case.producers.problems
    assert "init_transactions" in problem
