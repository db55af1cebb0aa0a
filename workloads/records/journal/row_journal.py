"""Small journals that any thread writes row by row: cluster samples, fault events."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from workloads.records.journal.parquet_parts import (
    FLUSH_SECONDS,
    ClosesAtEnd,
    Flusher,
    PartWriter,
    write_atomic,
)


def _checked(row: Mapping[str, Any], schema: pa.Schema) -> dict[str, Any]:
    """A copy of `row` with exactly the schema's columns, so that a wrong row fails where it is appended."""
    unknown = row.keys() - set(schema.names)
    if unknown:
        raise ValueError(f"no such column: {', '.join(sorted(unknown))}; the journal has {schema.names}")
    missing = [field.name for field in schema if not field.nullable and row.get(field.name) is None]
    if missing:
        raise ValueError(f"column(s) {', '.join(missing)} must have a value")
    return {name: row.get(name) for name in schema.names}


class RowJournal(ClosesAtEnd):
    """Rows of `schema` as `part-*.parquet` in `folder`, one part about every second while rows arrive.

    Threads may share it. Use as a context manager or call `close`.
    """

    def __init__(self, folder: Path, schema: pa.Schema, *, flush_seconds: float = FLUSH_SECONDS) -> None:
        self._schema = schema
        self._rows: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._parts = PartWriter(folder)
        self._flusher = Flusher(self.flush, f"journal-{folder.name}", flush_seconds)

    def append(self, row: Mapping[str, Any]) -> None:
        """Append one row; absent nullable columns become null.

        Raises:
            ValueError: unknown column, or no value in one that must have it.
            JournalError: an earlier flush failed.
        """
        self._flusher.raise_if_failed()
        checked = _checked(row, self._schema)
        with self._lock:
            self._rows.append(checked)

    def flush(self) -> None:
        """Write the rows since the last part; without any, write nothing."""
        with self._writing:
            with self._lock:
                rows, self._rows = self._rows, []
            if rows:
                self._parts.write(pa.Table.from_pylist(rows, schema=self._schema))

    def close(self) -> None:
        """Write the rest. A journal without rows leaves one empty part, so that its schema is readable."""
        self._flusher.close()
        self.flush()
        if not self._parts.wrote:
            self._parts.write(self._schema.empty_table())


class TableFile(ClosesAtEnd):
    """A few rows in one Parquet file, which is rewritten for each row. Threads may share it.

    The file exists from the start, without rows.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._schema = schema
        self._rows: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        write_atomic(schema.empty_table(), path)

    def append(self, row: Mapping[str, Any]) -> None:
        """Append one row; it is on disk when this returns. Raises the errors of `RowJournal.append`."""
        checked = _checked(row, self._schema)
        with self._lock:
            self._rows.append(checked)
            write_atomic(pa.Table.from_pylist(self._rows, schema=self._schema), self._path)

    def close(self) -> None:
        """Does nothing, since each row is on disk already; for symmetry with `RowJournal`."""
