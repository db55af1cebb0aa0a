"""Transactions of one producer: when each begins, how it ends, and what the client knows about its outcome.

Errors are handled as librdkafka's INTRODUCTION.md asks for (Transactional Producer, error handling): a
retriable error repeats the call (`workloads.records.producer.transaction_calls`), an abortable one aborts the
transaction, and after a fatal or any other error the client is not used again. As in an application, a new
client with the same transactional.id then takes over; its `init_transactions` first ends the transaction that
the old client left open.

Outcomes of a transaction:

    committed      the commit succeeded
    aborted        the abort succeeded; or the client never requested a commit, and without such a request
                   Kafka cannot commit (KIP-98); or a producer with the same transactional.id had been
                   initialised before the commit request, and that was refused
    indeterminate  a commit was requested and failed, or was not answered in time
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from random import Random
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from harness.model.journal import RowSink, TxnOutcome
from workloads.records.clients import ClientStuck, purge, purge_and_close
from workloads.records.config.workload_spec import TransactionSpec
from workloads.records.producer.orders import Polled
from workloads.records.producer.transaction_calls import TransactionCalls

_STUCK = "_STUCK"
"""Journaled as the error when the client never returned from a call."""
_MAX_FAILED_CLIENTS = 20
"""Clients that may fail one after another without an answered transaction in between."""


class ClientUnusable(Exception):
    """No client may continue; the text says why."""


@dataclass(slots=True)
class OpenTransaction:
    """The open transaction. `asked` is "commit" or "abort", as in the journal; `fenced`: a successor takes
    over before it ends; `broken` names the error after which it can only be aborted (None: no such error)."""

    number: int
    asked: str
    begun_ns: int
    fenced: bool
    records: int = 0
    broken: str | None = None


@dataclass(eq=False)
class TransactionManager:
    """Begins and ends transactions on `client`, which it replaces after a fatal error.

    Args:
        connect: creates a client with the producer's transactional.id.
        take: processes the delivery reports that have arrived; called after each call that may serve some.
        until: the time.monotonic() at which closing ends all waiting (None: the producer is not closing).
        patience: seconds that a call may take in all, retries included.
        prepare: called with the client before each commit, to add to the transaction what else belongs to it.
        polls: what transactions poll (None: they poll nothing).
    """

    connect: Callable[[], Any]
    client: Any
    spec: TransactionSpec
    _: KW_ONLY
    producer: int
    seed: int
    journal: RowSink
    take: Callable[[], None]
    until: Callable[[], float | None]
    patience: float
    prepare: Callable[[Any], None] | None = None
    polls: Polled | None = None

    def __post_init__(self) -> None:
        self._random = Random(f"{self.seed}/transactions")
        self._failed_clients = 0
        self._next = 0
        self._ready = False
        self._last_failure = ""
        self._open: OpenTransaction | None = None
        self._calls = TransactionCalls(self.take, self.until, self.patience)

    @property
    def number(self) -> int:
        """The number of the open transaction."""
        assert self._open is not None, "only read while sending"
        return self._open.number

    @property
    def remaining_sends(self) -> int:
        """The number of sends that the open transaction still takes; 0: it must end."""
        if self._open is None or self.broken:
            return 0
        return self.spec.records - self._open.records

    @property
    def broken(self) -> bool:
        """Whether a send of the open transaction was refused, so that it can only be aborted."""
        return self._open is not None and self._open.broken is not None

    def initialise(self) -> None:
        """Call `init_transactions` unless this client has done so. The coordinator of a new cluster may first
        have to create the transaction log.

        Raises:
            ClientUnusable: it does not.
        """
        if not self._ready:
            self._initialise(self.client)
            self._ready = True

    def begin(self, *, drawn: bool = True) -> None:
        """Open a transaction unless one is open. How it ends is drawn by the seed; with `drawn` False it is
        to be committed.

        Raises:
            ClientUnusable: the coordinator accepted none of our clients.
        """
        if self._open is not None:
            return
        while True:
            if self._failed_clients > _MAX_FAILED_CLIENTS:
                raise ClientUnusable(
                    f"{self._failed_clients} clients failed in succession, the last with {self._last_failure}"
                )
            self.initialise()
            try:
                self.client.begin_transaction()
                break
            except KafkaException as error:
                self._replace_client(error.args[0].name())
        number, self._next = self._next, self._next + 1
        aborting = drawn and self._random.random() < self.spec.abort
        every = self.spec.fence_every if drawn else None
        self._open = OpenTransaction(
            number,
            "abort" if aborting else "commit",
            time.time_ns(),
            fenced=every is not None and (number + 1) % every == 0,
        )

    def count_sends(self, sends: int, refusal: str | None) -> None:
        """Count sends of the open transaction; `refusal` is the error name if the last one was refused."""
        assert self._open is not None, "only called while sending"
        self._open.records += sends
        self._open.broken = self._open.broken or refusal

    def end(self, *, taken_over: bool = False) -> TxnOutcome | None:
        """End the open transaction, if there is one, and journal its outcome. `taken_over`: another producer
        with the transactional.id has been initialised since it began. Unless it is committed all the same,
        the client is fenced, and must not be used again."""
        ending, self._open = self._open, None
        if ending is None:
            return None
        first, polled = (None, 0) if self.polls is None else self._poll(self.polls)
        if taken_over:
            outcome, error = self._end_taken_over(ending)
            answered = outcome is not TxnOutcome.INDETERMINATE
        else:
            outcome, error, answered = self._commit_fenced(ending) or self._outcome(ending)
        self.take()
        if answered:
            self._failed_clients = 0
        self.journal.append(
            {
                "producer": self.producer,
                "txn": ending.number,
                "begun_ns": ending.begun_ns,
                "ended_ns": time.time_ns() if answered else None,
                "asked": ending.asked,
                "outcome": outcome.value,
                "records": ending.records,
                "error": error,
                "polled_from": first if polled else None,
                "polled": polled or None,
            }
        )
        return outcome

    def _poll(self, polls: Polled) -> tuple[int, int]:
        """Poll while the transaction is open and its records are in the log."""
        self.flush()
        time.sleep(max(0.0, min(self.spec.poll_after, self._calls.deadline() - time.monotonic())))
        return polls.take()

    def _outcome(self, ending: OpenTransaction) -> tuple[TxnOutcome, str | None, bool]:
        """(outcome, the client's error name, whether the commit or abort was answered)."""
        asked_to_commit = False
        failure = ending.broken
        if ending.asked == "commit" and failure is None:
            try:
                error = self._calls.repeat(self._call_prepare)
            except ClientStuck:
                self._replace_client(_STUCK, end=purge)
                return TxnOutcome.ABORTED, _STUCK, False
            if error is None:
                asked_to_commit = True
                try:
                    error = self._commit()
                except ClientStuck:
                    self._replace_client(_STUCK, end=purge)
                    return TxnOutcome.INDETERMINATE, _STUCK, False
            if error is None:
                return TxnOutcome.COMMITTED, None, True
            failure = error.name()
            if asked_to_commit and not error.txn_requires_abort():
                self._replace_client(failure)
                return TxnOutcome.INDETERMINATE, failure, False
        elif failure is None:
            self.flush()
        error = self._abort()
        if error is None:
            return TxnOutcome.ABORTED, failure, True
        self._replace_client(error.name())
        outcome = TxnOutcome.INDETERMINATE if asked_to_commit else TxnOutcome.ABORTED
        return outcome, failure or error.name(), False

    def _commit_fenced(self, ending: OpenTransaction) -> tuple[TxnOutcome, str | None, bool] | None:
        """Let a successor take over while this transaction is open; the old client then tries to end it.

        None: the transaction is not to be fenced, or no successor could be initialised.
        """
        if not ending.fenced or ending.broken is not None:
            return None
        self.flush()
        old = self.client
        successor = self.connect()
        try:
            self._initialise(successor)
        except ClientUnusable:
            purge_and_close(successor)
            return None
        outcome, error = self._end_taken_over(ending)
        self.client = successor
        purge_and_close(old)
        self.take()
        return outcome, error, outcome is not TxnOutcome.INDETERMINATE

    def _end_taken_over(self, ending: OpenTransaction) -> tuple[TxnOutcome, str | None]:
        """Ask to end a transaction that the coordinator has aborted for another producer, so that it must
        refuse: (outcome, the client's error name)."""
        commit = ending.asked == "commit" and ending.broken is None
        try:
            error = self._commit() if commit else self._abort()
        except ClientStuck:
            return TxnOutcome.INDETERMINATE, _STUCK
        if error is None:
            let_through = commit and ending.records > 0
            return (TxnOutcome.COMMITTED if let_through else TxnOutcome.ABORTED), ending.broken
        if commit and error.retriable():
            # Not refused, but unanswered.
            return TxnOutcome.INDETERMINATE, error.name()
        if error.txn_requires_abort():
            # A send was refused first. That the client is fenced it learns from the coordinator.
            error = self._abort() or error
        return TxnOutcome.ABORTED, error.name()

    def flush(self) -> None:
        """Wait for the delivery reports, so that the records are in the log before the transaction ends."""
        self._calls.flush(self.client)

    def _commit(self) -> KafkaError | None:
        return self._calls.commit(self.client)

    def _abort(self) -> KafkaError | None:
        return self._calls.repeat(self.client.abort_transaction)

    def _initialise(self, client: Any) -> None:
        cause = self._calls.repeat(client.init_transactions)
        if cause is not None:
            raise ClientUnusable(f"init_transactions: {cause.name()}: {cause.str()}")

    def _call_prepare(self, _: float) -> None:
        if self.prepare is not None:
            self._calls.once(partial(self.prepare, self.client), "send_offsets_to_transaction")

    def _replace_client(self, why: str, end: Callable[[Any], None] = purge_and_close) -> None:
        """Replace the client, and `end` the old one. The next transaction initialises the new one."""
        closing = self.until()
        # A stuck client must be purged even then: the end of the run would wait for its close().
        if end is purge_and_close and closing is not None and time.monotonic() >= closing:
            return
        old, self.client = self.client, self.connect()
        self._ready = False
        self._failed_clients += 1
        self._last_failure = why
        end(old)
        self.take()
