"""The journal of a producer whose client `kafka_chaos.journaled` does not know: its program says all."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from harness.model.errors import BadInput
from harness.model.journal import SendOutcome, TxnOutcome
from workloads.own.client_settings import ClientSettings
from workloads.own.journaled_client import as_bytes
from workloads.own.json_events import EventLine, parse_settings
from workloads.own.own_journal import ANY_PARTITION, BegunTransaction, OwnJournal
from workloads.own.producer_folder import ProducerFolder, open_folder
from workloads.own.record_ids import id_of
from workloads.records.record.carried_identity import IDENTITY_HEADER, identity_of

_CALLER = "kafka_chaos.Journal.begin"
_LONGEST_ERROR = 200


class Journal:
    """What a producer of this program sends, and what is reported of it; made by `Journal.begin`.

    It is for clients that `journaled` does not know. Each record carries the header that `sent` returns. Each
    method writes one event, which a program that is killed afterwards leaves behind. `number` is the
    producer's number in the journals, and `topic` the topic whose records are journaled.

    Any thread may call the methods. Threads that share the producer hold `lock` around `sent` and the
    client's own send if the order of their records matters. As a context manager it calls `end`.
    """

    def __init__(self, folder: ProducerFolder, journal: OwnJournal) -> None:
        self.number = journal.number
        self.topic = journal.target.topic
        self._folder = folder
        self._journal = journal
        self._begun_ns: dict[int, int] = {}

    @classmethod
    def begin(
        cls,
        client: str,
        *,
        acks: Literal["0", "1", "all"],
        idempotent: bool,
        max_in_flight: int | None = None,
        delivery_timeout_ms: int | None = None,
        transaction_timeout_ms: int | None = None,
        journal: str | Path | None = None,
        topic: str | None = None,
        producer_id: int | None = None,
        id: Mapping[str, Any] | None = None,
    ) -> Journal:
        """Open the journal of a new producer. The run is judged by the settings that are given here.

        Args:
            client: the library, with its version.
            acks: as the client is configured.
            idempotent: whether the client is an idempotent producer.
            max_in_flight: number of requests that may be on their way to one broker at once; None: not known.
            delivery_timeout_ms: milliseconds after which the client gives a send up; None: not known.
            transaction_timeout_ms: transaction.timeout.ms of the client, in milliseconds; None: not known.
            journal: folder of the journals; None: the one that the run names in `KAFKA_CHAOS_JOURNAL`.
            topic: the topic of the records; a run's folder names it already.
            producer_id: number of this producer in the journals; None: the first free one.
            id: where records have an id of their own, such as `{"json": "order_id"}`; only without a run.

        Raises:
            BadInput: no folder or no topic is named, a setting or the `id` has no usable value, or the number
                is taken.
            JournalError: the folder cannot be written.
        """
        settings = ClientSettings(
            client, acks, idempotent, max_in_flight, delivery_timeout_ms, transaction_timeout_ms
        )
        _refuse_wrong(settings)
        folder, target = open_folder(journal, topic, acks, _CALLER, id)
        number, file = folder.claim(producer_id)
        return cls(folder, OwnJournal(file, number, target, settings))

    @property
    def lock(self) -> threading.RLock:
        """Held while an event is written; the thread that holds it may call every method."""
        return self._journal.lock

    @property
    def run_over(self) -> bool:
        """Whether the write steps of the run are over: a program that writes without end may stop now."""
        return self._folder.over

    def wait_begun(self, timeout: float | None = None) -> bool:
        """Wait until the first write step of the run has begun, at most `timeout` seconds; returns whether it
        has. Without a run, nobody begins one."""
        return self._folder.wait_begun(timeout)

    def sent(
        self,
        value: str | bytes | None,
        *,
        key: str | bytes | None = None,
        partition: int | None = None,
        txn: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[tuple[str, Any]] | None = None,
    ) -> tuple[int, tuple[str, bytes]]:
        """Journal a record before it is handed to the client.

        Args:
            value: as it will be on the wire; text is encoded as UTF-8.
            key: likewise.
            partition: None: the client chooses one.
            txn: number of the transaction that the record belongs to.
            timestamp_ms: the time that the program gives the record, in ms since the epoch; None: the client
                takes that of the send.
            headers: the record's own headers, if one of them has its id (`own: {id: {header: NAME}}`).

        Returns:
            The number of the send, by which its report is journaled.
            The header that the record must carry, as its name and its 28 bytes.

        Raises:
            ValueError: the journal is closed.
            JournalError: it could not be written.
        """
        content, raw_key, place = as_bytes(value) or b"", as_bytes(key), self._journal.target.id
        record_id = None if place is None else id_of(place, raw_key, content, headers)
        with self._journal.lock:
            now_ns = time.time_ns()
            to = ANY_PARTITION if partition is None else partition
            seq = self._journal.sent(
                *(now_ns, to, raw_key, len(content)), txn=txn, timestamp_ms=timestamp_ms, record_id=record_id
            )
            if txn is not None:
                self._begun_ns.setdefault(txn, now_ns)
        identity = identity_of(content, self._journal.target.run_id, self.number, seq)
        return seq, (IDENTITY_HEADER, identity)

    def acked(self, seq: int, *, partition: int | None = None, offset: int | None = None) -> None:
        """Journal the success report of a send, with what the client names of it. A report after `end` is
        ignored.

        Raises:
            BadInput: no send has this number.
        """
        self._report(seq, SendOutcome.ACKED, offset=offset, partition=partition)

    def failed(self, seq: int, error: str | BaseException) -> None:
        """Journal the error report of a send: the record may be in the log or not. Of an exception its class
        is the name of the error. A report after `end` is ignored.

        Raises:
            BadInput: no send has this number.
        """
        self._report(seq, SendOutcome.INDETERMINATE, error=_error_name(error))

    def refused(self, seq: int, error: str | BaseException) -> None:
        """As `failed`, of a record that the client refused before it queued it, so that it was certainly not
        written."""
        self._report(seq, SendOutcome.REJECTED, error=_error_name(error))

    def committed(self, txn: int) -> None:
        """Journal that a broker confirmed the commit of a transaction."""
        self._transaction(txn, TxnOutcome.COMMITTED)

    def aborted(self, txn: int) -> None:
        """Journal that a broker confirmed the abort of a transaction."""
        self._transaction(txn, TxnOutcome.ABORTED)

    def indeterminate(self, txn: int) -> None:
        """Journal that a commit was asked for, and nobody said how the transaction ended."""
        self._transaction(txn, TxnOutcome.INDETERMINATE)

    def end(self) -> None:
        """Close the journal, once every report is there. Sends without a report are `indeterminate`. Safe to
        call again.

        Raises:
            JournalError: something could not be written.
        """
        self._journal.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _report(self, seq: int, outcome: SendOutcome, **more: Any) -> None:
        if not 0 <= seq < self._journal.next_seq:
            raise BadInput(
                "a report is about no send",
                where=f"kafka_chaos.Journal, producer {self.number}",
                expected="a number that `sent` has returned",
                found=f"seq {seq}",
                next_step="call `sent` before the record is handed to the client",
            )
        self._journal.report(seq, outcome, at_ns=time.time_ns(), **more)

    def _transaction(self, txn: int, outcome: TxnOutcome) -> None:
        begun = BegunTransaction(
            txn,
            self._begun_ns.pop(txn, time.time_ns()),
            commit_requested=outcome is not TxnOutcome.ABORTED,
        )
        self._journal.transaction(begun, outcome, answered=outcome is not TxnOutcome.INDETERMINATE)


def _refuse_wrong(settings: ClientSettings) -> None:
    """A setting that the reader of the journal would refuse is refused before anything is sent."""
    try:
        parse_settings(EventLine(Path(), 1, "begin", settings.fields()))
    except BadInput as error:
        raise BadInput(
            error.what,
            where=_CALLER,
            expected=error.expected,
            found=error.found,
            next_step="docs/how-to/own-producer.md describes each setting",
        ) from None


def _error_name(error: str | BaseException) -> str:
    """One word of printable ASCII, as the reader asks for it."""
    name = error if isinstance(error, str) else type(error).__name__
    return re.sub(r"[^\x21-\x7e]", "_", name)[:_LONGEST_ERROR] or "unknown"
