"""Calls of a transactional client, each with the time that it may take.

A retriable error repeats a call, as librdkafka's INTRODUCTION.md asks for (Transactional Producer, error
handling). Only a commit gets all its time in one call.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from workloads.records.clients import STUCK_SECONDS, call_until, call_with_timeout, flush

SLICE_SECONDS = 1.0
"""Longest single call of `init_transactions`, `abort_transaction` and `flush`, in seconds: a request to close
is noticed between calls."""
_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class TransactionCalls:
    """Calls of the clients of one producer.

    `take` processes the delivery reports that have arrived; it is called after each call that may serve some.
    `until` is the time.monotonic() at which closing ends all waiting (None: the producer is not closing), and
    `patience` the seconds that a call may take in all, retries included.
    """

    take: Callable[[], None]
    until: Callable[[], float | None]
    patience: float

    def deadline(self) -> float:
        """The time.monotonic() until which a call that begins now may take."""
        until = self.until()
        own = time.monotonic() + self.patience
        return own if until is None else min(own, until)

    def flush(self, client: Any) -> None:
        """Wait for the delivery reports."""
        give_up = self.deadline()
        while flush(client, SLICE_SECONDS) and time.monotonic() < give_up:
            self.take()
            give_up = min(give_up, self.deadline())
        self.take()

    def commit(self, client: Any) -> KafkaError | None:
        """Commit within the time that is left: the client's error (None: it succeeded).

        Raises:
            ClientStuck: it did not return in time, or the run ends before. The client can neither be used
                nor closed again.
        """
        seconds = max(SLICE_SECONDS, self.deadline() - time.monotonic())
        returned = time.monotonic() + seconds + STUCK_SECONDS

        def give_up() -> float:
            closing = self.until()
            return returned if closing is None else min(returned, closing + SLICE_SECONDS)

        try:
            call_until(give_up, partial(client.commit_transaction, seconds), "commit_transaction")
        except KafkaException as error:
            cause: KafkaError = error.args[0]
            return cause
        finally:
            self.take()
        return None

    def repeat(self, work: Callable[[float], Any]) -> KafkaError | None:
        """Repeat a call, which is given its seconds, while its error is retriable; returns the last error
        (None: it succeeded)."""
        give_up = self.deadline()
        while True:
            try:
                work(SLICE_SECONDS)
                return None
            except KafkaException as error:
                self.take()
                cause: KafkaError = error.args[0]
                give_up = min(give_up, self.deadline())
                if not cause.retriable() or time.monotonic() >= give_up:
                    return cause
                if cause.code() != KafkaError._TIMED_OUT:
                    time.sleep(_PAUSE_SECONDS)

    def once(self, work: Callable[[], Any], what: str) -> None:
        """Make a call that takes no time-out.

        Raises:
            ClientStuck: it did not return.
        """
        call_with_timeout(STUCK_SECONDS, work, what)
