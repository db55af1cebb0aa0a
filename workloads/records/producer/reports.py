"""Delivery reports of one producer: collected in the callback, journaled in batches, and counted."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.model.journal import SendOutcome
from harness.model.partition_words import NO_PARTITION
from workloads.records.clients import drop_pending_error
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.producer.outcomes import ForeignError, classify
from workloads.records.producer.send_journal import NO_OFFSET, SendJournal
from workloads.records.record.identity import seq_of


@dataclass(frozen=True, slots=True)
class Progress:
    """Sends so far by outcome; `open` have no report yet. `errors` counts reports by error name."""

    sent: int = 0
    acked: int = 0
    unconfirmed: int = 0
    rejected: int = 0
    indeterminate: int = 0
    last_error: str | None = None
    errors: Mapping[str, int] = field(default_factory=dict)

    @property
    def open(self) -> int:
        return self.sent - self.acked - self.unconfirmed - self.rejected - self.indeterminate


class Tally:
    """Counts of one producer: its own thread adds to them, any thread may read them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent = 0
        self._outcomes: Counter[SendOutcome] = Counter()
        self._errors: Counter[str] = Counter()
        self._last_error: str | None = None

    def sent(self, count: int) -> None:
        with self._lock:
            self._sent += count

    def ended(
        self, outcomes: Iterable[SendOutcome] | Mapping[SendOutcome, int], errors: Sequence[str]
    ) -> None:
        """Count sends by outcome, and the error names of those that have one."""
        with self._lock:
            self._outcomes.update(outcomes)
            self._errors.update(errors)
            self._last_error = errors[-1] if errors else self._last_error

    def open(self) -> int:
        with self._lock:
            return self._sent - self._outcomes.total()

    def progress(self) -> Progress:
        with self._lock:
            return Progress(
                sent=self._sent,
                last_error=self._last_error,
                errors=dict(self._errors),
                **{outcome.value: self._outcomes[outcome] for outcome in SendOutcome},
            )


def total(parts: Iterable[Progress]) -> Progress:
    """Sum over producers; `last_error` is that of the last producer that has one."""
    parts = list(parts)
    return Progress(
        sent=sum(part.sent for part in parts),
        last_error=next((part.last_error for part in reversed(parts) if part.last_error), None),
        errors=dict(sum((Counter(part.errors) for part in parts), Counter[str]())),
        **{outcome.value: sum(getattr(part, outcome.value) for part in parts) for outcome in SendOutcome},
    )


def _offsets(reported: list[int | None]) -> npt.NDArray[np.int64]:
    try:
        return np.array(reported, dtype=np.int64)
    except TypeError:
        # A retry of a batch that the broker already has succeeds without an offset.
        return np.array([NO_OFFSET if offset is None else offset for offset in reported], dtype=np.int64)


@dataclass(eq=False, repr=False)
class DeliveryReports:
    """One producer's reports. Only that producer's thread may touch it: callbacks run inside its poll().

    Successes go into one flat list with three or four entries per report: measured to be faster than a tuple
    or object per report, and the columns are slices of it. `partition_known` False: the client chose the
    partitions, and its reports name them.
    """

    producer: int
    settings: ProducerSettings
    journal: SendJournal
    tally: Tally
    _: KW_ONLY
    partition_known: bool = True

    def __post_init__(self) -> None:
        self._acks = self.settings.acks
        self._resend_seconds = self.settings.single_attempt_ns() / 1e9
        self._good: list[Any] = []
        self._bad: list[tuple[bytes, str, int, SendOutcome, int]] = []
        self._success = classify(None, self._acks)
        self._keep = self._good.extend
        # Where the partition is known, this saves one call per record.
        self.callback = self._report if self.partition_known else self._report_with_partition
        """The one delivery callback of all records (`on_delivery` of produce())."""

    def _report(self, error: Any, message: Any) -> None:
        drop_pending_error()
        now = time.time_ns()
        if error is None:
            self._keep((message.value(), message.offset(), now))
        else:
            self._failed(error, message, now)

    def _report_with_partition(self, error: Any, message: Any) -> None:
        drop_pending_error()
        now = time.time_ns()
        if error is None:
            self._keep((message.value(), message.offset(), now, message.partition()))
        else:
            self._failed(error, message, now)

    def _failed(self, error: Any, message: Any, now: int) -> None:
        # latency() is measured from produce() to now, so it is never too short: no resend is missed.
        latency = message.latency()
        first_try = latency is not None and 0 <= latency < self._resend_seconds
        # None: it failed before the client had chosen a partition.
        known = None if self.partition_known else message.partition()
        partition = NO_PARTITION if known is None else known
        if isinstance(error, ForeignError):
            outcome = error.outcome(self._acks)
        else:
            outcome = classify(error.name(), self._acks, single_attempt=first_try)
        self._bad.append((message.value(), error.name(), now, outcome, partition))

    def refused(self, value: bytes, error: str) -> None:
        """Note a send that produce() refused; before the next `take` it must be opened in the journal."""
        outcome = classify(error, self._acks, queued=False)
        self._bad.append((value, error, time.time_ns(), outcome, NO_PARTITION))

    def take(self) -> None:
        """Journal and count the reports and refusals since the last call."""
        if self._good:
            good = self._good[:]
            self._good.clear()
            width = 3 if self.partition_known else 4
            seq = seq_of(good[0::width])
            offsets = None if self._success is SendOutcome.UNCONFIRMED else _offsets(good[1::width])
            times = np.array(good[2::width], dtype=np.int64)
            partitions = None if self.partition_known else np.array(good[3::width], dtype=np.int32)
            self.journal.closed(
                self.producer, seq, times, self._success, offsets=offsets, partitions=partitions
            )
            self.tally.ended({self._success: len(seq)}, [])
        if self._bad:
            values, errors, at_ns, outcomes, partition = zip(*self._bad, strict=True)
            self._bad.clear()
            seq, times = seq_of(values), np.array(at_ns, dtype=np.int64)
            partitions = np.array(partition, dtype=np.int32)
            self.journal.closed(self.producer, seq, times, outcomes, errors=errors, partitions=partitions)
            self.tally.ended(outcomes, errors)
