"""Transactions of one producer: when each begins, how it ends, and what the client knows about it.

Errors are handled as librdkafka's INTRODUCTION.md asks for (Transactional Producer, error handling):
retriable - call again; abortable - abort; fatal or anything else - this client is done. Then, as an
application would, a new client with the same transactional.id takes over: its `init_transactions` first ends
what the old one left.

What a transaction came to:

    committed      the commit was answered
    aborted        the abort was answered; or nobody ever asked for a commit, and without that Kafka cannot
                   make one (KIP-98); or a successor had taken over before the commit was asked for
    indeterminate  a commit was asked for and failed, or was not answered in time
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from harness.model.journal import RowSink, TxnOutcome
from workloads.config.spec import TransactionSpec
from workloads.producer.shutdown import STUCK_SECONDS, ClientStuck, abandon, bury, flush, within

SLICE_SECONDS = 1.0
"""Longest single call into the client: between calls a wish to close is seen. Resuming is allowed."""
_PAUSE_SECONDS = 0.05
_STUCK = "_STUCK"
"""Journaled as the error where the client never returned from a call."""
_MOST_DEATHS = 20
"""Clients that may die one after the other without a transaction answered in between."""


class ClientDone(Exception):
    """No client can be had that may go on; the text says why."""


@dataclass(slots=True)
class OpenTransaction:
    """The transaction that is open. `broken` - it can only be aborted."""

    number: int
    asked: str
    begun_ns: int
    fenced: bool
    records: int = 0
    broken: str | None = None


class TransactionManager:
    """Begins and ends transactions on `client`, which it replaces when one is done for.

    Args:
        connect: makes a client with the producer's transactional.id.
        take: hands over the delivery reports that came, after each call that may have served some.
        prepare: called before each commit, with the client, within the transaction: what else belongs to it.
        until: time.monotonic() at which a wish to close ends all patience (None: no such wish).
        patience: seconds that a call may take in all, retries included.
    """

    def __init__(
        self,
        connect: Callable[[], Any],
        client: Any,
        spec: TransactionSpec,
        *,
        producer: int,
        seed: int,
        journal: RowSink,
        take: Callable[[], None],
        until: Callable[[], float | None],
        patience: float,
        prepare: Callable[[Any], None] | None = None,
    ) -> None:
        self.client = client
        self._deaths = 0
        self._connect = connect
        self._spec = spec
        self._producer = producer
        self._random = Random(f"{seed}/transactions")
        self._journal = journal
        self._take = take
        self._until = until
        self._patience = patience
        self._prepare = prepare
        self._next = 0
        self._ready = False
        self._why = ""
        self._open: OpenTransaction | None = None

    @property
    def number(self) -> int:
        """Of the transaction that is open."""
        assert self._open is not None, "only asked for while sending"
        return self._open.number

    @property
    def room(self) -> int:
        """How many more sends the open transaction takes; 0: it has to end."""
        if self._open is None or self._open.broken is not None:
            return 0
        return self._spec.records - self._open.records

    def initialise(self) -> None:
        """Have the coordinator take the client on, unless it has. The first time it may have to make the log
        of transactions before it answers.

        Raises:
            ClientDone: it does not.
        """
        if not self._ready:
            self._initialise(self.client)
            self._ready = True

    def begin(self) -> None:
        """Open a transaction unless one is open.

        Raises:
            ClientDone: the coordinator let no client of ours begin.
        """
        if self._open is not None:
            return
        while True:
            if self._deaths > _MOST_DEATHS:
                raise ClientDone(f"{self._deaths} clients died one after the other, the last of {self._why}")
            self.initialise()
            try:
                self.client.begin_transaction()
                break
            except KafkaException as error:
                self._succeed(_name(error))
        number, self._next = self._next, self._next + 1
        aborting = self._random.random() < self._spec.abort
        every = self._spec.fence_every
        self._open = OpenTransaction(
            number,
            "abort" if aborting else "commit",
            time.time_ns(),
            fenced=every is not None and (number + 1) % every == 0,
        )

    def took(self, sends: int, refusal: str | None) -> None:
        """Count sends of the open transaction; `refusal` names the error if the client refused the last."""
        assert self._open is not None, "only called while sending"
        self._open.records += sends
        self._open.broken = self._open.broken or refusal

    def end(self) -> TxnOutcome | None:
        """End the open transaction, if there is one, and journal what became of it."""
        ending, self._open = self._open, None
        if ending is None:
            return None
        outcome, error, answered = self._overtaken(ending) or self._outcome(ending)
        self._take()
        if answered:
            self._deaths = 0
        self._journal.append(
            {
                "producer": self._producer,
                "txn": ending.number,
                "begun_ns": ending.begun_ns,
                "ended_ns": time.time_ns() if answered else None,
                "asked": ending.asked,
                "outcome": outcome.value,
                "records": ending.records,
                "error": error,
            }
        )
        return outcome

    def _outcome(self, ending: OpenTransaction) -> tuple[TxnOutcome, str | None, bool]:
        """(what it came to, the client's error, whether commit or abort was answered)."""
        asked_to_commit = False
        failure = ending.broken
        if ending.asked == "commit" and failure is None:
            try:
                error = None if self._prepare is None else self._call(self._prepared)
            except ClientStuck:
                self._succeed(_STUCK, end=abandon)
                return TxnOutcome.ABORTED, _STUCK, False
            if error is None:
                asked_to_commit = True
                error = self._call(lambda client: client.commit_transaction(SLICE_SECONDS))
            if error is None:
                return TxnOutcome.COMMITTED, None, True
            failure = error.name()
            if asked_to_commit and not error.txn_requires_abort():
                self._succeed(failure)
                return TxnOutcome.INDETERMINATE, failure, False
        elif failure is None:
            self._flush()
        error = self._call(lambda client: client.abort_transaction(SLICE_SECONDS))
        if error is None:
            return TxnOutcome.ABORTED, failure, True
        self._succeed(error.name())
        outcome = TxnOutcome.INDETERMINATE if asked_to_commit else TxnOutcome.ABORTED
        return outcome, failure or error.name(), False

    def _overtaken(self, ending: OpenTransaction) -> tuple[TxnOutcome, str | None, bool] | None:
        """A successor takes over while this transaction is open; its client goes on as if nothing was.

        None: that was not meant, or no successor could be had.
        """
        if not ending.fenced or ending.broken is not None:
            return None
        self._flush()
        old = self.client
        successor = self._connect()
        try:
            self._initialise(successor)
        except ClientDone:
            bury(successor)
            return None
        # The coordinator has ended the transaction now: what the old client is told can only be a refusal.
        if ending.asked == "commit":
            error = self._call(lambda client: client.commit_transaction(SLICE_SECONDS))
        else:
            error = self._call(lambda client: client.abort_transaction(SLICE_SECONDS))
        self.client = successor
        bury(old)
        self._take()
        if error is None and ending.asked == "commit" and ending.records:
            return TxnOutcome.COMMITTED, None, True
        return TxnOutcome.ABORTED, error.name() if error else None, True

    def _flush(self) -> None:
        """Wait for the reports of what was sent, so that it is in the log before the transaction ends."""
        give_up = self._deadline()
        while flush(self.client, SLICE_SECONDS) and time.monotonic() < give_up:
            self._take()
            give_up = min(give_up, self._deadline())
        self._take()

    def _deadline(self) -> float:
        until = self._until()
        own = time.monotonic() + self._patience
        return own if until is None else min(own, until)

    def _call(self, work: Callable[[Any], None]) -> KafkaError | None:
        """Call again while that is what the client asks for; returns the error that stays."""
        give_up = self._deadline()
        while True:
            try:
                work(self.client)
                return None
            except KafkaException as error:
                self._take()
                cause: KafkaError = error.args[0]
                closing = self._until()
                give_up = give_up if closing is None else min(give_up, closing)
                if not cause.retriable() or time.monotonic() >= give_up:
                    return cause
                if cause.code() != KafkaError._TIMED_OUT:
                    time.sleep(_PAUSE_SECONDS)

    def _initialise(self, client: Any) -> None:
        give_up = self._deadline()
        while True:
            try:
                client.init_transactions(SLICE_SECONDS)
                return
            except KafkaException as error:
                cause: KafkaError = error.args[0]
                closing = self._until()
                give_up = give_up if closing is None else min(give_up, closing)
                if not cause.retriable() or time.monotonic() >= give_up:
                    raise ClientDone(f"init_transactions: {cause.name()}: {cause.str()}") from error
                time.sleep(_PAUSE_SECONDS)

    def _prepared(self, client: Any) -> None:
        assert self._prepare is not None, "only called where there is something to prepare"
        within(STUCK_SECONDS, partial(self._prepare, client), "send_offsets_to_transaction")

    def _succeed(self, why: str, end: Callable[[Any], None] = bury) -> None:
        """Replace the client; the new one is initialised when the next transaction begins."""
        closing = self._until()
        # One that is stuck must not be left for the end of the run, which closes it.
        if end is bury and closing is not None and time.monotonic() >= closing:
            return
        old, self.client = self.client, self._connect()
        self._ready = False
        self._deaths += 1
        self._why = why
        end(old)
        self._take()


def _name(error: KafkaException) -> str:
    name: str = error.args[0].name()
    return name
