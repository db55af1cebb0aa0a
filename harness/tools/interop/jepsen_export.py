"""Writes a run folder as a history for another checker. Memory does not grow with the records."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from harness.model import group_journal, journal
from harness.model.errors import BadInput
from harness.model.journal_reader import journal_batches, journal_rows
from harness.model.run import RunMeta
from harness.tools.interop.jepsen import History, in_order
from harness.tools.interop.jepsen_events import (
    INFO,
    NEVER,
    TYPES,
    Legend,
    Poll,
    TransactionRanges,
    poll_events,
    read_events,
    send_events,
)


@dataclass(frozen=True, slots=True)
class Exported:
    """The number of lines written, and the readers left out because they may see uncommitted records."""

    lines: int
    left_out: tuple[str, ...]


def export_jepsen(folder: Path, target: Path) -> Exported:
    """Write a run as a history of `jepsen.tests.kafka` (EDN).

    For a transactional run only read_committed readers are written: to Jepsen an aborted record that is read
    is an anomaly. What transactions polled is part of these.

    Raises:
        JournalError: the folder or a journal cannot be read.
        BadInput: the file cannot be written.
    """
    meta = RunMeta.load(folder)
    readers = [reader for reader in meta.readers if reader.committed or not meta.transactional]
    left_out = tuple(reader.name for reader in meta.readers if reader not in readers)
    final = journal.COMMITTED_DIR if meta.transactional else journal.READS_DIR
    reads = [folder / final, *(folder / journal.LIVE_DIR / reader.name for reader in readers)]
    sends = journal_batches(folder / journal.SENDS_DIR, ["producer"], "*.parquet")
    producers = {producer for table in sends for producer in pc.unique(table["producer"]).to_pylist()}
    legend = Legend(meta.run_id, meta.topic, meta.partitions, producers)
    history = History(
        legend,
        frozenset(reader.name for reader in readers if reader.group is not None),
        _assigned(folder / group_journal.ASSIGNMENTS_DIR, legend),
    )
    with BadInput.for_os_errors(
        "the history cannot be written",
        where=target,
        expected="a file in a folder with free space",
        next_step="name another file",
    ):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".export-") as scratch:
            written = Path(scratch) / "history.edn"
            polling = {reader.name: reader.producer for reader in readers if reader.producer is not None}
            events = in_order(_events(folder, reads, legend, meta.transactional, polling), Path(scratch))
            lines = 0
            with written.open("w") as file:
                for lines, line in enumerate(history.lines(events), 1):  # noqa: B007
                    file.write(line + "\n")
            written.replace(target)
    return Exported(lines, left_out)


def _assigned(folder: Path, legend: Legend) -> dict[tuple[str, int], set[int]]:
    assigned: dict[tuple[str, int], set[int]] = {}
    for row in journal_rows(folder):
        if row["event"] == "assigned":
            key = legend.keys.number((row["topic"], row["partition"]))
            assigned.setdefault((row["reader"], row["session"]), set()).add(key)
    return assigned


def _events(
    folder: Path, reads: list[Path], legend: Legend, transactional: bool, polling: Mapping[str, int]
) -> Iterator[pa.Table]:
    transactions = _transactions(folder) if transactional else {}
    partitions = _partitions_read(folder, reads)
    for table in _sends(folder / journal.SENDS_DIR):
        yield send_events(table, legend, transactions, partitions)
    for path in reads:
        producer = polling.get(path.name) if path.parent.name == journal.LIVE_DIR else None
        polls = [] if producer is None else _polls(folder, producer, transactions)
        for table in journal_batches(path):
            yield read_events(table, legend) if producer is None else poll_events(table, legend, polls)


def _polls(folder: Path, producer: int, transactions: TransactionRanges) -> list[Poll]:
    rows = (row for row in journal_rows(folder / journal.TRANSACTIONS_DIR) if row["producer"] == producer)
    return sorted(
        (producer, row["polled_from"], row["polled"], row["txn"], *transactions[producer, row["txn"]])
        for row in rows
        if row.get("polled")
    )


def _transactions(folder: Path) -> dict[tuple[int, int], tuple[int, int, int]]:
    return {
        (row["producer"], row["txn"]): (
            row["begun_ns"],
            NEVER if row["ended_ns"] is None else row["ended_ns"],
            TYPES.get(row["outcome"], INFO),
        )
        for row in journal_rows(folder / journal.TRANSACTIONS_DIR)
    }


def _sends(folder: Path) -> Iterator[pa.Table]:
    """Every send once: those of `open.parquet` only if no part holds them."""
    opened = {(row["producer"], row["seq"]): row for row in journal_rows(folder, pattern=journal.OPEN_SENDS)}
    for table in journal_batches(folder):
        if opened:
            for which in zip(table["producer"].to_pylist(), table["seq"].to_pylist(), strict=True):
                opened.pop(which, None)
        yield table
    if opened:
        yield pa.Table.from_pylist(list(opened.values()), schema=journal.SENDS)


def _partitions_read(folder: Path, reads: list[Path]) -> dict[tuple[int, int], tuple[str, int]]:
    """The (topic, partition) where sends of unknown partition were read, by (producer, seq)."""
    wanted: set[tuple[int, int]] = set()
    for table in journal_batches(folder / journal.SENDS_DIR, ["producer", "seq", "partition"]):
        unknown = table.filter(pc.less(table["partition"], 0))
        wanted.update(zip(unknown["producer"].to_pylist(), unknown["seq"].to_pylist(), strict=True))
    partitions: dict[tuple[int, int], tuple[str, int]] = {}
    columns = ["topic", "partition", "producer", "seq"]
    for path in reads if wanted else ():
        for table in journal_batches(path, columns):
            rows = zip(*(table[name].to_pylist() for name in columns), strict=True)
            for topic, partition, producer, seq in rows:
                if (producer, seq) in wanted:
                    partitions.setdefault((producer, seq), (topic, partition))
    return partitions
