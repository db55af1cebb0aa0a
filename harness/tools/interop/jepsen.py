"""A history for Jepsen's `jepsen.tests.kafka` checker: operations in EDN, one per line, in order of time.

A Jepsen process does one operation at a time, while our producers have many sends in flight. So each producer
gets as many processes as it has sends in flight at once; a process whose send ended without an answer
(`:info`) is not used again, as in Jepsen. Each session of a reader is a separate process, since positions
continue only within a session.

There may be more operations than fit into memory: they are sorted in parts on disk, which are merged.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import count, groupby, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from harness.tools.interop.jepsen_events import COMPLETE, INFO, INVOKE, NEVER, NO_OFFSET, OK, POLLED, Legend

POLL_RECORDS = 1000
"""The most records of one poll operation."""
PART_ROWS = 1 << 20
_BATCH_ROWS = 1 << 14
_WORDS = (":ok", ":fail", ":info")
_TIME, _ORDER, _ACTOR, _GROUP = range(4)

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


class History:
    """Turns sorted events into lines.

    Args:
        legend: the meaning of the numbers in events.
        groups: names of readers that are members of a group.
        assigned: keys of (reader, session), where they are known.
    """

    def __init__(
        self,
        legend: Legend,
        groups: frozenset[str],
        assigned: Mapping[tuple[str, int], set[int]],
    ) -> None:
        self._legend = legend
        self._groups = groups
        self._assigned = assigned
        self._indexes = count()
        self._processes = count()
        self._free: dict[int, list[int]] = {}
        self._busy: dict[tuple[int, int], int] = {}
        self._readers: dict[int, int] = {}
        self._origin: int | None = None
        self._last = 0

    def lines(self, events: Iterable[SortKey]) -> Iterator[str]:
        """One line per begin or end of an operation, without a newline."""
        for (time, order, actor, group), rows in groupby(events, key=lambda row: row[: _GROUP + 1]):
            if self._origin is None:
                self._origin = time
            at = self._last = self._last if time == NEVER else time - self._origin
            if order == INVOKE:
                yield self._begin(at, actor, group, rows)
            elif order == COMPLETE:
                yield self._end(at, actor, group, rows)
            else:
                yield from self._polls(at, actor, rows)

    def _begin(self, at: int, actor: int, group: int, rows: Iterable[SortKey]) -> str:
        free = self._free.setdefault(actor, [])
        process = heapq.heappop(free) if free else next(self._processes)
        self._busy[actor, group] = process
        several = list(rows)
        parts = [f"[:send {row[5]} {row[7]}]" for row in several if row[4] < POLLED]
        polls = len(parts) < len(several)
        parts += ["[:poll]"] if polls else []
        return self._line(at, process, ":invoke", ":txn" if polls else ":send", f"[{' '.join(parts)}]")

    def _end(self, at: int, actor: int, group: int, rows: Iterable[SortKey]) -> str:
        process = self._busy.pop((actor, group))
        sends, polled, kind, error = [], [], INFO, 0
        for row in rows:
            kind, error = row[8], row[9] or error
            if row[4] >= POLLED:
                polled.append(row)
                continue
            offset = "nil" if row[6] == NO_OFFSET else row[6]
            sends.append(f"[:send {row[5]} {f'[{offset} {row[7]}]' if kind == OK else row[7]}]")
        if kind != INFO:
            heapq.heappush(self._free[actor], process)
        error_name = self._legend.errors.all[error]
        why = f", :error {json.dumps(error_name)}" if error_name else ""
        if polled:
            sends.append(f"[:poll {_by_key(polled)}]" if kind == OK else "[:poll]")
        name = ":txn" if polled else ":send"
        return self._line(at, process, _WORDS[kind], name, f"[{' '.join(sends)}]", why)

    def _polls(self, at: int, actor: int, rows: Iterable[SortKey]) -> Iterator[str]:
        if actor not in self._readers:
            self._readers[actor] = next(self._processes)
            yield from self._subscribe(at, actor)
        process = self._readers[actor]
        rest = iter(rows)
        while records := list(islice(rest, POLL_RECORDS)):
            yield self._line(at, process, ":invoke", ":poll", "[[:poll]]")
            yield self._line(at, process, ":ok", ":poll", f"[[:poll {_by_key(records)}]]")

    def _subscribe(self, at: int, actor: int) -> Iterator[str]:
        _, reader, session = self._legend.actors.all[actor]
        keys = self._assigned.get((reader, session), range(len(self._legend.keys.all)))
        how = ":subscribe" if reader in self._groups else ":assign"
        value = f"[{' '.join(str(key) for key in sorted(keys))}]"
        more = ", :seek-to-beginning? true" if session < 0 else ""
        for word in (":invoke", ":ok"):
            yield self._line(at, self._readers[actor], word, how, value, more)

    def _line(self, at: int, process: int, kind: str, what: str, value: str, more: Any = "") -> str:
        return (
            f"{{:index {next(self._indexes)}, :time {at}, :process {process}, :type {kind}, :f {what}, "
            f":value {value}{more}}}"
        )


def _by_key(rows: Iterable[SortKey]) -> str:
    """The records that were polled, as a map from keys to vectors of [offset value]."""
    by_key: dict[int, list[str]] = {}
    for row in rows:
        by_key.setdefault(row[5], []).append(f"[{row[6]} {row[7]}]")
    polled = " ".join(f"{key} [{' '.join(pairs)}]" for key, pairs in by_key.items())
    return f"{{{polled}}}"
