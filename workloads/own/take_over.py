"""Moves the journals of a folder of producers into those of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from harness.model.errors import JournalError
from harness.model.journal import OPEN_SENDS, SENDS, SENDS_DIR, TRANSACTIONS_DIR, RowSink
from harness.model.journal_reader import journal_batches, journal_rows, part_batches
from workloads.own.producer_folder import ProducerFolder, is_closed
from workloads.producer.send_journal import SendJournal


def without_end(file: Path) -> str:
    """The problem of a run with a file of events that lacks its last line."""
    return f"{file.name} does not end with `end`: what was sent last is not known"


def take_over(
    folder: ProducerFolder,
    journal: SendJournal,
    transactions: RowSink | None,
    change: Callable[[pa.Table], pa.Table] = lambda table: table,
) -> list[str]:
    """Add the rows of every producer to the run's journals; returns why it is not known what was sent.

    Args:
        transactions: None if the run expects none.
        change: changes each table of sends first.

    Raises:
        JournalError: the run's journals cannot be written.
    """
    problems = []
    for number, own in folder.producers().items():
        if not is_closed(own):
            problems.append(f"producer {number} has not closed its journal: what it sent last is not known")
        try:
            rows = list(journal_rows(own / TRANSACTIONS_DIR))
            for table in producer_rows(own, number):
                journal.add_rows(change(table))
        except JournalError as error:
            problems.append(str(error))
            continue
        if rows and transactions is None:
            problems.append(
                f"producer {number} wrote {len(rows):,} transactions, which the experiment does not expect: "
                "set `own: {transactional: true}` below `workload`"
            )
        elif transactions is not None:
            for row in rows:
                transactions.append(row)
    return problems


def producer_rows(folder: Path, number: int) -> Iterator[pa.Table]:
    """The SENDS rows of a producer's folder; those open when it ended are `indeterminate`.

    Raises:
        JournalError: a file is damaged, or holds rows of another producer.
    """
    closed: set[int] = set()
    waiting = folder / SENDS_DIR / OPEN_SENDS
    crashed = waiting.exists()
    for table in journal_batches(folder / SENDS_DIR):
        _refuse_foreign(table, folder, number)
        if crashed:
            closed.update(table["seq"].to_pylist())
        yield table
    if crashed:
        for table in part_batches(waiting):
            _refuse_foreign(table, folder, number)
            yield table.filter(pa.array([seq not in closed for seq in table["seq"].to_pylist()], pa.bool_()))


def _refuse_foreign(table: pa.Table, folder: Path, number: int) -> None:
    if table.schema.names != SENDS.names or pc.unique(table["producer"]).to_pylist() not in ([], [number]):
        raise JournalError(
            "a producer's journal cannot be used",
            where=str(folder),
            expected=f"sends of producer {number}",
            found="columns or producers of another journal",
            next_step="leave the folders of producers as their programs wrote them",
        )
