"""Transactions that poll, against librdkafka's mock cluster, which hides no uncommitted records: a circle."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from harness.model.group_journal import ASSIGNMENTS, COMMITS
from harness.model.journal import TRANSACTIONS
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import TransactionSpec, WorkloadSpec
from workloads.records.journal.row_journal import RowJournal
from workloads.records.producer.producers import Producers
from workloads.records.producer.send_journal import SendJournal
from workloads.records.reader.live_reader import LiveReader
from workloads.records.reader.reader_journal import ReaderSinks, Source
from workloads.records.reader.readers import Readers
from workloads.transactions.polls import Polls

pytestmark = pytest.mark.mock

RUN, PARTITIONS = 1, 4


def test_transactions_that_are_open_at_once_poll_each_other(
    tmp_path: Path, mock_bootstrap: str, mock_topic: str
) -> None:
    transactions = TransactionSpec(records=10, poll="read_uncommitted", poll_after=1.0)
    spec = WorkloadSpec(producers=2, transactions=transactions)
    where: dict[str, Any] = {"bootstrap": mock_bootstrap, "topic": mock_topic, "partitions": PARTITIONS}
    with (
        SendJournal(tmp_path / "sends", mock_topic) as sends,
        RowJournal(tmp_path / "transactions", TRANSACTIONS) as txns,
        RowJournal(tmp_path / "assignments", ASSIGNMENTS) as assignments,
        RowJournal(tmp_path / "commits", COMMITS) as commits,
    ):
        source = Source(
            run_id=RUN, folder=tmp_path / "live", sinks=ReaderSinks(assignments, commits), **where
        )
        readers, polled = Readers((), source), {}
        for number, of_producer in enumerate(spec.poll_readers):
            reader = LiveReader(of_producer, of_producer.name, source)
            reader.producer = number
            readers.add(of_producer, [reader])
            polled[number] = Polls(reader, transactions.poll_records)
        made = Producers(
            spec,
            ProducerSettings(**{"linger.ms": 0}),
            run_id=RUN,
            seed=5,
            journal=sends,
            transactions=txns,
            polled=polled,
            **where,
        )
        assert made.ready(30)
        readers.start()
        made.start(0, records=60)
        assert made.finish(time.monotonic() + 60)
        made.close()
        assert [info.producer for info in readers.infos()] == [0, 1]
        readers.close()

    def rows(name: str) -> list[dict[str, Any]]:
        return ds.dataset(tmp_path / name, format="parquet").to_table().to_pylist()  # type: ignore[no-any-return]

    wrote = {(row["producer"], row["seq"]): row["txn"] for row in rows("sends")}
    polls = set()
    for number in polled:
        received = {row["position"]: row for row in rows(f"live/polls-{number}")}
        mine = [row for row in rows("transactions") if row["producer"] == number]
        taken = [
            (row["txn"], at)
            for row in mine
            if row["polled"]
            for at in range(row["polled_from"], row["polled_from"] + row["polled"])
        ]
        assert [at for _, at in taken] == list(range(len(taken))), "each record once, in order"
        for txn, at in taken:
            record = received[at]
            polls.add(((number, txn), (record["producer"], wrote[record["producer"], record["seq"]])))
    circles = {pair for pair in polls if pair[0] != pair[1] and pair[::-1] in polls}
    assert circles, "two transactions polled each other's records"
