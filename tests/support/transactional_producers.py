"""Transactional producers against librdkafka's mock cluster, with its journals."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from confluent_kafka import Producer

from harness.model.journal import TRANSACTIONS
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import WorkloadSpec
from workloads.records.journal.row_journal import RowJournal
from workloads.records.producer.producers import Producers
from workloads.records.producer.send_journal import SendJournal

Rows = list[dict[str, Any]]


class TransactionalProducers:
    """Transactional producers on a topic of its own; `journals` closes them: (sends, transactions)."""

    def __init__(
        self,
        folder: Path,
        bootstrap: str,
        topic: str,
        spec: WorkloadSpec,
        *,
        client: Callable[..., Any] = Producer,
        **settings: Any,
    ) -> None:
        self._folder = folder
        self._sends = SendJournal(folder / "sends", topic)
        self._txns = RowJournal(folder / "transactions", TRANSACTIONS)
        self.producers = Producers(
            spec,
            ProducerSettings(**settings),
            bootstrap=bootstrap,
            topic=topic,
            partitions=4,
            run_id=1,
            seed=5,
            journal=self._sends,
            transactions=self._txns,
            client=client,
        )

    def write(self, step: int, records: int) -> None:
        self.producers.start(step, records=records)
        assert self.producers.finish(time.monotonic() + 60)

    def journals(self, seconds: float = 5.0) -> tuple[Rows, Rows]:
        self.producers.close(seconds)
        self._sends.close()
        self._txns.close()
        sends = pq.read_table(self._folder / "sends").to_pylist()
        return sends, pq.read_table(self._folder / "transactions").to_pylist()
