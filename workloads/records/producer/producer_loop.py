"""One producer: a client, a thread, and the loop that writes one step after another."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from confluent_kafka import KafkaError, KafkaException

from harness.model.journal import RowSink, TxnOutcome
from workloads.records.clients import flush, poll, purge_and_close
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import WorkloadSpec
from workloads.records.producer.orders import Polled, StepOrder, Stream
from workloads.records.producer.payloads import PayloadBuilder, PayloadRecord, key_ids, produce_record
from workloads.records.producer.reports import DeliveryReports, Tally
from workloads.records.producer.send_journal import NO_KEY, NO_TXN, SendBatch, SendJournal
from workloads.records.producer.transactions import ClientUnusable, TransactionManager
from workloads.records.record.identity import ValueBuilder, encode_key

SLICE = 2000
"""The most records between two polls."""
PACE_SECONDS = 0.01
"""With a rate, records are sent in slices of this many seconds."""
_POLL_SECONDS = 0.05
_TAKE_SECONDS = 0.02
"""At full speed reports are journaled this often: per report, 8,000 at a time cost a third of 1,200."""
_IDLE_SECONDS = 0.1
_ANY_PARTITION = -1
"""librdkafka's RD_KAFKA_PARTITION_UA: the client chooses the partition."""
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
        stream: Stream,
        spec: WorkloadSpec,
        settings: ProducerSettings,
        journal: SendJournal,
        transactions: RowSink | None,
        polled: Polled | None = None,
    ) -> None:
        self._first_client = connect(self._on_error)
        self._stream = stream
        self._spec = spec
        self._even = spec.spread == "even"
        self._journal = journal
        self._payload = spec.payload is not None
        self._build: ValueBuilder | PayloadBuilder
        if spec.payload is None:
            self._build = ValueBuilder(stream.run_id, stream.producer, spec.record_size, stream.seed)
        else:
            self._build = PayloadBuilder(spec.payload, stream.run_id, stream.producer, spec.keys)
        self.tally = Tally()
        self._reports = DeliveryReports(
            stream.producer, settings, journal, self.tally, partition_known=self._even
        )
        self._seq = 0
        self._built: list[Any] = []
        """Values, or records if they have a payload of the user's."""
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
        # Kept, not swallowed: Workload.finish and Workload.close raise it.
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
        """Queue up to `count` records and journal them; fewer if the queue is full or a fatal error came."""
        produce, now, even = self._client.produce, time.time_ns, self._even
        if self._payload:
            produce = partial(produce_record, produce)
        topic, partitions, keys = self._stream.topic, self._stream.partitions, self._spec.keys
        report = self._reports.callback
        first = self._seq
        sent: list[int] = []
        broken: str | None = None
        missing = count - len(self._built)
        if missing > 0:
            self._built += self._build.build_many(first + len(self._built), missing)
        for seq, value in enumerate(self._built[:count], first):
            key_number = seq if keys is None else seq % keys
            key = None if keys is None else encode_key(key_number)
            stamp = now()
            try:
                produce(topic, value, key, key_number % partitions if even else _ANY_PARTITION, report)
            except BufferError:
                # The client's queue is full: no outcome, the same record is tried again after a poll.
                break
            except KafkaException as error:
                cause = error.args[0]
                self._reports.refused(value.identity if self._payload else value, cause.name())
                if self._txns is not None and cause.code() != KafkaError.MSG_SIZE_TOO_LARGE:
                    broken = cause.name()
                elif cause.fatal() or cause.code() == KafkaError._FATAL:
                    broken = self.fatal = self.fatal or cause.str()
                if broken is not None:
                    sent.append(stamp)
                    break
            sent.append(stamp)
        self._seq = first + len(sent)
        # Values that the queue did not take are kept for the next slice: at full speed the queue is usually
        # full.
        records = self._built[: len(sent)] if self._payload else []
        del self._built[: len(sent)]
        self._hand_over(step, first, sent, records)
        if self._txns is not None:
            self._txns.count_sends(len(sent), broken)
        return len(sent)

    def _hand_over(self, step: int, first: int, sent: list[int], records: list[PayloadRecord]) -> None:
        if not sent:
            return
        seq, keys = np.arange(first, first + len(sent), dtype=np.int64), self._spec.keys
        key_number = seq if keys is None else seq % keys
        # Where the client chooses the partition, only its reports name it.
        partition = key_number % self._stream.partitions if self._even else np.full(len(sent), _ANY_PARTITION)
        key = key_number if keys is not None else np.full(len(sent), NO_KEY, dtype=np.int64)
        size: Any = self._spec.record_size
        if self._payload:
            size = np.array([len(record.value or b"") for record in records], dtype=np.int32)
            key = key_ids(records, key)
        batch = SendBatch(
            producer=self._stream.producer,
            first=first,
            step=step,
            size=size,
            sent_ns=np.array(sent, dtype=np.int64),
            partition=partition.astype(np.int32),
            key=key,
            txn=NO_TXN if self._txns is None else self._txns.number,
        )
        self._journal.opened(batch)
        self.tally.sent(len(sent))

    def _drained(self) -> bool:
        """Wait until each send has its report (at most delivery.timeout.ms); False: a new step has begun."""
        self._reports.take()
        while self.tally.open() and self._close_seconds is None:
            if self._order is not None:
                return False
            self._poll(_POLL_SECONDS)
            self._reports.take()
        return True
