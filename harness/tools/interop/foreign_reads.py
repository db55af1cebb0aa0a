"""Readers' journals from the lines of a VerifiableConsumer with --verbose (without it the lines do not list
single records), and the final read from dumps of a topic too.

The lines contain no leader epochs, and the times of reading in milliseconds (a dump: none).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from crc32c import crc32c

from harness.model.journal import READS
from harness.tools.interop.table_dumps import TableHeader, dump_header
from harness.tools.interop.topic_dumps import parse_dump
from harness.tools.interop.verifiable_events import (
    CONSUMER,
    RECORD,
    LineCounts,
    ascii_text,
    count_damaged,
    decode_text,
    has_fields,
    key_id,
    parse,
)
from workloads.records.reader.read_rows import KEPT_BYTES
from workloads.records.record.identity import OK, STATES

FINAL = "final"
_ROWS_AT_ONCE = 100_000
_MS = 1_000_000
_PAGE = 1 << 12
_TopicPartition = tuple[str, int]


class ForeignReads:
    """The records that one VerifiableConsumer received.

    `lines` counts the lines by what they are, `unlisted` the consumed records that are not listed one by one,
    `of_other_topics` the events of other topics than `topic` (None: the topic of the first event). `ends`
    is the offset behind the last record by partition, `read_to` the number behind the highest one read by
    producer. `assignments` and `commits` are rows of these journals. `keyless` counts records whose keys were
    not printed. A final reader takes records of `dump_ms`, in ms, from dumps of the topic.
    """

    known = CONSUMER

    def __init__(self, reader: str, run_id: int, *, topic: str | None = None, dump_ms: int = 0) -> None:
        self.topic = topic
        self.keyless = 0
        self._dump_ms = dump_ms
        self.lines = LineCounts()
        self.unlisted = self.of_other_topics = self.records = 0
        self.ends: Counter[int] = Counter()
        self.read_to: Counter[int] = Counter()
        self.assignments: list[dict[str, Any]] = []
        self.commits: list[dict[str, Any]] = []
        self.first_ms: int | None = None
        self.last_ms = 0
        self.reader = reader
        self._run_id = run_id
        self._session = -1
        self._since_poll: Counter[_TopicPartition] = Counter()
        self._table: TableHeader | None = None

    def tables(self, lines: Iterable[str | bytes | None]) -> Iterator[pa.Table]:
        """READS rows of all these lines, in tables, in the order in which the reader received them."""
        rest = iter(lines)
        while some := list(islice(rest, _ROWS_AT_ONCE)):
            events = [event for line in some if (event := self._event(line)) is not None]
            yield self._rows([(event, max(0, self._session)) for event in events if self._take(event)])

    def _event(self, line: str | bytes | None) -> dict[str, Any] | None:
        if self.reader == FINAL:
            damaged = self.lines.damaged
            event = self._row_of_table(line) or parse_dump(line, self.lines, self.topic, self._dump_ms)
            if event is not None or self.lines.damaged > damaged:
                self.keyless += event is not None and event.get("keyless", False)
                return event
        return parse(line, self.known, self.lines)

    def _row_of_table(self, line: str | bytes | None) -> dict[str, Any] | None:
        """The record of a line below the header of a table; the header itself is no record."""
        raw = line.encode(errors="replace") if isinstance(line, str) else line or b""
        if self._table is None:
            self._table = None if self.lines.events else dump_header(raw)
            return None
        if not raw.strip():
            return None
        event = self._table.event(raw.decode(errors="replace"), self.topic)
        event |= {"name": "record_data", "timestamp": self._dump_ms}
        if not has_fields(event, RECORD):
            count_damaged(self.lines)
            return None
        self.lines.events += 1
        return event

    def _take(self, event: dict[str, Any]) -> bool:
        """Process an event; returns whether it is a record of the topic."""
        at, name = event["timestamp"], event["name"]
        self.first_ms = at if self.first_ms is None else min(self.first_ms, at)
        self.last_ms = max(self.last_ms, at)
        if name == "record_data":
            self._since_poll[event["topic"], event["partition"]] += 1
            return self._is_of_topic(event["topic"])
        if name == "records_consumed":
            # The counts of one poll by partition (confluent-kafka: in all); its records were listed before.
            parts = {(part["topic"], part["partition"]): part.get("count") for part in event["partitions"]}
            if None in parts.values():
                self.unlisted += max(0, event["count"] - self._since_poll.total())
            else:
                self.unlisted += sum(max(0, count - self._since_poll[at]) for at, count in parts.items())
            self._since_poll.clear()
        elif name in ("partitions_assigned", "partitions_revoked"):
            self._session += name == "partitions_assigned"
            self.assignments += [
                self._row(event, part) | {"event": name.removeprefix("partitions_")}
                for part in event["partitions"]
                if self._is_of_topic(part["topic"])
            ]
        elif name == "offsets_committed":
            error = "" if event["success"] else str(event.get("error") or "failed")
            self.commits += [
                self._row(event, part)
                | {"offset": part["offset"], "error": ascii_text(error or str(part.get("error") or ""))}
                for part in event["offsets"]
                if self._is_of_topic(part["topic"]) and part["offset"] >= 0
            ]
        return False

    def _is_of_topic(self, topic: str) -> bool:
        if self.topic is None:
            self.topic = topic
        if topic == self.topic:
            return True
        self.of_other_topics += 1
        return False

    def _row(self, event: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
        return {
            "reader": self.reader,
            "session": max(0, self._session),
            "at_ns": event["timestamp"] * _MS,
            "topic": part["topic"],
            "partition": part["partition"],
        }

    def _rows(self, pending: list[tuple[dict[str, Any], int]]) -> pa.Table:
        values = [
            None if event["value"] is None else event["value"].encode(errors="replace")
            for event, _ in pending
        ]
        decoded = decode_text(values, self._run_id)
        states, producers, seqs = decoded.state.tolist(), decoded.producer.tolist(), decoded.seq.tolist()
        rows = []
        for index, (event, session) in enumerate(pending):
            fine = states[index] == OK
            partition, producer = event["partition"], producers[index]
            self.ends[partition] = max(self.ends[partition], event["offset"] + 1)
            if fine:
                self.read_to[producer] = max(self.read_to[producer], seqs[index] + 1)
            rows.append(
                {
                    "reader": self.reader,
                    "topic": event["topic"],
                    "partition": partition,
                    "offset": event["offset"],
                    "state": STATES[states[index]].value,
                    "run": self._run_id if fine else None,
                    "producer": producer if fine else None,
                    "seq": seqs[index] if fine else None,
                    "key": key_id(event["key"]),
                    "value": None if fine else (values[index] or b"")[:KEPT_BYTES],
                    "read_ns": event["timestamp"] * _MS,
                    "session": session,
                    "position": self.records + index,
                }
            )
        self.records += len(rows)
        return pa.Table.from_pylist(rows, schema=READS)


class Once:
    """Filters out records that were read before with the same value at the same offset. Memory: 4 bytes per
    offset."""

    def __init__(self) -> None:
        self._seen: defaultdict[tuple[str, int, int], np.ndarray[Any, np.dtype[np.uint32]]] = defaultdict(
            lambda: np.zeros(_PAGE, dtype=np.uint32)
        )

    def fresh(self, table: pa.Table) -> pa.Table:
        """The rows of READS that did not occur before, as rows of a final read."""
        keep = np.ones(table.num_rows, dtype=np.bool_)
        columns = (
            table[name].to_pylist() for name in ("topic", "partition", "offset", "producer", "seq", "value")
        )
        for index, (topic, partition, offset, *what) in enumerate(zip(*columns, strict=True)):
            page, slot = divmod(offset, _PAGE)
            seen = self._seen[topic, partition, page]
            # 0 stands for nothing read yet.
            mark = crc32c(repr(what).encode()) | 1
            keep[index] = seen[slot] != mark
            seen[slot] = mark
        count = int(keep.sum())
        kept = table.filter(pa.array(keep))
        for name, column in (
            ("reader", pa.repeat(FINAL, count)),
            ("session", pa.nulls(count, pa.int32())),
            ("position", pa.nulls(count, pa.int64())),
        ):
            at = READS.get_field_index(name)
            kept = kept.set_column(at, READS.field(name), column)
        return kept
