"""The sends journal from the lines of a VerifiableProducer, Kafka's or Confluent's.

The tool prints a send only with its report: `sent_ns` is the time of the report, in whole milliseconds. Its
values are dense numbers, so each missing number below the last reported one was sent too, with an unknown
outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from harness.model.journal import SENDS, SendOutcome
from harness.tools.interop.verifiable_events import (
    PRODUCER,
    LineCounts,
    decode_text,
    key_id,
    librdkafka_error,
    parse,
)
from workloads.java.java_outcomes import exception_name, outcome_of
from workloads.records.producer.outcomes import NO_REPORT
from workloads.records.record.identity import OK

UNKNOWN_PARTITION = -1
"""`partition` of sends for which the client reported none."""
MAX_SEQ_JUMP = 10_000_000
"""A number that exceeds the highest reported one by more than this is damaged: that many records are never in
flight."""
_ROWS_AT_ONCE = 100_000
_MS = 1_000_000
_Marks = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(slots=True)
class ReportedNumbers:
    """Which numbers of one producer have been reported, and the keys of these records: the highest (-1: none
    has a key), and whether keys are repeated (`wraps`)."""

    reported: _Marks = field(default_factory=lambda: np.zeros(4096, dtype=np.bool_))
    end: int = 0
    last_ms: int = 0
    wraps: bool = False
    highest_key: int = -1

    def mark_reported(self, seq: int) -> bool:
        """Mark a number; False when it was marked before."""
        if seq >= len(self.reported):
            self.reported = np.concatenate([self.reported, np.zeros(seq + 1, dtype=np.bool_)])
        if self.reported[seq]:
            return False
        self.reported[seq] = True
        self.end = max(self.end, seq + 1)
        return True

    def key(self, seq: int, key: int | None) -> None:
        """Derive from a record's key how many keys are repeated: key = number % keys."""
        if key is not None:
            self.highest_key = max(self.highest_key, key)
            self.wraps = self.wraps or key < seq


_NOTHING = ReportedNumbers()


class ForeignSends:
    """The sends of one file of a VerifiableProducer.

    `foreign` counts values that no such tool writes, `reported_again` second reports of one number,
    `of_other_topics` events of other topics than `topic` (None: the topic of the first event): none of these
    become rows. `numbers` is by producer, `lines` counts the lines by what they are, `ended`
    tells that the tool closed normally and has reported all sends.
    """

    def __init__(self, acks: str, *, topic: str | None = None, keys: int | None = None) -> None:
        self.topic = topic
        self.lines = LineCounts()
        self.numbers: dict[int, ReportedNumbers] = {}
        self.foreign = self.reported_again = self.of_other_topics = 0
        self.first_ms: int | None = None
        self.last_ms = 0
        self.ended = False
        self._acks = acks
        self._keys = keys
        self._sent: int | None = None

    def tables(self, lines: Iterable[str | bytes | None]) -> Iterator[pa.Table]:
        """SENDS rows of all these lines, in several tables."""
        rest = iter(lines)
        while some := list(islice(rest, _ROWS_AT_ONCE)):
            yield self._rows([event for line in some if (event := self._report(line)) is not None])

    def _report(self, line: str | bytes | None) -> dict[str, Any] | None:
        """The report of a send on this line; None: it says something else."""
        event = parse(line, PRODUCER, self.lines)
        if event is None:
            return None
        at: int = event["timestamp"]
        self.first_ms = at if self.first_ms is None else min(self.first_ms, at)
        self.last_ms = max(self.last_ms, at)
        if event["name"] == "tool_data":
            self.ended = True
            self._sent = event["sent"]
        elif event["name"] == "shutdown_complete" and event.get("_qlen") == 0:
            # confluent-kafka's has flushed its queue: nothing was sent above the highest reported number.
            self.ended = True
            self._sent = 0
        return event if event["name"].startswith("producer_send") else None

    def _rows(self, reports: list[dict[str, Any]]) -> pa.Table:
        decoded = decode_text([event["value"].encode(errors="replace") for event in reports], 0)
        rows = []
        for event, state, producer, seq in zip(
            reports, decoded.state.tolist(), decoded.producer.tolist(), decoded.seq.tolist(), strict=True
        ):
            if self.topic is None:
                self.topic = event["topic"]
            if state != OK or seq > self.numbers.get(producer, _NOTHING).end + MAX_SEQ_JUMP:
                self.foreign += 1
            elif event["topic"] != self.topic:
                self.of_other_topics += 1
            elif (row := self._row(event, producer, seq)) is not None:
                rows.append(row)
        return pa.Table.from_pylist(rows, schema=SENDS)

    def _row(self, event: dict[str, Any], producer: int, seq: int) -> dict[str, Any] | None:
        numbers = self.numbers.setdefault(producer, ReportedNumbers())
        if not numbers.mark_reported(seq):
            self.reported_again += 1
            return None
        key = key_id(event["key"])
        numbers.key(seq, key)
        numbers.last_ms = max(numbers.last_ms, event["timestamp"])
        failed = event["name"] == "producer_send_error"
        message = event.get("message")
        error = None
        if failed:
            java = event.get("exception")
            error = exception_name(java) if isinstance(java, str) else librdkafka_error(str(message))
        outcome = outcome_of(error, message if isinstance(message, str) else None, self._acks)
        offset = -1 if failed or outcome is SendOutcome.UNCONFIRMED else event["offset"]
        return {
            "producer": producer,
            "seq": seq,
            "topic": event["topic"],
            "partition": UNKNOWN_PARTITION if failed else event["partition"],
            "key": key,
            "size": len(event["value"].encode(errors="replace")),
            "step": 0,
            "sent_ns": event["timestamp"] * _MS,
            "outcome": outcome.value,
            "closed_ns": event["timestamp"] * _MS,
            # A retry of a batch that the broker already has succeeds without an offset: -1.
            "offset": None if offset < 0 else offset,
            "error": error,
        }

    def unclear_keys(self) -> tuple[int, ...]:
        """Producers with keys for which the number of repeated keys is not known."""
        return tuple(
            producer
            for producer, numbers in sorted(self.numbers.items())
            if numbers.highest_key >= 0 and self._keys is None and not numbers.wraps
        )

    def unreported(self, read_to: Mapping[int, int]) -> Iterator[pa.Table]:
        """SENDS rows, `indeterminate`, of numbers that were sent, or may have been, without any report.

        These are the gaps below the highest number that was certainly sent: the highest reported one; the
        tool's own count, if it closed normally; else the highest that was read (`read_to`, by producer, is
        the next one), since a tool that was killed sent more than it reported. Partition and time are not
        known.
        """
        for producer, numbers in sorted(self.numbers.items()):
            end = max(numbers.end, min(self._end(producer, read_to), numbers.end + MAX_SEQ_JUMP))
            marks = numbers.reported[:end]
            missing = np.flatnonzero(~np.concatenate([marks, np.zeros(end - len(marks), dtype=np.bool_)]))
            keys = self._keys or numbers.highest_key + 1 or None
            for first in range(0, len(missing), _ROWS_AT_ONCE):
                yield self._unreported_rows(
                    producer, missing[first : first + _ROWS_AT_ONCE], keys, numbers.last_ms
                )

    def _end(self, producer: int, read_to: Mapping[int, int]) -> int:
        if self._sent is not None:
            # One process writes with one prefix, so its count is that of its producer.
            return self._sent if len(self.numbers) == 1 else 0
        return read_to.get(producer, 0)

    def _unreported_rows(
        self, producer: int, seq: np.ndarray[Any, np.dtype[np.int64]], keys: int | None, last_ms: int
    ) -> pa.Table:
        same = {
            "producer": producer,
            "topic": self.topic or "",
            "partition": UNKNOWN_PARTITION,
            "size": 0,
            "step": 0,
            "sent_ns": (last_ms or self.last_ms) * _MS,
            "outcome": SendOutcome.INDETERMINATE.value,
            "closed_ns": None,
            "offset": None,
            "error": NO_REPORT,
            "txn": None,
            "timestamp_ms": None,
        }
        columns = {
            name: pa.repeat(pa.scalar(value, SENDS.field(name).type), len(seq))
            for name, value in same.items()
        }
        columns["seq"] = pa.array(seq, pa.int64())
        columns["key"] = pa.nulls(len(seq), pa.int64()) if keys is None else pa.array(seq % keys, pa.int64())
        return pa.Table.from_pydict(columns, schema=SENDS)
