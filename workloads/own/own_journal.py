"""The journal of one producer of the user's own: sends, reports and transactions, from any thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import numpy as np

from harness.model.journal import (
    SENDS_DIR,
    TRANSACTIONS,
    TRANSACTIONS_DIR,
    SendOutcome,
    TxnOutcome,
)
from workloads.journal.parquet_parts import Flusher
from workloads.journal.row_journal import RowJournal
from workloads.own.producer_folder import mark_closed
from workloads.producer.open_sends import NO_KEY, SendBatch
from workloads.producer.send_journal import NO_OFFSET, SendJournal
from workloads.record.identity import decode_keys

ANY_PARTITION = -1
"""The client chose the partition, and its report names it."""
_MOST_WAITING = 10_000

_Send = tuple[int, int, bytes | None, int, int]
"""Time (ns), partition, key, size, transaction."""
_Report = tuple[int, int, SendOutcome, int, str | None, int]
"""Seq, time (ns), outcome, offset, error, partition."""


class OwnJournal:
    """Sends of producer `number` to `topic`, in `folder`. Threads may share it.

    `next_seq` is the number of the next send, `open` the number of sends without a report.
    """

    def __init__(self, folder: Path, number: int, topic: str) -> None:
        self.folder = folder
        self.number = number
        self.next_seq = 0
        self.last_ns = time.time_ns()
        self._reported = 0
        self._sends: list[_Send] = []
        self._drained = 0
        self._reports: list[_Report] = []
        self._adding = threading.Lock()
        self._reporting = threading.Lock()
        self._draining = threading.Lock()
        self._journal = SendJournal(folder / SENDS_DIR, topic)
        self._transactions: RowJournal | None = None
        self._closed = False
        self._flusher = Flusher(self._drain, f"journal-own-{number}")

    @property
    def open(self) -> int:
        return self.next_seq - self._reported

    def send(
        self,
        partition: int,
        key: bytes | None,
        size: int,
        txn: int,
        work: Callable[[int], None] = lambda _seq: None,
        *,
        at_ns: int | None = None,
    ) -> int:
        """Journal a send and carry it out with `work`, which gets its seq; returns that.

        If `work` raises, nothing was sent, and the seq is given to the next send.

        Raises:
            JournalError: the journal cannot be written.
            ValueError: it is closed.
        """
        self._flusher.check()
        with self._adding:
            if self._closed:
                raise ValueError("the journal of this producer is closed")
            seq = self.next_seq
            now = time.time_ns() if at_ns is None else at_ns
            work(seq)
            self._sends.append((now, partition, key, size, txn))
            self.next_seq += 1
            self.last_ns = now
        if len(self._sends) >= _MOST_WAITING:
            self._drain()
        return seq

    def report(
        self,
        seq: int,
        outcome: SendOutcome,
        *,
        offset: int | None = None,
        error: str | None = None,
        partition: int | None = None,
        at_ns: int | None = None,
    ) -> None:
        """Journal the report of a send."""
        now = time.time_ns() if at_ns is None else at_ns
        place = ANY_PARTITION if partition is None else partition
        with self._reporting:
            self._reports.append((seq, now, outcome, NO_OFFSET if offset is None else offset, error, place))
            self._reported += 1
        self.last_ns = now

    def transaction(
        self,
        number: int,
        *,
        begun_ns: int,
        ended_ns: int | None,
        asked: str,
        outcome: TxnOutcome,
        records: int,
        error: str | None,
    ) -> None:
        """Journal a transaction that has ended."""
        if self._transactions is None:
            self._transactions = RowJournal(self.folder / TRANSACTIONS_DIR, TRANSACTIONS)
        self._transactions.append(
            {
                "producer": self.number,
                "txn": number,
                "begun_ns": begun_ns,
                "ended_ns": ended_ns,
                "asked": asked,
                "outcome": outcome.value,
                "records": records,
                "error": error,
            }
        )

    def close(self) -> None:
        """Write everything and note that nothing will be added. Sends without a report are `indeterminate`.
        Safe to call again.

        Raises:
            JournalError: something could not be written.
        """
        with self._adding:
            if self._closed:
                return
            self._closed = True
        self._flusher.close()
        self._drain()
        self._journal.close()
        if self._transactions is not None:
            self._transactions.close()
        mark_closed(self.folder)

    def _drain(self) -> None:
        """Hand what has come to the journal of sends."""
        with self._draining:
            with self._reporting:
                reports, self._reports = self._reports, []
            with self._adding:
                sends, self._sends = self._sends, []
            self._open_sends(sends)
            # A report may come before its send is added: `work` returned in one thread, and another polls.
            early = [one for one in reports if one[0] >= self._drained]
            with self._reporting:
                self._reports += early
            self._close_sends([one for one in reports if one[0] < self._drained])

    def _open_sends(self, sends: list[_Send]) -> None:
        for txn, group in groupby(sends, key=lambda one: one[4]):
            block = list(group)
            self._journal.opened(
                SendBatch(
                    producer=self.number,
                    first=self._drained,
                    step=0,
                    size=np.array([one[3] for one in block], dtype=np.int32),
                    sent_ns=np.array([one[0] for one in block], dtype=np.int64),
                    partition=np.array([one[1] for one in block], dtype=np.int32),
                    key=decode_keys([one[2] for one in block])
                    .fill_null(NO_KEY)
                    .to_numpy(zero_copy_only=False),
                    txn=txn,
                )
            )
            self._drained += len(block)

    def _close_sends(self, reports: list[_Report]) -> None:
        if not reports:
            return
        seq, at_ns, outcomes, offsets, errors, partitions = zip(*reports, strict=True)
        self._journal.closed(
            self.number,
            np.array(seq, dtype=np.int64),
            np.array(at_ns, dtype=np.int64),
            outcomes,
            offsets=np.array(offsets, dtype=np.int64),
            errors=errors,
            partitions=np.array(partitions, dtype=np.int32),
        )
