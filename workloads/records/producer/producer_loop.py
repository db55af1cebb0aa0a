"""One producer: a client, a thread, and the loop that writes one step after another."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from confluent_kafka import KafkaError

from harness.model.journal import RowSink, TxnOutcome
from workloads.records.clients import flush, poll, purge_and_close
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import WorkloadSpec
from workloads.records.producer.orders import Polled, RecordStream, StepOrder
from workloads.records.producer.record_sender import RecordSender
from workloads.records.producer.reports import DeliveryReports, Tally
from workloads.records.producer.send_journal import SendJournal
from workloads.records.producer.transactions import ClientUnusable, TransactionManager

SLICE = 2000
"""The most records between two polls."""
PACE_SECONDS = 0.01
"""With a rate, records are sent in slices of this many seconds."""
_POLL_SECONDS = 0.05
_TAKE_SECONDS = 0.02
"""At full speed reports are journaled this often: per report, 8,000 at a time cost a third of 1,200."""
_IDLE_SECONDS = 0.1
_PATIENCE_MARGIN_SECONDS = 5.0


class ProducerLoop:
    """Uses the client in one thread from its start to its end, so that its callbacks need no locks.

    `connect` creates a client that reports its errors to a function; a transactional producer needs another
    one after a fatal error. `failure` is the exception that ended the thread early, `fatal` why the producer
    sends no more records (None: it did not happen). `fenced`: a rival has taken over its transactional.id, so
    it sends no more records either.
    """

    def __init__(
        self,
        connect: Callable[[Callable[[KafkaError], None]], Any],
        stream: RecordStream,
        spec: WorkloadSpec,
        settings: ProducerSettings,
        journal: SendJournal,
        transactions: RowSink | None,
        polled: Polled | None = None,
    ) -> None:
        self._first_client = connect(self._on_error)
        self.tally = Tally()
        self._reports = DeliveryReports(
            stream.producer, settings, journal, self.tally, partition_known=spec.spread == "even"
        )
        self._sender = RecordSender(stream, spec, journal, self._reports, self.tally)
        self.fatal: str | None = None
        self.failure: BaseException | None = None
        self.fenced = False
        self.idle = threading.Event()
        self.idle.set()
        self.ready = threading.Event()
        """Set once the client may begin: a transactional one must first be initialised by its coordinator."""
        self._wake = threading.Event()
        self._order: StepOrder | None = None
        self.writing = False
        self._stopped = False
        self._close_seconds: float | None = None
        self._close_by: float | None = None
        self._txns: TransactionManager | None = None
        if spec.transactions is not None and transactions is not None:
            self._txns = TransactionManager(
                partial(connect, self._on_error),
                self._first_client,
                spec.transactions,
                producer=stream.producer,
                seed=stream.seed,
                journal=transactions,
                take=self._reports.take,
                until=lambda: self._close_by,
                patience=settings.transaction_timeout() / 1000 + _PATIENCE_MARGIN_SECONDS,
                polls=polled,
            )
        self._thread = threading.Thread(target=self._run, name=f"producer-{stream.producer}", daemon=True)

    def open(self) -> None:
        """Start the thread, which initialises a transactional client and then waits for a step."""
        self._thread.start()

    def start(self, order: StepOrder) -> None:
        """Begin a step; sends of an earlier one may still be open."""
        self._stopped = False
        self.writing = True
        # Before the order: the thread may take the order at once and set the event when it is done.
        self.idle.clear()
        self._order = order
        self._wake.set()

    def stop(self) -> None:
        self._stopped = True

    def close(self, seconds: float) -> None:
        """Ask the thread to end: it delivers what it can within `seconds` and gives up the rest."""
        self._stopped = True
        self._close_by = time.monotonic() + seconds
        self._close_seconds = seconds
        self._wake.set()

    def join(self) -> None:
        if self._thread.ident is None:
            # A rival that was never to begin.
            purge_and_close(self._first_client)
        else:
            self._thread.join()

    def _on_error(self, error: KafkaError) -> None:
        """Only a fatal error changes what the loop does. A transactional producer gets the error from its
        next call, and then a new client; one that is fenced makes no call any more."""
        if error.fatal() and self._txns is None:
            self.fatal = error.str()

    def _poll(self, seconds: float) -> None:
        """Serve reports for up to `seconds`."""
        error = poll(self._client, seconds)
        if error is not None:
            self._on_error(error)

    @property
    def _client(self) -> Any:
        return self._first_client if self._txns is None else self._txns.client

    def _run(self) -> None:
        try:
            if self._txns is not None:
                try:
                    self._txns.initialise()
                except ClientUnusable as error:
                    self.fatal = str(error)
            self.ready.set()
            while self._close_seconds is None:
                self._wake.wait(_IDLE_SECONDS)
                self._wake.clear()
                self._poll(0)
                order, self._order = self._order, None
                if order is not None:
                    try:
                        if order.rival is None:
                            self._write(order)
                        elif self.fatal is None:
                            self._meet(order, order.rival)
                    except ClientUnusable as error:
                        self.fatal = str(error)
                    if self._txns is not None:
                        self._txns.end()
                    self.writing = False
                    if self._drained():
                        self.idle.set()
            flush(self._client, self._close_seconds)
            purge_and_close(self._client)
            self._reports.take()
        # Kept, not swallowed: Producers.finish and Producers.close raise it.
        except BaseException as error:
            self.failure = error
        finally:
            self.idle.set()

    def _write(self, order: StepOrder) -> None:
        begun = taken = time.monotonic()
        queued = 0
        while not self._stopped and self.fatal is None:
            now = time.monotonic()
            if order.until is not None and now >= order.until:
                return
            count = SLICE if order.records is None else min(SLICE, order.records - queued)
            if count <= 0:
                return
            if self._txns is not None:
                if not self._txns.remaining_sends:
                    self._txns.end()
                    self._txns.begin()
                count = min(count, self._txns.remaining_sends)
            if order.rate is not None:
                count = min(count, int((now - begun) * order.rate) + 1 - queued)
                if count <= 0:
                    self._serve(
                        now + max(PACE_SECONDS, (queued - (now - begun) * order.rate) / order.rate), order
                    )
                    continue
            done = self._slice(order.step, count)
            queued += done
            self._poll(0 if done == count else _POLL_SECONDS)
            if now - taken >= _TAKE_SECONDS:
                self._reports.take()
                taken = now
            if order.rate is not None and done == count:
                self._serve(time.monotonic() + PACE_SECONDS, order)

    def _meet(self, order: StepOrder, rival: Callable[[Callable[[], bool]], bool]) -> None:
        """Let a rival begin and write while a transaction of this producer is open, and then go on in it."""
        txns, records = self._txns, order.records
        assert txns is not None, "checked when the experiment was made"
        assert records is not None, "a rival's step has a number of records"
        txns.begin(drawn=False)
        self._send(order.step, records)
        txns.flush()
        taken_over = rival(lambda: self._stopped)
        self._send(order.step, records)
        outcome = txns.end(taken_over=taken_over)
        # With another client it would fence its rival in turn.
        self.fenced = taken_over and outcome is not TxnOutcome.COMMITTED

    def _send(self, step: int, records: int) -> None:
        """Send records in the open transaction, however many it has; fewer if the client refuses them."""
        assert self._txns is not None, "only called in a transaction"
        while records and not self._stopped and not self._txns.broken:
            records -= self._slice(step, min(SLICE, records))
            self._poll(0)
            self._reports.take()

    def _serve(self, until: float, order: StepOrder) -> None:
        """Serve reports until a time.monotonic(), or until the step's end if that is sooner."""
        if order.until is not None:
            until = min(until, order.until)
        while not self._stopped and (left := until - time.monotonic()) > 0:
            self._poll(min(left, _POLL_SECONDS))
            self._reports.take()

    def _slice(self, step: int, count: int) -> int:
        """Send up to `count` records; fewer if the queue is full, or after an error that ends it."""
        txn = None if self._txns is None else self._txns.number
        sent, error = self._sender.send(self._client.produce, step, count, txn)
        if self._txns is not None:
            self._txns.count_sends(sent, None if error is None else error.name())
        elif error is not None:
            self.fatal = self.fatal or error.str()
        return sent

    def _drained(self) -> bool:
        """Wait until each send has its report (at most delivery.timeout.ms); False: a new step has begun."""
        self._reports.take()
        while self.tally.open() and self._close_seconds is None:
            if self._order is not None:
                return False
            self._poll(_POLL_SECONDS)
            self._reports.take()
        return True
