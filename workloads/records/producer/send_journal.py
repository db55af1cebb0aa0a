"""The journal of sends: one row per send, written during the run.

`sends/part-*.parquet` hold closed sends, written about every second. `sends/open.parquet` holds the sends
without a report at the last flush. A flush writes the part first, then replaces `open.parquet`: a crash in
between leaves a send in both, and readers use the part's row. The other order could lose a send.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from harness.model.journal import OPEN_SENDS, SENDS, SendOutcome
from workloads.records.journal.parquet_parts import (
    FLUSH_SECONDS,
    ClosesAtEnd,
    Flusher,
    PartWriter,
    write_atomic,
)
from workloads.records.producer.outcomes import NO_REPORT

NO_OFFSET = -1
"""In `offsets`, for a report that gives none."""
NO_KEY = -(2**63)
"""Stands in the arrays for a record without a key. A user's key of 8 bytes may be any other number."""
NO_TXN = -1
"""Stands for a record that was sent outside of any transaction."""
NO_TIMESTAMP = -1
"""Stands for a record to which the producer gave no time; Kafka takes each negative time for none."""

SendColumns = dict[str, npt.NDArray[Any]]
"""What is known of sends, a column each by its name in `_KNOWN`, all of one length."""

_KNOWN = ("sent_ns", "key", "txn", "partition", "size", "step", "timestamp_ms")


@dataclass(frozen=True, slots=True)
class SendBatch:
    """Sends of one producer with seq `first`, `first + 1`, ...; each array has one element per send, and a
    single number applies to all of them.

    `key` holds `NO_KEY` where there is none, `txn` `NO_TXN` outside of a transaction, and `timestamp_ms` is
    negative where the producer gave the record no time.
    """

    producer: int
    first: int
    step: int | npt.NDArray[np.int32]
    size: int | npt.NDArray[np.int32]
    sent_ns: npt.NDArray[np.int64]
    partition: npt.NDArray[np.int32]
    key: npt.NDArray[np.int64]
    txn: int | npt.NDArray[np.int64] = NO_TXN
    timestamp_ms: int | npt.NDArray[np.int64] = NO_TIMESTAMP


class OpenSends:
    """Sends from the oldest open one on; closed sends before it are dropped as the array grows."""

    def __init__(self) -> None:
        types = {name: SENDS.field(name).type.to_pandas_dtype() for name in _KNOWN}
        self._columns: SendColumns = {name: np.zeros(4096, kind) for name, kind in types.items()}
        self._closed = np.zeros(4096, np.bool_)
        self._mark = np.zeros(4096, np.int32)
        self._base = 0
        self._end = 0

    def add(self, batch: SendBatch) -> None:
        """Raises ValueError when seq is not dense."""
        if batch.first != self._end:
            raise ValueError(
                f"producer {batch.producer}: seq must be dense, expected {self._end}, got {batch.first}"
            )
        count = len(batch.sent_ns)
        self._make_room(count)
        slots = slice(self._end - self._base, self._end - self._base + count)
        for name, column in self._columns.items():
            column[slots] = getattr(batch, name)
        self._closed[slots] = False
        self._end += count

    def close(self, seq: npt.NDArray[np.int64]) -> SendColumns:
        """Mark sends closed and return a copy of their columns, in the order of `seq`.

        Raises ValueError for a seq that is not open: never sent, or closed already.
        """
        slots = seq - self._base
        if len(seq) and (slots.min() < 0 or seq.max() >= self._end):
            raise ValueError(f"report for a send that is not open, among seq {seq.min()} to {seq.max()}")
        # A seq that occurs twice in one call finds its mark overwritten; this is much faster than np.unique.
        order = np.arange(len(slots), dtype=np.int32)
        self._mark[slots] = order
        if self._closed[slots].any() or (self._mark[slots] != order).any():
            raise ValueError(f"a second report for a send, among seq {seq.min()} to {seq.max()}")
        self._closed[slots] = True
        return self._at(slots)

    def still_open(self) -> tuple[npt.NDArray[np.int64], SendColumns]:
        """(seq, columns) of the sends without a report, copied."""
        slots = np.flatnonzero(~self._closed[: self._end - self._base])
        return slots + self._base, self._at(slots)

    def _at(self, slots: npt.NDArray[np.int64]) -> SendColumns:
        return {name: column[slots] for name, column in self._columns.items()}

    def _make_room(self, count: int) -> None:
        used = self._end - self._base
        size = len(self._closed)
        if used + count <= size:
            return
        closed = self._closed[:used]
        drop = used if closed.all() else int(np.argmin(closed))
        kept = used - drop
        if kept + count > size // 2:
            size = max(2 * size, 2 * (kept + count))

        def moved(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
            grown = np.zeros(size, column.dtype)
            grown[:kept] = column[drop:used]
            return grown

        self._columns = {name: moved(column) for name, column in self._columns.items()}
        self._closed = moved(self._closed)
        self._mark = np.zeros(size, np.int32)
        self._base += drop


def _repeated(value: str | None, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, pa.string()), count)


class SendJournal(ClosesAtEnd):
    """Journal of sends in `folder` (the run's `sends/`, created if absent). All sends go to `topic`, except
    those of the producers in `topics` (producer to topic).

    Threads may share it: each producer's calls must keep their order (`opened` before `closed`). Use as a
    context manager or call `close`.
    """

    def __init__(
        self,
        folder: Path,
        topic: str,
        *,
        topics: Mapping[int, str] | None = None,
        flush_seconds: float = FLUSH_SECONDS,
    ) -> None:
        self._topic = topic
        self._topics = topics or {}
        self._open_file = folder / OPEN_SENDS
        self._parts = PartWriter(folder)
        self._producers: dict[int, OpenSends] = {}
        self._done: list[pa.Table] = []
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._closed = False
        # Also makes Arrow load its lazy parts before the times of the first sends are taken.
        self.flush()
        self._flusher = Flusher(self.flush, "journal-sends", flush_seconds)

    def opened(self, batch: SendBatch) -> None:
        """Add sends that were queued or attempted; seq must continue where the producer's last batch ended.

        Raises:
            ValueError: a gap or an overlap in seq.
            JournalError: an earlier flush failed.
        """
        self._flusher.raise_if_failed()
        with self._lock:
            self._producers.setdefault(batch.producer, OpenSends()).add(batch)

    def closed(
        self,
        producer: int,
        seq: npt.NDArray[np.int64],
        closed_ns: npt.NDArray[np.int64],
        outcomes: SendOutcome | Sequence[SendOutcome],
        *,
        offsets: npt.NDArray[np.int64] | None = None,
        errors: Sequence[str | None] | None = None,
        partitions: npt.NDArray[np.int32] | None = None,
    ) -> None:
        """Add reports; each array has one element per send, and a single `SendOutcome` applies to all of
        them.

        `offsets` holds `NO_OFFSET` where none was reported (None: no report has one). `errors` None: no
        errors. `partitions` are those that the client reports (negative: it reports none); None: as given to
        `opened`.

        Raises:
            ValueError: a report for a send that is not open.
        """
        count = len(seq)
        if not count:
            return
        report = {
            "outcome": _repeated(outcomes.value, count)
            if isinstance(outcomes, SendOutcome)
            else pa.array([outcome.value for outcome in outcomes], pa.string()),
            "closed_ns": pa.array(closed_ns),
            "offset": pa.nulls(count, pa.int64()) if offsets is None else pa.array(offsets, mask=offsets < 0),
            "error": _repeated(None, count) if errors is None else pa.array(errors, pa.string()),
        }
        with self._lock:
            rows = self._producers.setdefault(producer, OpenSends()).close(seq)
            if partitions is not None:
                rows["partition"] = np.where(partitions < 0, rows["partition"], partitions)
            self._done.append(self._table(producer, seq, rows, **report))

    def flush(self) -> None:
        """Write the closed sends as a part and the open ones as `open.parquet`; the flusher calls it."""
        with self._writing:
            with self._lock:
                done, self._done = self._done, []
                pending = self._open_rows()
            self._write(done)
            write_atomic(pending, self._open_file)

    def close(self) -> None:
        """Write everything. Sends without a report become indeterminate with the error `_NO_REPORT`.

        Safe to call again.

        Raises:
            JournalError: something could not be written.
        """
        if self._closed:
            return
        self._flusher.close()
        with self._writing, self._lock:
            self._write([*self._done, self._open_rows()])
            self._done = []
            if not self._parts.wrote:
                # A run without sends still has a readable journal.
                self._parts.write(SENDS.empty_table())
            self._closed = True
            self._open_file.unlink(missing_ok=True)

    def _write(self, tables: list[pa.Table]) -> None:
        """Write one part with all rows; no part if there are none."""
        table = pa.concat_tables([*tables, SENDS.empty_table()])
        if table.num_rows:
            self._parts.write(table.combine_chunks())

    def _open_rows(self) -> pa.Table:
        tables = [SENDS.empty_table()]
        for producer, sends in self._producers.items():
            seq, rows = sends.still_open()
            none = pa.nulls(len(seq), pa.int64())
            outcome = _repeated(SendOutcome.INDETERMINATE.value, len(seq))
            error = _repeated(NO_REPORT, len(seq))
            tables.append(
                self._table(producer, seq, rows, outcome=outcome, closed_ns=none, offset=none, error=error)
            )
        return pa.concat_tables(tables)

    def _table(
        self, producer: int, seq: npt.NDArray[np.int64], rows: SendColumns, **report: pa.Array
    ) -> pa.Table:
        """SENDS rows; `report` has the columns of the outcome."""
        columns = {
            "producer": pa.array(np.full(len(seq), producer, dtype=np.int32)),
            "seq": pa.array(seq),
            "topic": _repeated(self._topics.get(producer, self._topic), len(seq)),
            **{name: pa.array(rows[name]) for name in ("partition", "size", "step", "sent_ns")},
            "key": pa.array(rows["key"], mask=rows["key"] == NO_KEY),
            "txn": pa.array(rows["txn"], mask=rows["txn"] == NO_TXN),
            "timestamp_ms": pa.array(rows["timestamp_ms"], mask=rows["timestamp_ms"] < 0),
            **report,
        }
        return pa.Table.from_pydict(columns, schema=SENDS)
