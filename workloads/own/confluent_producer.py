"""A producer of confluent-kafka that journals what it sends and what is reported."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from confluent_kafka import KafkaException

from harness.model.journal import SendOutcome, TxnOutcome
from workloads.own.journaled_client import (
    CLOSE_SECONDS,
    Content,
    Headers,
    JournaledClient,
    as_bytes,
    without_identity,
)
from workloads.own.own_journal import ANY_PARTITION, OwnJournal
from workloads.own.producer_folder import ProducerFolder
from workloads.records.clients import drop_pending_error, flush, purge, purge_and_close
from workloads.records.journal.parquet_parts import ClosesAtEnd
from workloads.records.producer.outcomes import classify

Report = Callable[[Any, Any], Any]


class JournaledProducer(JournaledClient, ClosesAtEnd):
    """A `confluent_kafka.Producer` whose sends and reports are journaled; made by `journaled`.

    What is not listed here goes to the producer as it is. `number` is the producer's number in the journals.
    """

    def __init__(
        self, producer: Any, folder: ProducerFolder, journal: OwnJournal, on_delivery: Report | None = None
    ) -> None:
        super().__init__(producer, folder, journal)
        self._on_delivery = on_delivery

    def produce(
        self,
        topic: str,
        value: Content = None,
        key: Content = None,
        partition: int = ANY_PARTITION,
        callback: Report | None = None,
        on_delivery: Report | None = None,
        timestamp: int = 0,
        headers: Headers = None,
    ) -> None:
        """As `Producer.produce`; a header with the record's identity is added.

        Raises:
            BufferError, KafkaException: as the producer does. A record that it refuses is journaled as
                `rejected`; after a BufferError nothing was sent.
            JournalError: the journal cannot be written.
        """
        given = callback or on_delivery
        more: dict[str, Any] = {"timestamp": timestamp} if timestamp else {}
        if topic != self._journal.target.topic:
            if given is not None:
                more["on_delivery"] = given
            if headers is not None:
                more["headers"] = headers
            self._producer.produce(topic, value, key, partition, **more)
            return
        content, raw_key = as_bytes(value), as_bytes(key)
        passed_on = without_identity(headers)
        refused: KafkaException | None = None
        with self._journal.lock:
            self._journal.raise_if_failed()
            at_ns, seq, transaction = time.time_ns(), self._journal.next_seq, self._transactions.open
            carried, added = self._carried(content, seq)
            report = partial(self._reported, seq, given or self._on_delivery)
            try:
                self._producer.produce(
                    topic,
                    carried.value,
                    raw_key,
                    partition,
                    on_delivery=report,
                    headers=passed_on + added,
                    **more,
                )
            except KafkaException as error:
                refused = error
            # A BufferError ends it here: nothing was sent, and the seq is given to the next send.
            txn = None if transaction is None else transaction.number
            size, placed = len(content or b""), max(partition, ANY_PARTITION)
            record_id = self._record_id(raw_key, content, passed_on)
            self._journal.sent(at_ns, placed, raw_key, size, txn, timestamp or None, record_id)
        if refused is not None:
            name = refused.args[0].name()
            outcome = classify(name, self._journal.target.acks, queued=False)
            self._journal.report(seq, outcome, at_ns=time.time_ns(), error=name)
            raise refused

    def produce_batch(self, *_: Any, **__: Any) -> None:
        """Not journaled.

        Raises:
            NotImplementedError: always; call `produce` for each record.
        """
        raise NotImplementedError(
            "produce_batch is not journaled, as it leaves out headers, which hold the identity of records: "
            "call produce for each record"
        )

    def begin_transaction(self, *arguments: Any) -> None:
        """As `Producer.begin_transaction`; what is sent until it ends belongs to the transaction."""
        self._producer.begin_transaction(*arguments)
        self._transactions.begun()

    def commit_transaction(self, *arguments: Any) -> None:
        """As `Producer.commit_transaction`. After an error that allows it, call it again or abort."""
        self._transactions.commit_requested()
        try:
            self._producer.commit_transaction(*arguments)
        except KafkaException as error:
            self._transactions.failed_to_end(*_failed_to_end(error, may_abort=True))
            raise
        self._transactions.ended(TxnOutcome.COMMITTED)

    def abort_transaction(self, *arguments: Any) -> None:
        """As `Producer.abort_transaction`. After an error that allows it, call it again."""
        try:
            self._producer.abort_transaction(*arguments)
        except KafkaException as error:
            self._transactions.failed_to_end(*_failed_to_end(error, may_abort=False))
            raise
        self._transactions.ended(TxnOutcome.ABORTED)

    def close(self, timeout: float = CLOSE_SECONDS) -> bool:
        """As `end`, and close the producer too. Safe to call again."""
        with self._ending:
            if not self._ended:
                flush(self._producer, timeout)
                give_up = purge_and_close if hasattr(self._producer, "close") else purge
                give_up(self._producer)
                self._end_journal()
        return True

    def _give_up(self, timeout: float) -> None:
        flush(self._producer, timeout)
        purge(self._producer)

    def _reported(self, seq: int, given: Report | None, error: Any, message: Any) -> None:
        drop_pending_error()
        now = time.time_ns()
        name = None if error is None else error.name()
        outcome = classify(name, self._journal.target.acks)
        offset = message.offset() if outcome is SendOutcome.ACKED else None
        self._journal.report(
            seq, outcome, at_ns=now, offset=offset, error=name, partition=message.partition()
        )
        if given is not None:
            given(error, message)

    def __len__(self) -> int:
        return len(self._producer)


def _failed_to_end(error: KafkaException, *, may_abort: bool) -> tuple[str, bool]:
    """The name of the error with which a commit or an abort failed, and whether it can be tried again, or
    (`may_abort`) the transaction be aborted."""
    cause = error.args[0]
    return cause.name(), cause.retriable() or (may_abort and cause.txn_requires_abort())
