"""Deliveries with an anomaly: a live reader or consumer group went back, got a record again or skipped
some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.facts.columns import NULL, OTHER, ColumnBatch, Flags, Ints, codes, integers, spots
from checkers.facts.offsets import NOTHING, OffsetIndex, Ranges
from checkers.facts.tasks import RunContext
from harness.model.journal import ReadState
from harness.model.storage import open_parquet

WENT_BACK, REDELIVERED, SKIPPED = range(3)
"""Kinds of deliveries: an offset not above the previous one, one delivered more than once, skipped
offsets."""

DELIVERIES = (*("kind", "reader", "session", "spot", "offset", "count", "before", "run", "producer", "seq"),)
"""One row per delivery with an anomaly.

`reader` is the number of the reader (null: the group as a whole). `offset` is the one that it went back to,
the one that was delivered again, or the first skipped one; `count` is the number of deliveries or of skipped
offsets; `before` is the previous offset. `run`, `producer` and `seq` identify the delivered record (null: not
known)."""

DAMAGED_STATES = (ReadState.CORRUPT.value, ReadState.UNDECODABLE.value)
_STATES = {word: number for number, word in enumerate(DAMAGED_STATES)}
_COLUMNS = ["topic", "partition", "offset", "run", "producer", "seq", "key", "session", "position", "state"]
_NAMES = ("spot", "offset", "run", "producer", "seq", "key", "session", "position", "reader", "state")
SHARE_ROWS = 8_000_000


@dataclass(frozen=True)
class Unit:
    """A consumer group with its readers, or one reader without a group.

    `readers` has number, name and journal files of each; `committed`: one of them reads committed records
    only.
    """

    name: str
    group: bool
    committed: bool
    readers: tuple[tuple[int, str, tuple[str, ...]], ...]
    rows: int


@dataclass(frozen=True)
class Deliveries:
    """What readers of a unit got of some of its partitions: `anomalies` are rows of `DELIVERIES`, `damaged`
    the places at which a reader got a damaged value and the final read holds none, with the columns of
    `DAMAGED`."""

    anomalies: ColumnBatch
    damaged: ColumnBatch


DAMAGED = ("reader", "spot", "offset", "producer", "seq", "key", "state", "given")
"""`state` is an index into `DAMAGED_STATES`, `given` the number of deliveries."""


def deliveries_of(
    unit: Unit, part: int, parts: int, context: RunContext, commits: Sequence[str]
) -> Deliveries:
    """Anomalies among the deliveries to a unit, in one of several parts of its partitions."""
    rows = ColumnBatch.joined(
        [
            _rows(path, reader, context.numbers, part, parts)
            for reader, _, paths in unit.readers
            for path in paths
        ],
        _NAMES,
    )
    final = context.index()
    index_of_read = context.index("committed") if unit.committed else final
    there = {
        spot: _union(index_of_read.readable.get(spot, NOTHING), index_of_read.bad.get(spot, NOTHING))
        for spot in {*index_of_read.readable, *index_of_read.bad}
    }
    found = [_went_back(rows)]
    if unit.group:
        committed = _committed_to(unit, commits, context.numbers)
        found += [_redelivered(rows), _skipped_by_group(rows, there, committed)]
    else:
        found.append(_skipped_by_reader(rows, there))
    return Deliveries(ColumnBatch.joined(found, DELIVERIES), _damaged(rows, final))


def _damaged(rows: ColumnBatch, final: OffsetIndex) -> ColumnBatch:
    """One row per reader and place, of the first delivery there."""
    rows = rows.where(np.flatnonzero(rows["state"] >= 0))
    rows = rows.where(np.flatnonzero(~final.has(final.bad, rows["spot"], rows["offset"])))
    order = np.lexsort((rows["position"], rows["offset"], rows["spot"], rows["reader"]))
    rows = rows.where(order)
    new: Flags = np.ones(len(rows), bool)
    new[1:] = np.any([rows[name][1:] != rows[name][:-1] for name in ("reader", "spot", "offset")], axis=0)
    first = np.flatnonzero(new)
    given = np.diff(np.append(first, len(rows)))
    chosen = rows.where(first)
    return ColumnBatch({**{name: chosen[name] for name in DAMAGED[:-1]}, "given": given})


def _committed_to(unit: Unit, commits: Sequence[str], topics: Mapping[str, int]) -> dict[int, int]:
    """The highest offset that the unit's readers committed, by spot."""
    names = {name: number for number, name, _ in unit.readers}
    highest: dict[int, int] = {}
    for path in commits:
        with open_parquet(path) as file:
            table = file.read(columns=["reader", "topic", "partition", "offset", "error"])
        ours = codes(table.column("reader"), names) != OTHER
        good = np.flatnonzero(ours & (codes(table.column("error"), {}) == NULL))
        where = spots(table.column("topic"), table.column("partition"), topics)[good]
        for spot, offset in zip(where.tolist(), integers(table.column("offset"))[good].tolist(), strict=True):
            highest[spot] = max(offset, highest.get(spot, NULL))
    return highest


def _rows(path: str, reader: int, topics: Mapping[str, int], part: int, parts: int) -> ColumnBatch:
    with open_parquet(path, read_dictionary=["topic", "state"], memory_map=True) as file:
        table = file.read(columns=_COLUMNS, use_threads=False)
    columns = {name: integers(table.column(name)) for name in _COLUMNS[2:-1]}
    columns["state"] = codes(table.column("state"), _STATES)
    columns["spot"] = spots(table.column("topic"), table.column("partition"), topics)
    columns["reader"] = np.full(table.num_rows, reader, np.int64)
    rows = ColumnBatch({name: columns[name] for name in _NAMES})
    return rows if parts == 1 else rows.where(columns["spot"] % parts == part)


def _union(one: Ranges, other: Ranges) -> Ranges:
    if not len(other.start):
        return one
    return Ranges(np.concatenate([one.start, other.start]), np.concatenate([one.end, other.end])).merged()


def _in_order(rows: ColumnBatch) -> tuple[ColumnBatch, Ints]:
    """Rows in order of delivery by reader, session and partition, and the indices of those that follow
    another row of the same reader, session and partition."""
    rows = rows.where(np.flatnonzero(rows["position"] != NULL))
    order = np.lexsort((rows["position"], rows["spot"], rows["session"], rows["reader"]))
    rows = rows.where(order)
    same = np.ones(max(0, len(rows) - 1), bool)
    for name in ("spot", "session", "reader"):
        same &= rows[name][1:] == rows[name][:-1]
    return rows, np.flatnonzero(same) + 1


def _delivery_rows(kind: int, rows: ColumnBatch, **columns: Any) -> ColumnBatch:
    """Rows of DELIVERIES; a column that is not in `columns` comes from `rows`, or is null."""
    count = len(columns["offset"]) if "offset" in columns else len(rows)
    nothing = np.full(count, NULL, np.int64)
    names = [name for name in DELIVERIES if name != "kind"]
    values = {name: columns[name] if name in columns else rows.columns.get(name, nothing) for name in names}
    return ColumnBatch({"kind": np.full(count, kind, np.int64), **values})


def _went_back(rows: ColumnBatch) -> ColumnBatch:
    rows, follow = _in_order(rows)
    back = follow[rows["offset"][follow] <= rows["offset"][follow - 1]]
    return _delivery_rows(
        WENT_BACK, rows.where(back), before=rows["offset"][back - 1], count=np.ones(len(back), np.int64)
    )


def _redelivered(rows: ColumnBatch) -> ColumnBatch:
    order = np.lexsort((rows["seq"], rows["producer"], rows["run"], rows["offset"], rows["spot"]))
    rows = rows.where(order)
    new = np.ones(len(rows), bool)
    new[1:] = (rows["spot"][1:] != rows["spot"][:-1]) | (rows["offset"][1:] != rows["offset"][:-1])
    first = np.flatnonzero(new)
    count = np.diff(np.append(first, len(rows)))
    several = count > 1
    nobody = np.full(int(several.sum()), NULL, np.int64)
    return _delivery_rows(
        REDELIVERED, rows.where(first[several]), count=count[several], reader=nobody, session=nobody
    )


def _skipped_by_reader(rows: ColumnBatch, there: Mapping[int, Ranges]) -> ColumnBatch:
    rows, follow = _in_order(rows)
    found: list[tuple[int, ...]] = []
    gaps = follow[rows["offset"][follow] - 1 > rows["offset"][follow - 1]]
    for spot in np.unique(rows["spot"][gaps]).tolist():
        ranges = there.get(spot)
        if ranges is None:
            continue
        here = gaps[rows["spot"][gaps] == spot]
        low, high = rows["offset"][here - 1] + 1, rows["offset"][here] - 1
        some = np.searchsorted(ranges.end, low) < np.searchsorted(ranges.start, high, "right")
        for row, bottom, top in zip(
            here[some].tolist(), low[some].tolist(), high[some].tolist(), strict=True
        ):
            inner = ranges.between(bottom, top)
            found += [
                (int(rows["reader"][row]), int(rows["session"][row]), spot, start, end - start + 1)
                for start, end in zip(inner.start.tolist(), inner.end.tolist(), strict=True)
            ]
    return _skipped_rows(found)


def _skipped_by_group(
    rows: ColumnBatch, there: Mapping[int, Ranges], commits: Mapping[int, int]
) -> ColumnBatch:
    found: list[tuple[int, ...]] = []
    for spot in np.unique(rows["spot"]).tolist():
        delivered = Ranges.of(rows["offset"][rows["spot"] == spot])
        last = max(int(delivered.end[-1]), commits.get(spot, NULL + 1) - 1)
        missing = there.get(spot, NOTHING).between(int(delivered.start[0]), last).without(delivered)
        found += [
            (NULL, NULL, spot, start, end - start + 1)
            for start, end in zip(missing.start.tolist(), missing.end.tolist(), strict=True)
        ]
    return _skipped_rows(found)


def _skipped_rows(found: Sequence[tuple[int, ...]]) -> ColumnBatch:
    columns = np.array(found, np.int64).reshape(len(found), 5).T
    names = ("reader", "session", "spot", "offset", "count")
    return _delivery_rows(SKIPPED, ColumnBatch.empty(()), **dict(zip(names, columns, strict=True)))
