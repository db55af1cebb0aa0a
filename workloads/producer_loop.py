"""One producer: a client, a thread, and the loop that writes one step after another."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from confluent_kafka import KafkaError, KafkaException

from workloads.identity import ValueBuilder, encode_key
from workloads.open_sends import NO_KEY, Batch
from workloads.reports import Reports
from workloads.send_journal import SendJournal
from workloads.spec import ProducerSettings, WorkloadSpec
from workloads.tally import Tally

SLICE = 2000
"""Most records between two polls."""
PACE_SECONDS = 0.01
"""With a rate, records go out in slices of this length."""
_POLL_SECONDS = 0.05
_IDLE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class StepOrder:
    """One producer's share of a write step, over at the first limit met. `until` is a time.monotonic()."""

    step: int
    records: int | None
    until: float | None
    rate: float | None


@dataclass(frozen=True, slots=True)
class Stream:
    """Where one producer writes, and as what."""

    producer: int
    topic: str
    partitions: int
    run_id: int
    seed: int


class ProducerLoop:
    """Runs the client's whole life in one thread, so that its callbacks need no locks.

    `failure` is what ended the thread early, `fatal` the client's own fatal error (None: neither).
    """

    def __init__(
        self,
        client: Any,
        stream: Stream,
        spec: WorkloadSpec,
        settings: ProducerSettings,
        journal: SendJournal,
    ) -> None:
        self._client = client
        self._stream = stream
        self._keys = spec.keys
        self._journal = journal
        self._build = ValueBuilder(stream.run_id, stream.producer, spec.record_size, stream.seed)
        self.tally = Tally()
        self._reports = Reports(stream.producer, settings, journal, self.tally)
        self._seq = 0
        self._built: list[bytes] = []
        self.fatal: str | None = None
        self.failure: BaseException | None = None
        self.idle = threading.Event()
        self.idle.set()
        self._wake = threading.Event()
        self._order: StepOrder | None = None
        self.writing = False
        self._stopped = False
        self._close_seconds: float | None = None
        self._thread = threading.Thread(target=self._run, name=f"producer-{stream.producer}", daemon=True)
        self._thread.start()

    def start(self, order: StepOrder) -> None:
        """Begin a step; sends of an earlier one may still be open."""
        self._stopped = False
        self.writing = True
        # Before the order: the thread may take that at once and set the event when done.
        self.idle.clear()
        self._order = order
        self._wake.set()

    def stop(self) -> None:
        self._stopped = True

    def close(self, seconds: float) -> None:
        """Ask the thread to end: deliver what it can within `seconds`, give up the rest."""
        self._stopped = True
        self._close_seconds = seconds
        self._wake.set()

    def join(self) -> None:
        self._thread.join()

    def on_error(self, error: KafkaError) -> None:
        """`error_cb` of the client: only a fatal error changes what the loop does."""
        if error.fatal():
            self.fatal = error.str()

    def _run(self) -> None:
        try:
            while self._close_seconds is None:
                self._wake.wait(_IDLE_SECONDS)
                self._wake.clear()
                self._client.poll(0)
                order, self._order = self._order, None
                if order is not None:
                    self._write(order)
                    self.writing = False
                    if self._drained():
                        self.idle.set()
            self._end(self._close_seconds)
        # Kept, not swallowed: Workload.finish and Workload.close raise it.
        except BaseException as error:
            self.failure = error
        finally:
            self.idle.set()

    def _write(self, order: StepOrder) -> None:
        begun = time.monotonic()
        made = 0
        while not self._stopped and self.fatal is None:
            now = time.monotonic()
            if order.until is not None and now >= order.until:
                return
            count = SLICE if order.records is None else min(SLICE, order.records - made)
            if count <= 0:
                return
            if order.rate is not None:
                count = min(count, int((now - begun) * order.rate) + 1 - made)
                if count <= 0:
                    self._serve(
                        now + max(PACE_SECONDS, (made - (now - begun) * order.rate) / order.rate), order
                    )
                    continue
            done = self._slice(order.step, count)
            made += done
            self._client.poll(0 if done == count else _POLL_SECONDS)
            self._reports.take()
            if order.rate is not None and done == count:
                self._serve(time.monotonic() + PACE_SECONDS, order)

    def _serve(self, until: float, order: StepOrder) -> None:
        """Serve reports until a time, or the step's end if that is sooner."""
        if order.until is not None:
            until = min(until, order.until)
        while not self._stopped and (left := until - time.monotonic()) > 0:
            self._client.poll(min(left, _POLL_SECONDS))
            self._reports.take()

    def _slice(self, step: int, count: int) -> int:
        """Queue up to `count` records and journal them; fewer when the client's queue is full or it died."""
        produce, now = self._client.produce, time.time_ns
        topic, partitions, keys = self._stream.topic, self._stream.partitions, self._keys
        report = self._reports.callback
        first = self._seq
        sent: list[int] = []
        refused: list[tuple[int, str, int]] = []
        missing = count - len(self._built)
        if missing > 0:
            self._built += self._build.block(first + len(self._built), missing)
        for seq, value in enumerate(self._built[:count], first):
            place = seq if keys is None else seq % keys
            key = None if keys is None else encode_key(place)
            stamp = now()
            try:
                produce(topic, value, key, place % partitions, report)
            except BufferError:
                # The client's queue is full: no outcome, the same record is tried again after a poll.
                break
            except KafkaException as error:
                cause = error.args[0]
                refused.append((seq, cause.name(), now()))
                if cause.fatal() or cause.code() == KafkaError._FATAL:
                    self.fatal = self.fatal or cause.str()
                    sent.append(stamp)
                    break
            sent.append(stamp)
        self._seq = first + len(sent)
        # What the queue did not take is not built again: a full queue is the rule at full speed.
        del self._built[: len(sent)]
        self._hand_over(step, first, sent)
        self._reports.refused(refused)
        return len(sent)

    def _hand_over(self, step: int, first: int, sent: list[int]) -> None:
        if not sent:
            return
        seq = np.arange(first, first + len(sent), dtype=np.int64)
        place = seq if self._keys is None else seq % self._keys
        batch = Batch(
            producer=self._stream.producer,
            first=first,
            step=step,
            size=self._build.size,
            sent_ns=np.array(sent, dtype=np.int64),
            partition=(place % self._stream.partitions).astype(np.int32),
            key=place if self._keys is not None else np.full(len(sent), NO_KEY, dtype=np.int64),
        )
        self._journal.opened(batch)
        self.tally.sent(len(sent))

    def _drained(self) -> bool:
        """Wait until each send has its report (delivery.timeout.ms bounds it); False: another step came."""
        while self.tally.open() and self._close_seconds is None:
            if self._order is not None:
                return False
            self._client.poll(_POLL_SECONDS)
            self._reports.take()
        return True

    def _end(self, seconds: float) -> None:
        self._client.flush(seconds)
        self._client.purge(in_queue=True, in_flight=True, blocking=True)
        # Serves the reports of what was purged; nothing of it waits for a broker any more.
        self._client.flush(1.0)
        self._reports.take()
        self._client.close()
