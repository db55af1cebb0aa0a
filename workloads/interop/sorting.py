"""Sorts more rows than fit into memory: sorted parts on disk are merged."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

PART_ROWS = 1 << 20
_BATCH_ROWS = 1 << 14

SortKey = tuple[int, ...]


def in_order(tables: Iterable[pa.Table], folder: Path, part_rows: int = PART_ROWS) -> Iterator[SortKey]:
    """The rows of all tables, ascending by their columns from left to right.

    Args:
        tables: int64 columns without nulls, the same ones in each.
        folder: for scratch files; at least one part is held in memory, and a batch of each file.
        part_rows: the number of rows that are sorted at once.
    """
    files: list[Path] = []
    waiting: list[pa.Table] = []
    rows = 0
    for table in tables:
        waiting.append(table)
        rows += table.num_rows
        if rows >= part_rows:
            files.append(_spilled(waiting, folder / f"part-{len(files):05d}.arrow"))
            waiting, rows = [], 0
    if waiting:
        files.append(_spilled(waiting, folder / f"part-{len(files):05d}.arrow"))
    return heapq.merge(*(_rows(path) for path in files))


def _spilled(tables: list[pa.Table], path: Path) -> Path:
    table = pa.concat_tables(tables)
    ordered = table.sort_by([(name, "ascending") for name in table.column_names])
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(ordered, max_chunksize=_BATCH_ROWS)
    return path


def _rows(path: Path) -> Iterator[SortKey]:
    with pa.memory_map(str(path)) as stream:
        reader = pa.ipc.open_file(stream)
        for index in range(reader.num_record_batches):
            batch = reader.get_batch(index)
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
