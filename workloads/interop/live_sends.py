"""The sends journal of VerifiableProducers while they run."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from harness.model.journal import SENDS, ReadState, SendOutcome
from harness.model.journal_reader import journal_batches
from workloads.interop.sends import ForeignSends
from workloads.journal.parquet_parts import FLUSH_SECONDS, Flusher, PartWriter
from workloads.producer.tally import Progress, Tally


class LiveSends:
    """Takes lines of any number of processes and writes parts about every second. Threads may share it.

    A send becomes a row when its report arrives. `unreported` finally adds the sends without a report.
    """

    def __init__(self, folder: Path, *, flush_seconds: float = FLUSH_SECONDS) -> None:
        self._parts = PartWriter(folder)
        self._waiting: list[pa.Table] = []
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._tally = Tally()
        self._wrote_any = False
        self._flusher = Flusher(self.flush, "journal-sends", flush_seconds)

    def take(self, process: ForeignSends, lines: Sequence[bytes]) -> None:
        """Take lines of one process; calls for one process come from one thread.

        Raises:
            JournalError: an earlier flush failed.
        """
        self._flusher.check()
        table = process.take(lines)
        if table.num_rows:
            with self._lock:
                self._count(table)
                self._waiting.append(table)

    def _count(self, table: pa.Table) -> None:
        outcomes = [SendOutcome(outcome) for outcome in table["outcome"].to_pylist()]
        self._tally.sent(len(outcomes))
        self._tally.ended(outcomes, [error for error in table["error"].to_pylist() if error is not None])

    def progress(self) -> Progress:
        """Counts so far. Sends in flight are not known, so that none is open."""
        return self._tally.progress()

    def flush(self) -> None:
        """Write the sends since the last part. The flusher's thread calls it."""
        with self._writing:
            with self._lock:
                tables, self._waiting = self._waiting, []
            if tables:
                self._parts.write(pa.concat_tables(tables).combine_chunks())
                self._wrote_any = True

    def close(self) -> None:
        """Write the rest; safe to call again.

        Raises:
            JournalError: something could not be written.
        """
        self._flusher.close()
        self.flush()
        if not self._wrote_any:
            self._parts.write(SENDS.empty_table())
            self._wrote_any = True

    def unreported(self, processes: Sequence[ForeignSends], read: Mapping[int, int]) -> int:
        """Journal the sends without a report after the final read; returns their number.

        Args:
            read: the highest seq that was read, by producer.
        """
        count = 0
        for process in processes:
            for table in process.unreported(read):
                if table.num_rows:
                    self._parts.write(table)
                    count += table.num_rows
        return count


def highest_read(folder: Path) -> dict[int, int]:
    """The highest seq of each producer in the final read's parts."""
    found: dict[int, int] = {}
    for table in journal_batches(folder, ["state", "producer", "seq"]):
        ours = table.filter(pc.equal(table["state"], ReadState.OK.value))
        for row in ours.group_by("producer").aggregate([("seq", "max")]).to_pylist():
            found[row["producer"]] = max(found.get(row["producer"], -1), row["seq_max"])
    return found
