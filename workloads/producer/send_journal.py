"""The journal of sends: one row per send, written during the run.

`sends/part-*.parquet` hold closed sends, written about every second. `sends/open.parquet` holds the sends
without a report at the last flush. A flush writes the part first, then replaces `open.parquet`: a crash in
between leaves a send in both, and readers use the part's row. The other order could lose a send.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from harness.model.journal import OPEN_SENDS, SENDS, SendOutcome
from workloads.journal.closing import ClosesAtEnd
from workloads.journal.parquet_parts import FLUSH_SECONDS, Flusher, PartWriter, write_atomic
from workloads.producer.open_sends import NO_KEY, NO_TXN, OpenSends, SendBatch, SendColumns
from workloads.producer.outcomes import NO_REPORT

NO_OFFSET = -1
"""In `offsets`, for a report that gives none."""


def _repeated(value: str | None, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, pa.string()), count)


def _rows_table(
    topic: str,
    producer: int,
    seq: npt.NDArray[np.int64],
    rows: SendColumns,
    outcome: pa.Array,
    closed_ns: pa.Array,
    offset: pa.Array,
    error: pa.Array,
) -> pa.Table:
    count = len(seq)
    columns = {
        "producer": pa.array(np.full(count, producer, dtype=np.int32)),
        "seq": pa.array(seq),
        "topic": _repeated(topic, count),
        "partition": pa.array(rows["partition"]),
        "key": pa.array(rows["key"], mask=rows["key"] == NO_KEY),
        "size": pa.array(rows["size"]),
        "step": pa.array(rows["step"]),
        "sent_ns": pa.array(rows["sent_ns"]),
        "outcome": outcome,
        "closed_ns": closed_ns,
        "offset": offset,
        "error": error,
        "txn": pa.array(rows["txn"], mask=rows["txn"] == NO_TXN),
    }
    return pa.Table.from_pydict(columns, schema=SENDS)


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
        self._wrote_any = False
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
        outcome = (
            _repeated(outcomes.value, count)
            if isinstance(outcomes, SendOutcome)
            else pa.array([one.value for one in outcomes], pa.string())
        )
        offset = pa.nulls(count, pa.int64()) if offsets is None else pa.array(offsets, mask=offsets < 0)
        error = _repeated(None, count) if errors is None else pa.array(errors, pa.string())
        with self._lock:
            rows = self._producers.setdefault(producer, OpenSends()).close(seq)
            if partitions is not None:
                rows["partition"] = np.where(partitions < 0, rows["partition"], partitions)
            self._done.append(
                _rows_table(
                    self._topic_of(producer), producer, seq, rows, outcome, pa.array(closed_ns), offset, error
                )
            )

    def flush(self) -> None:
        """Write the closed sends as a part and the open ones as `open.parquet`. The flusher's thread calls
        it."""
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
            if not self._wrote_any:
                # A run without sends still has a readable journal.
                self._parts.write(SENDS.empty_table())
            self._closed = True
            self._open_file.unlink(missing_ok=True)

    def _topic_of(self, producer: int) -> str:
        return self._topics.get(producer, self._topic)

    def _write(self, tables: list[pa.Table]) -> None:
        """Write one part with all rows; no part if there are none."""
        table = pa.concat_tables([*tables, SENDS.empty_table()])
        if table.num_rows:
            self._parts.write(table.combine_chunks())
            self._wrote_any = True

    def _open_rows(self) -> pa.Table:
        tables = [SENDS.empty_table()]
        for producer, sends in self._producers.items():
            seq, rows = sends.still_open()
            count = len(seq)
            tables.append(
                _rows_table(
                    self._topic_of(producer),
                    producer,
                    seq,
                    rows,
                    _repeated(SendOutcome.INDETERMINATE.value, count),
                    pa.nulls(count, pa.int64()),
                    pa.nulls(count, pa.int64()),
                    _repeated(NO_REPORT, count),
                )
            )
        return pa.concat_tables(tables)
