"""The transactions of a producer of an own program, as its journal has them."""

from __future__ import annotations

import time
from dataclasses import dataclass

from confluent_kafka import KafkaException

from harness.model.journal import TxnOutcome
from workloads.own.own_journal import OwnJournal


@dataclass(slots=True)
class OpenTransaction:
    """The transaction that a producer has begun."""

    number: int
    begun_ns: int
    commit_requested: bool = False
    error: str | None = None


class OwnTransactions:
    """Journals the transactions of one producer. `open` is the one that is open; None: there is none."""

    def __init__(self, journal: OwnJournal) -> None:
        self.open: OpenTransaction | None = None
        self._journal = journal
        self._number = 0

    def begun(self) -> None:
        """A transaction was begun."""
        self.open = OpenTransaction(self._number, time.time_ns())
        self._number += 1

    def commit_requested(self) -> None:
        """A commit is about to be requested."""
        if self.open is not None:
            self.open.commit_requested = True

    def failed_to_end(self, error: KafkaException, *, may_abort: bool) -> None:
        """The commit or the abort failed; it goes on being open if it can be tried again, or (`may_abort`) be
        aborted."""
        if self.open is None:
            return
        cause = error.args[0]
        self.open.error = cause.name()
        if not cause.retriable() and not (may_abort and cause.txn_requires_abort()):
            self.given_up()

    def given_up(self) -> None:
        """Nobody ends it any more. Kafka aborts it, unless a commit was requested: then it may end either
        way."""
        if self.open is not None:
            asked = self.open.commit_requested
            self.ended(TxnOutcome.INDETERMINATE if asked else TxnOutcome.ABORTED, answered=False)

    def ended(self, outcome: TxnOutcome, *, answered: bool = True) -> None:
        """Journal its end, which a broker `answered` or not."""
        with self._journal.lock:
            ended, self.open = self.open, None
            if ended is not None:
                self._journal.transaction(
                    ended.number,
                    outcome,
                    begun_ns=ended.begun_ns,
                    asked="commit" if ended.commit_requested else "abort",
                    answered=answered,
                    error=ended.error,
                )
