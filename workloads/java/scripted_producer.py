"""One Java producer that is controlled call by call, with its journals of sends and transactions."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

from harness.model.journal import RowSink, TxnOutcome
from workloads.groups.group_steps import SendOffsets
from workloads.java.drive_step import Send
from workloads.java.java_client import error_of
from workloads.java.java_outcomes import outcome_of
from workloads.java.jvm import java_duration
from workloads.records.producer.outcomes import FENCED
from workloads.records.producer.reports import Tally
from workloads.records.producer.send_journal import NO_KEY, NO_OFFSET, NO_TXN, SendBatch, SendJournal
from workloads.records.record.identity import ValueBuilder

_POLL_SECONDS = 0.02


@dataclass(slots=True)
class _Transaction:
    number: int
    begun_ns: int
    records: int = 0
    offsets: list[SendOffsets] = field(default_factory=list)


@dataclass(eq=False)
class ScriptedProducer:
    """Writes `topic` with `producer`, a Java KafkaProducer.

    Reports are journaled when a call waits for them, when `collect_reports` is called, and at the end.
    """

    jvm: Any
    producer: Any
    _: KW_ONLY
    number: int
    topic: str
    run_id: int
    seed: int
    acks: str
    size: int
    journal: SendJournal
    transactions: RowSink | None
    commits: RowSink

    def __post_init__(self) -> None:
        self.tally = Tally()
        self._builders: dict[int, ValueBuilder] = {}
        self._next = 0
        self._waiting: dict[int, Any] = {}
        """The Java objects of sends that have no report yet, by seq."""
        self._open: _Transaction | None = None
        self._begun = 0
        if self.transactions is not None:
            self.producer.initTransactions()

    def begin(self) -> str | None:
        """Begin a transaction; returns the exception in words if that failed, else None."""
        try:
            self.producer.beginTransaction()
        except Py4JJavaError as error:
            return error_of(error).str()
        self._open = _Transaction(self._begun, time.time_ns())
        self._begun += 1
        return None

    def end(self, request: str, *, taken_over: bool = False) -> None:
        """Commit or abort (`request`) the open transaction, and journal its outcome. `taken_over`: another
        producer with its transactional.id has been initialised since it began, so Kafka has aborted it."""
        ending, self._open = self._open, None
        asked_ns, error = time.time_ns(), self._ask_to_end(request)
        if taken_over and error is not None and error not in FENCED:
            # A send was refused first. That the producer is fenced it learns from the coordinator.
            error = self._ask_to_end("abort") or error
        self.collect_reports()
        if ending is None or self.transactions is None:
            return
        # Without a request to commit, a transaction cannot become committed (KIP-98).
        outcome = TxnOutcome.COMMITTED if request == "commit" else TxnOutcome.ABORTED
        if error is not None and request == "commit":
            outcome = TxnOutcome.ABORTED if taken_over else TxnOutcome.INDETERMINATE
        self.transactions.append(
            {
                "producer": self.number,
                "txn": ending.number,
                "begun_ns": ending.begun_ns,
                "ended_ns": time.time_ns() if error is None or taken_over else None,
                "asked": request,
                "outcome": outcome.value,
                "records": ending.records,
                "error": error,
            }
        )
        # Its offsets are commits of groups without members.
        for offset in ending.offsets:
            self.commits.append(
                {
                    "reader": offset.group,
                    "session": 0,
                    "at_ns": time.time_ns(),
                    "topic": self.topic,
                    "partition": offset.partition,
                    "offset": offset.offset,
                    "error": None if outcome is TxnOutcome.COMMITTED else outcome.name,
                    "kind": "transaction",
                    "asked_ns": asked_ns,
                }
            )

    def _ask_to_end(self, request: str) -> str | None:
        """Commit or abort; returns the name of the exception if that failed, else None."""
        try:
            if request == "commit":
                self.producer.commitTransaction()
            else:
                self.producer.abortTransaction()
        except Py4JJavaError as error:
            return error_of(error).exception
        return None

    def send_offsets(self, offsets: SendOffsets) -> str | None:
        """Add an offset to the open transaction; returns the exception in words if that failed, else None."""
        kafka = self.jvm.org.apache.kafka
        committed = self.jvm.java.util.HashMap()
        committed.put(
            kafka.common.TopicPartition(self.topic, offsets.partition),
            kafka.clients.consumer.OffsetAndMetadata(offsets.offset),
        )
        try:
            self.producer.sendOffsetsToTransaction(
                committed, kafka.clients.consumer.ConsumerGroupMetadata(offsets.group)
            )
        except Py4JJavaError as error:
            return error_of(error).str()
        if self._open is not None:
            self._open.offsets.append(offsets)
        return None

    def flush(self) -> None:
        """Send what is buffered, and wait for all reports."""
        self.producer.flush()
        self.collect_reports()

    def send(self, step: int, send: Send) -> None:
        """Send records to a partition; waits for their reports if `send.awaited`."""
        first, size = self._next, send.size or self.size
        seed = self.seed * 1_000_003 + self.number + size
        builder = self._builders.setdefault(size, ValueBuilder(self.run_id, self.number, size, seed))
        self._next += send.records
        record = self.jvm.org.apache.kafka.clients.producer.ProducerRecord
        made = [record(self.topic, send.partition, None, builder(first + n)) for n in range(send.records)]
        self.journal.opened(
            SendBatch(
                producer=self.number,
                first=first,
                step=step,
                size=size,
                sent_ns=np.full(send.records, time.time_ns(), dtype=np.int64),
                partition=np.full(send.records, send.partition, dtype=np.int32),
                key=np.full(send.records, NO_KEY, dtype=np.int64),
                txn=NO_TXN if self._open is None else self._open.number,
            )
        )
        self.tally.sent(send.records)
        if self._open is not None:
            self._open.records += send.records
        for seq, java_record in enumerate(made, start=first):
            try:
                self._waiting[seq] = self.producer.send(java_record)
            except Py4JJavaError as error:
                self._journal_report(seq, error, None)
        if send.awaited:
            self.producer.flush()
            self.collect_reports()

    def collect_reports(self) -> None:
        """Journal the reports that have arrived."""
        waiting, self._waiting = self._waiting, {}
        for seq, future in waiting.items():
            if not future.isDone():
                self._waiting[seq] = future
                continue
            try:
                metadata = future.get()
            except Py4JJavaError as error:
                self._journal_report(seq, error, None)
            else:
                self._journal_report(seq, None, int(metadata.offset()) if metadata.hasOffset() else None)

    def finish(self, deadline: float) -> bool:
        """Wait until `deadline` (time.monotonic()) at most; returns whether every send has its report."""
        self.collect_reports()
        while self._waiting and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
            self.collect_reports()
        return not self._waiting

    def close(self, seconds: float) -> None:
        """Abort an open transaction, wait for reports for at most `seconds`, and close the client."""
        if self._open is not None:
            self.end("abort")
        self.producer.close(java_duration(self.jvm, max(0, seconds)))
        self.collect_reports()

    def _journal_report(self, seq: int, error: Py4JJavaError | None, offset: int | None) -> None:
        report = None if error is None else error_of(error)
        name = None if report is None else report.exception
        outcome = outcome_of(name, None if report is None else report.message, self.acks)
        self.journal.closed(
            self.number,
            np.array([seq], dtype=np.int64),
            np.array([time.time_ns()], dtype=np.int64),
            outcome,
            offsets=np.array([NO_OFFSET if offset is None else offset], dtype=np.int64),
            errors=[name],
        )
        self.tally.ended([outcome], [] if name is None else [name])
