"""Reading an application's output to its end, as OUTPUTS rows, and the proof that nothing was missed.

A topic is read as the run's own topic is in `harness.run.reads.final_read`: the brokers settle, every
partition is read to its end, and after a pause both are done again. Of an exactly-once application it is
first read with read_committed, so that each row says whether readers of committed records get it. The files
of a table are listed before and after they are read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from harness.cluster.live import LiveCluster
from harness.model.application_journal import OUTPUTS, OUTPUTS_DIR
from harness.model.errors import ClusterError, JournalError
from harness.model.progress import report_progress
from harness.run.reads.final_read import Bounds, FinalReadTarget, Passes, read_pass, read_twice
from harness.run.reads.missing_records import gap_reasons
from workloads.applications.outputs.output_identity import OutputIdentity, output_rows
from workloads.applications.outputs.output_record import TableRow
from workloads.applications.table_files import table_files
from workloads.records.reader.final_reader import RowMaker
from workloads.records.reader.read_rows import PartitionFile

_ROWS = 4096
_MOST_LINE_BYTES = 16 * 2**20
TRANSACTION_SECONDS = 60.0
"""transaction.timeout.ms of Java clients, if an application does not set it (Kafka documentation)."""


@dataclass(frozen=True, slots=True)
class OutputRead:
    """How many records the output has, and whether it was read to its end; `reasons` say why not."""

    records: int
    reasons: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return not self.reasons


def read_output_topic(
    cluster: LiveCluster, target: FinalReadTarget, identity: OutputIdentity, folder: Path
) -> OutputRead:
    """Read an output topic into `folder`/outputs. `target` has `transaction_seconds` if only committed
    outputs count. Failures of the cluster are reasons, not raised."""

    def one_pass(bounds: Bounds, held: Mapping[int, int], first: bool) -> tuple[Passes, Passes | None]:
        """One read_uncommitted pass; after a read_committed one, if only committed outputs count."""
        committed = None
        if target.transaction_seconds is not None:
            committed = read_pass(cluster, target, bounds, "output", held=held)
        if not first:
            return read_pass(cluster, target, bounds, "output"), committed
        rows = RowMaker(OUTPUTS, _Rows(identity, target.run_id, committed))
        return read_pass(cluster, target, bounds, "output", folder / OUTPUTS_DIR, rows=rows), committed

    report_progress("reading the application's output")
    try:
        read = read_twice(cluster, target, one_pass)
    except ClusterError as error:
        return OutputRead(0, (f"the application's output could not be read: {error}",))
    reasons = list(read.reasons)
    deleted = [bound.partition for bound in read.bounds if bound.log_start_offset > 0]
    if deleted:
        reasons.append(f"records of partition(s) {deleted} have been deleted; give the output more retention")
    reasons += gap_reasons(cluster, read.bounds, read.first, read.committed, compacted=target.compacted)
    return OutputRead(
        sum(digest.records for digest in read.first.values()),
        tuple(f"the application's output was not read to its end: {reason}" for reason in reasons),
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """Makes OUTPUTS rows of messages; `committed` is what readers of committed records got (None: all)."""

    identity: OutputIdentity
    run_id: int
    committed: Passes | None

    def __call__(self, messages: list[Any], now: int) -> pa.Table:
        offset = np.fromiter((message.offset() for message in messages), np.int64, len(messages))
        mapped = self.identity.map(messages, self.run_id)
        return output_rows(messages, mapped, self._got(messages[0].partition(), offset), now)

    def _got(self, partition: int, offset: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        if self.committed is None:
            return np.ones(len(offset), np.bool_)
        digest = self.committed[partition]
        got = offset < digest.end
        if digest.gaps:
            begin, end = np.array(digest.gaps, np.int64).T
            at = np.searchsorted(begin, offset, "right") - 1
            got &= ~((at >= 0) & (offset < end[at]))
        return np.asarray(got, np.bool_)


TableRows = Iterator[list[tuple[dict[str, Any], int | None]]]
"""The rows of a file in batches: the columns of each, and the time that it has (ms since the epoch)."""


def read_output_table(
    folders: Sequence[Path],
    rows_of: Callable[[Path], TableRows],
    name: str,
    identity: OutputIdentity,
    run_id: int,
    folder: Path,
) -> OutputRead:
    """Read the files of a table into `folder`/outputs. `folders` has the table's folder of each instance,
    `rows_of` reads a file, and `name` is that of the table in the rows."""
    report_progress("reading the application's output")
    try:
        before = _listed(folders)
        file = PartitionFile(folder / OUTPUTS_DIR, 0, OUTPUTS)
        records = 0
        for number, (path, _) in enumerate(before):
            first = 0
            for batch in rows_of(path):
                rows = [TableRow(name, number, first + row, *told) for row, told in enumerate(batch)]
                first += len(rows)
                got = np.ones(len(rows), np.bool_)
                file.add(output_rows(rows, identity.map(rows, run_id), got, time.time_ns()))
            records += first
        file.close()
        after = _listed(folders)
    except JournalError as error:
        why = f"{error.where}: {error.what}: {error.found}, expected {error.expected}"
        return OutputRead(0, (f"the application's output could not be read: {why}",))
    except (OSError, pa.ArrowException) as error:
        return OutputRead(0, (f"the application's output could not be read: {error}",))
    changed = ("the application's output changed while it was read",) if before != after else ()
    return OutputRead(records, changed)


def _listed(folders: Sequence[Path]) -> list[tuple[Path, int]]:
    """The files of the table and their sizes."""
    files = []
    for folder in folders:
        for path in table_files(folder) if folder.is_dir() else ():
            # A container's log names the paths inside of it.
            here = path if path.exists() else folder / path.name
            files.append((here, here.stat().st_size))
    return files


def parquet_rows(path: Path) -> TableRows:
    """The rows of a Parquet file."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_ROWS):
            yield [(columns, None) for columns in batch.to_pylist()]


def line_rows(path: Path) -> TableRows:
    """The lines of a file, each the column `value` of a row."""
    rows: list[tuple[dict[str, Any], int | None]] = []
    with path.open("rb") as file:
        while line := file.readline(_MOST_LINE_BYTES):
            rows.append(({"value": line.rstrip(b"\r\n")}, None))
            if len(rows) == _ROWS:
                yield rows
                rows = []
    if rows:
        yield rows
