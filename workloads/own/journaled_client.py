"""What every client that journals has: its number, its journal, its transactions, and its end."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.model.journal import SendOutcome
from workloads.own.own_journal import OwnJournal, OwnTransactions
from workloads.own.producer_folder import ProducerFolder
from workloads.own.record_ids import id_of
from workloads.records.producer.outcomes import classify
from workloads.records.record.carried_identity import IDENTITY_HEADER, Carried, carry

CLOSE_SECONDS = 30.0
"""Seconds for which `close` waits for reports: delivery.timeout.ms of runs."""
_EXIT_SECONDS = 5.0

Content = str | bytes | None
Headers = Mapping[str, Content] | Sequence[tuple[str, Content]] | None


class JournaledClient:
    """A producer of some client library whose sends and reports are journaled; made by `journaled`.

    What is not listed here goes to the producer as it is. `number` is the producer's number in the journals.
    """

    def __init__(self, producer: Any, folder: ProducerFolder, journal: OwnJournal) -> None:
        self.number = journal.number
        self._producer = producer
        self._folder = folder
        self._journal = journal
        self._transactions = OwnTransactions(journal)
        self._ending = threading.Lock()
        self._ended = False
        _open[id(self)] = self

    @property
    def run_over(self) -> bool:
        """Whether the write steps of the run are over: a program that writes without end may stop now."""
        return self._folder.over

    def wait_begun(self, timeout: float | None = None) -> bool:
        """Wait until the first write step of the run has begun, at most `timeout` seconds; returns whether it
        has. Without a run, nobody begins one."""
        return self._folder.wait_begun(timeout)

    def end(self, timeout: float = CLOSE_SECONDS) -> None:
        """Wait for reports, at most `timeout` seconds, give up what has none, and close the journal. The
        producer stays open. Safe to call again.

        Raises:
            JournalError: the journal could not be written.
        """
        with self._ending:
            if self._ended:
                return
            # An open transaction is not committed; Kafka aborts it when it times out, or a successor does.
            self._give_up(timeout)
            self._end_journal()

    def idle(self, seconds: float) -> bool:
        """Whether every send has its report, and the last one is older than `seconds`."""
        return not self._journal.open and time.time_ns() - self._journal.last_ns > seconds * 1e9

    def _give_up(self, timeout: float) -> None:
        """Wait for reports, at most `timeout` seconds; what has none then may be given up."""
        raise NotImplementedError

    def _end_journal(self) -> None:
        """Close the journal, in which sends without a report are `indeterminate`. Safe to call again."""
        self._ended = True
        _open.pop(id(self), None)
        self._transactions.given_up()
        self._journal.close()

    def _sent(
        self,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int | None,
        headers: Iterable[tuple[str, Any]] | None = None,
    ) -> None:
        """Journal a send that is about to be handed to the client, before another one gets its number."""
        transaction = self._transactions.open
        txn = None if transaction is None else transaction.number
        record_id = self._record_id(key, value, headers)
        size = len(value or b"")
        self._journal.sent(time.time_ns(), partition, key, size, txn, timestamp_ms, record_id)

    def _record_id(
        self, key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, Any]] | None
    ) -> str | None:
        """The id that the record has of its own, where the run says that it is."""
        spec = self._journal.target.id
        return None if spec is None else id_of(spec, key, value, headers)

    def _acknowledged(self, seq: int, partition: int | None, offset: int | None) -> None:
        """Journal a success report; what it names is None where no broker has answered."""
        outcome = classify(None, self._journal.target.acks)
        known = offset if outcome is SendOutcome.ACKED else None
        self._journal.report(seq, outcome, at_ns=time.time_ns(), offset=known, partition=partition)

    def _report(self, seq: int, error: str, outcome: SendOutcome) -> None:
        self._journal.report(seq, outcome, at_ns=time.time_ns(), error=error)

    def _carried(self, value: bytes | None, seq: int) -> tuple[Carried, list[tuple[str, bytes]]]:
        """The value of a record with its identity, and the header that has it, if the value has it not."""
        carried = carry(value, self._journal.target.run_id, self.number, seq)
        return carried, [] if carried.header is None else [(IDENTITY_HEADER, carried.header)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)

    def __bool__(self) -> bool:
        return True


_open: dict[int, JournaledClient] = {}
"""Those of this process whose journals are open."""


def open_in(folder: Path) -> list[JournaledClient]:
    """The producers of this process whose journals in this folder are open."""
    return [
        producer for producer in list(_open.values()) if producer._folder.path.resolve() == folder.resolve()
    ]


@atexit.register
def _close_all() -> None:
    """A program that ends normally has whole journals, also if it closes no producer."""
    for producer in list(_open.values()):
        producer.end(_EXIT_SECONDS)


def without_identity(headers: Headers) -> list[tuple[str, Any]]:
    """The headers without an identity, which a record that was read and is passed on has."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
    return [(name, content) for name, content in pairs if name != IDENTITY_HEADER]


def as_bytes(content: Content) -> bytes | None:
    """What confluent-kafka sends for a key or a value."""
    return content.encode() if isinstance(content, str) else content
