"""What journals are made of: Parquet files that are either complete or absent, a thread that flushes them at
regular times, and an end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from harness.model.errors import JournalError
from harness.model.journal import UNREADABLE

FLUSH_SECONDS = 0.8
"""Seconds between flushes: with the time for writing, a crash loses at most the last second."""

GROUP_ROWS = 131_072
"""Rows per row group, the smallest part of a file that one Spark task reads."""


def parquet_options(schema: pa.Schema) -> dict[str, Any]:
    """Options for writing Parquet: integers delta-encoded, since most columns ascend, strings with
    dictionaries.

    Measured on sends: a quarter of the time and of the bytes of Arrow's defaults. Spark can read it.
    """
    return {
        "compression": "zstd",
        "use_dictionary": [field.name for field in schema if pa.types.is_string(field.type)],
        "column_encoding": {
            field.name: "DELTA_BINARY_PACKED" for field in schema if field.type in (pa.int32(), pa.int64())
        },
    }


def write_atomic(table: pa.Table, target: Path) -> None:
    """Write `table` so that a reader of `target` sees either all of it or the previous file.

    The name of the temporary file starts with a dot: Spark and Arrow skip such files in a folder.

    Raises:
        JournalError: the file cannot be written.
    """
    scratch = target.with_name(f".{target.name}.tmp")
    with writing(target):
        pq.write_table(table, scratch, row_group_size=GROUP_ROWS, **parquet_options(table.schema))
        scratch.replace(target)


def writing(target: Path) -> AbstractContextManager[None]:
    """In this context a journal's file is written; raises JournalError if it cannot be."""
    return JournalError.for_errors(
        UNREADABLE,
        "a journal cannot be written",
        where=target,
        expected="a writable folder with free space",
        next_step="free space or choose another results folder, then run again",
    )


class PartWriter:
    """Writes `part-00000.parquet`, `part-00001.parquet`, ... into a folder, which it creates.

    In a folder that already holds parts it continues after the last one. `wrote` tells whether it has written
    one itself.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.wrote = False
        self._folder = folder
        taken = [int(path.stem.removeprefix("part-")) for path in folder.glob("part-*.parquet")]
        self._next = max(taken, default=-1) + 1

    def write(self, table: pa.Table) -> None:
        write_atomic(table, self._folder / f"part-{self._next:05d}.parquet")
        self._next += 1
        self.wrote = True


class Flusher:
    """Calls `flush` every `seconds` in a thread of its own until `close`.

    A JournalError of `flush` ends the thread and is raised again by `raise_if_failed` and `close`, so that a
    journal that cannot be written is always noticed.
    """

    def __init__(self, flush: Callable[[], None], name: str, seconds: float) -> None:
        self._flush = flush
        self._seconds = seconds
        self._stop = threading.Event()
        self._failure: JournalError | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._seconds):
            try:
                self._flush()
            except JournalError as error:
                self._failure = error
                return

    def raise_if_failed(self) -> None:
        """Raise the error that ended the thread, if any."""
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Stop the thread and raise its error, if any. The caller flushes last. Safe to call again."""
        self._stop.set()
        self._thread.join()
        self.raise_if_failed()


class ClosesAtEnd:
    """A context manager whose end calls `close`."""

    def close(self) -> object:
        """Subclasses say what this does."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
