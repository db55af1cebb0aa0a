"""A producer of confluent-kafka that journals what it sends and what is reported, for an own program."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from confluent_kafka import KafkaException

from harness.model.errors import BadInput
from harness.model.journal import SendOutcome, TxnOutcome
from workloads.own.own_journal import ANY_PARTITION, OwnJournal, OwnTransactions
from workloads.own.producer_folder import ProducerFolder, ProducerTarget, open_folder
from workloads.records.clients import drop_pending_error, flush, purge, purge_and_close
from workloads.records.journal.parquet_parts import ClosesAtEnd
from workloads.records.producer.outcomes import classify
from workloads.records.record.carried_identity import IDENTITY_HEADER, carry

CLOSE_SECONDS = 30.0
"""Seconds for which `close` waits for reports: delivery.timeout.ms of runs."""
_EXIT_SECONDS = 5.0

Report = Callable[[Any, Any], Any]
Content = str | bytes | None
Headers = Mapping[str, Content] | Sequence[tuple[str, Content]] | None


def journaled(
    producer: Any,
    *,
    journal: str | Path | None = None,
    topic: str | None = None,
    producer_id: int | None = None,
    acks: Literal["0", "1", "all"] = "all",
    on_delivery: Report | None = None,
) -> JournaledProducer:
    """Wrap a `confluent_kafka.Producer`: what it sends, and what is reported, is journaled.

    The result is used in place of the producer, with the same methods and callbacks. Each record of the
    topic gets its identity in the header `kafka-chaos-identity`. Call `close` at the end, or use it as a
    context manager: a producer whose journal is not closed makes the verdict `unknown`.

    Args:
        producer: a `confluent_kafka.Producer`. A `SerializingProducer` is refused: the identity has a
            checksum of the value as it is sent.
        journal: folder of the journals; None: the one that the run names in `KAFKA_CHAOS_JOURNAL`. Producers
            of several processes may share it.
        topic: the topic whose records are journaled; others are passed on as they are. A run's folder names
            it already.
        producer_id: number of this producer in the journals; None: the first free one.
        acks: as the producer is configured; only without a run, whose arm says it.
        on_delivery: the `on_delivery` of the producer's configuration, which cannot be asked for it.

    Raises:
        BadInput: no folder or no topic is named, or the producer cannot be journaled.
        JournalError: the folder cannot be written.
    """
    _refuse_others(producer)
    folder, target = open_folder(journal, topic, acks)
    number, file = folder.claim(producer_id)
    return JournaledProducer(producer, folder, target, OwnJournal(file, number, target), on_delivery)


class JournaledProducer(ClosesAtEnd):
    """A `confluent_kafka.Producer` whose sends and reports are journaled; made by `journaled`.

    What is not listed here goes to the producer as it is. `number` is the producer's number in the journals.
    """

    def __init__(
        self,
        producer: Any,
        folder: ProducerFolder,
        target: ProducerTarget,
        journal: OwnJournal,
        on_delivery: Report | None,
    ) -> None:
        self.number = journal.number
        self._producer = producer
        self._folder = folder
        self._target = target
        self._journal = journal
        self._on_delivery = on_delivery
        self._transactions = OwnTransactions(journal)
        self._ending = threading.Lock()
        self._ended = False
        _open[id(self)] = self

    @property
    def run_over(self) -> bool:
        """Whether the write steps of the run are over: a program that writes without end may stop now."""
        return self._folder.over

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
        if topic != self._target.topic:
            if given is not None:
                more["on_delivery"] = given
            if headers is not None:
                more["headers"] = headers
            self._producer.produce(topic, value, key, partition, **more)
            return
        content, raw_key = _bytes(value), _bytes(key)
        passed_on = _pairs(headers)
        refused: KafkaException | None = None
        with self._journal.lock:
            self._journal.raise_if_failed()
            at_ns, seq, transaction = time.time_ns(), self._journal.next_seq, self._transactions.open
            carried = carry(content, self._target.run_id, self.number, seq)
            added = [] if carried.header is None else [(IDENTITY_HEADER, carried.header)]
            report = partial(self._report, seq, given or self._on_delivery)
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
            self._journal.sent(at_ns, placed, raw_key, size, txn, timestamp or None)
        if refused is not None:
            name = refused.args[0].name()
            outcome = classify(name, self._target.acks, queued=False)
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
            self._transactions.failed_to_end(error, may_abort=True)
            raise
        self._transactions.ended(TxnOutcome.COMMITTED)

    def abort_transaction(self, *arguments: Any) -> None:
        """As `Producer.abort_transaction`. After an error that allows it, call it again."""
        try:
            self._producer.abort_transaction(*arguments)
        except KafkaException as error:
            self._transactions.failed_to_end(error, may_abort=False)
            raise
        self._transactions.ended(TxnOutcome.ABORTED)

    def end(self, timeout: float = CLOSE_SECONDS) -> None:
        """Wait for reports, at most `timeout` seconds, give up what has none, and close the journal. The
        producer stays open. Safe to call again.

        Raises:
            JournalError: the journal could not be written.
        """
        self._end(timeout, purge)

    def close(self, timeout: float = CLOSE_SECONDS) -> bool:
        """As `end`, and close the producer too. Safe to call again."""
        self._end(timeout, purge_and_close if hasattr(self._producer, "close") else purge)
        return True

    def idle(self, seconds: float) -> bool:
        """Whether every send has its report, and the last one is older than `seconds`."""
        return not self._journal.open and time.time_ns() - self._journal.last_ns > seconds * 1e9

    def _end(self, timeout: float, give_up: Callable[[Any], None]) -> None:
        with self._ending:
            if self._ended:
                return
            self._ended = True
            _open.pop(id(self), None)
            # An open transaction is not committed; Kafka aborts it when it times out, or a successor does.
            flush(self._producer, timeout)
            give_up(self._producer)
            self._transactions.given_up()
            self._journal.close()

    def _report(self, seq: int, given: Report | None, error: Any, message: Any) -> None:
        drop_pending_error()
        now = time.time_ns()
        name = None if error is None else error.name()
        outcome = classify(name, self._target.acks)
        offset = message.offset() if outcome is SendOutcome.ACKED else None
        self._journal.report(
            seq, outcome, at_ns=now, offset=offset, error=name, partition=message.partition()
        )
        if given is not None:
            given(error, message)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)

    def __len__(self) -> int:
        return len(self._producer)

    def __bool__(self) -> bool:
        return True


_open: dict[int, JournaledProducer] = {}
"""Those of this process whose journals are open."""


def open_in(folder: Path) -> list[JournaledProducer]:
    """The producers of this process whose journals in this folder are open."""
    return [
        producer for producer in list(_open.values()) if producer._folder.path.resolve() == folder.resolve()
    ]


@atexit.register
def _close_all() -> None:
    """A program that ends normally has whole journals, also if it closes no producer."""
    for producer in list(_open.values()):
        producer.end(_EXIT_SECONDS)


def _refuse_others(producer: Any) -> None:
    name = type(producer).__name__
    known = all(callable(getattr(producer, method, None)) for method in ("produce", "poll", "flush"))
    if known and "Serializing" not in name and not isinstance(producer, JournaledProducer):
        return
    raise BadInput(
        "this producer cannot be journaled",
        where="kafka_chaos.journaled",
        expected="a confluent_kafka.Producer, which is given values as bytes or text",
        found=name,
        next_step="serialise the values first; programs with other clients write events: "
        "docs/how-to/own-producer.md",
    )


def _bytes(content: Content) -> bytes | None:
    return content.encode() if isinstance(content, str) else content


def _pairs(headers: Headers) -> list[tuple[str, Content]]:
    """The headers without an identity, which a record that was read and is passed on has."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
    return [(name, content) for name, content in pairs if name != IDENTITY_HEADER]
