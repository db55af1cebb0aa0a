"""Reads the Parquet journals of a run folder batch by batch: memory does not grow with the records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness.model.errors import JournalError, first_line
from harness.model.journal import FAULTS_FILE, UNREADABLE

PARTS = "part-*.parquet"
"""The finished files of a journal, as a pattern of the shell."""
BATCH_ROWS = 1 << 17
"""The most rows that one batch holds."""
JournalRow = dict[str, Any]
"""A row of a journal: its values by the names of their columns."""


def journal_batches(
    folder: Path, columns: Sequence[str] | None = None, pattern: str = PARTS
) -> Iterator[pa.Table]:
    """The rows of the journal in a folder, file by file in the order of their names; nothing if there is no
    file. `columns` are read, in this order (None: all); `pattern` says which files belong to the journal.

    Raises:
        JournalError: a file is damaged, or lacks one of `columns`.
    """
    for part in sorted(folder.glob(pattern)):
        yield from part_batches(part, columns)


def part_batches(part: Path, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """The rows of one file of a journal in tables of at most `BATCH_ROWS` rows.

    Raises:
        JournalError: the file is missing, damaged, or lacks one of `columns`; `found` has the cause.
    """
    wanted = None if columns is None else list(columns)
    try:
        with pq.ParquetFile(part) as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=wanted):
                table = pa.Table.from_batches([batch])
                yield table if wanted is None else table.select(wanted)
    except (*UNREADABLE, KeyError) as error:
        raise JournalError(
            "a journal cannot be read",
            where=str(part),
            found=first_line(error),
            next_step="restore the file from a copy of the run folder, or run the experiment again",
        ) from error


def journal_rows(
    folder: Path, columns: Sequence[str] | None = None, pattern: str = PARTS
) -> Iterator[dict[str, Any]]:
    """The rows of `journal_batches` as dictionaries."""
    for table in journal_batches(folder, columns, pattern):
        yield from table.to_pylist()


def count_rows(folder: Path, journal: pa.Schema, columns: Sequence[str]) -> list[dict[str, Any]]:
    """How many rows of the journal in a folder have the same values in these columns: a row for each, with
    `count_all`.

    Raises:
        JournalError: a file is damaged, or lacks one of `columns`.
    """
    none = journal.empty_table().select(list(columns))
    table = pa.concat_tables([none, *journal_batches(folder, columns)])
    counted: list[dict[str, Any]] = table.group_by(list(columns)).aggregate([([], "count_all")]).to_pylist()
    return counted


def fault_events(folder: Path) -> list[dict[str, Any]]:
    """The rows of the journal of faults of the run in `folder`.

    Raises:
        JournalError: the journal is missing or damaged.
    """
    return [row for table in part_batches(folder / FAULTS_FILE) for row in table.to_pylist()]


def reason_of(error: Exception) -> str:
    """Why a journal cannot be used: what the reader found, or the name and text of another error."""
    if isinstance(error, JournalError) and error.found is not None:
        return error.found
    return f"{type(error).__name__}: {error}"
