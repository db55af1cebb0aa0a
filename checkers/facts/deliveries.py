"""What live readers and consumer groups were given: where they went back, got something again, or passed it
over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from checkers.facts.columns import NULL, ColumnBatch, Ints, integers, nullable, spots
from checkers.facts.offsets import NOTHING, Ranges, unpacked
from checkers.facts.tasks import answer
from harness.model.storage import open_parquet, place, write_parquet

BACK, AGAIN, PASSED = range(3)
"""Kinds of deliveries: an offset not above the one before it, one given more than once, some passed over."""

DELIVERIES = pa.schema(
    [
        ("kind", pa.int32()),
        ("unit", pa.int32()),
        ("reader", pa.int32()),
        ("session", pa.int32()),
        ("spot", pa.int64()),
        ("offset", pa.int64()),
        ("count", pa.int64()),
        ("before", pa.int64()),
        ("run", pa.int64()),
        ("producer", pa.int32()),
        ("seq", pa.int64()),
    ]
)
"""One row a delivery to tell of. `unit` is the group or the reader without one (index into the units),
`reader` the reader (null: the group as a whole). `offset` is where it went back to, got again, or the
first one that it passed over; `count` how many times it was given, or how many offsets were passed over;
`before` the offset before it. Identity is the delivered record's (null: not known)."""

_COLUMNS = ["topic", "partition", "offset", "run", "producer", "seq", "session", "position"]
_NAMES = ("spot", "offset", "run", "producer", "seq", "session", "position", "reader")
SHARE_ROWS = 8_000_000


@dataclass(frozen=True)
class Unit:
    """A consumer group with its readers, or one reader without a group. Readers go by number and files."""

    name: str
    group: bool
    committed: bool
    readers: tuple[tuple[int, str, tuple[str, ...]], ...]
    rows: int


@dataclass(frozen=True)
class DeliveryTask:
    """For `mapInArrow` over the numbers of shares, each a unit and some of its partitions."""

    units: tuple[Unit, ...]
    shares: tuple[tuple[int, int, int], ...]
    """Unit, and which of how many parts of its partitions."""
    topics: Mapping[str, int]
    commits: tuple[str, ...]
    index: str
    index_committed: str
    target: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield answer(str(self.tell(index)).encode())

    def tell(self, index: int) -> int:
        """Write what there is to tell of a share; returns how many rows."""
        number, part, parts = self.shares[index]
        unit = self.units[number]
        rows = ColumnBatch.joined(
            [
                _rows(path, reader, self.topics, part, parts)
                for reader, _, paths in unit.readers
                for path in paths
            ],
            _NAMES,
        )
        held = unpacked(place(self.index_committed if unit.committed else self.index).read_bytes())
        there = {
            spot: _both(held.readable.get(spot, NOTHING), held.bad.get(spot, NOTHING))
            for spot in {*held.readable, *held.bad}
        }
        told = [_went_back(rows)]
        if unit.group:
            told += [_again(rows), _passed_by_group(rows, there, self._committed_to(unit))]
        else:
            told.append(_passed_by_reader(rows, there))
        found = ColumnBatch.joined(told, [name for name in DELIVERIES.names if name != "unit"])
        if len(found):
            columns = found.columns | {"unit": np.full(len(found), number)}
            arrays = [nullable(columns[field.name], field.type) for field in DELIVERIES]
            table = pa.Table.from_arrays(arrays, schema=DELIVERIES)
            write_parquet(table, place(self.target) / f"part-{index:06}.parquet")
        return len(found)

    def _committed_to(self, unit: Unit) -> dict[int, int]:
        """By spot the highest offset that the unit's readers committed."""
        names = {name for _, name, _ in unit.readers}
        highest: dict[int, int] = {}
        for path in self.commits:
            with open_parquet(path) as file:
                table = file.read(columns=["reader", "topic", "partition", "offset", "error"])
            good = [
                reader in names and error is None
                for reader, error in zip(
                    table.column("reader").to_pylist(), table.column("error").to_pylist(), strict=True
                )
            ]
            table = table.filter(pa.array(good, pa.bool_()))
            where = spots(table.column("topic"), table.column("partition"), self.topics)
            for spot, offset in zip(where.tolist(), integers(table.column("offset")).tolist(), strict=True):
                highest[spot] = max(offset, highest.get(spot, NULL))
        return highest


def _rows(path: str, reader: int, topics: Mapping[str, int], part: int, parts: int) -> ColumnBatch:
    with open_parquet(path, read_dictionary=["topic"], memory_map=True) as file:
        table = file.read(columns=_COLUMNS, use_threads=False)
    columns = {name: integers(table.column(name)) for name in _COLUMNS[2:]}
    columns["spot"] = spots(table.column("topic"), table.column("partition"), topics)
    columns["reader"] = np.full(table.num_rows, reader, np.int64)
    rows = ColumnBatch({name: columns[name] for name in _NAMES})
    return rows if parts == 1 else rows.where(columns["spot"] % parts == part)


def _both(one: Ranges, other: Ranges) -> Ranges:
    if not len(other.start):
        return one
    return Ranges(np.concatenate([one.start, other.start]), np.concatenate([one.end, other.end])).merged()


def _in_order(rows: ColumnBatch) -> tuple[ColumnBatch, Ints]:
    """Rows by reader, session and partition as they were given, and the indices of those that follow
    another."""
    rows = rows.where(np.flatnonzero(rows["position"] != NULL))
    order = np.lexsort((rows["position"], rows["spot"], rows["session"], rows["reader"]))
    rows = rows.where(order)
    same = np.ones(max(0, len(rows) - 1), bool)
    for name in ("spot", "session", "reader"):
        same &= rows[name][1:] == rows[name][:-1]
    return rows, np.flatnonzero(same) + 1


def _told(kind: int, rows: ColumnBatch, **columns: Any) -> ColumnBatch:
    """Rows of DELIVERIES; what `columns` do not give comes from `rows`."""
    count = len(columns["offset"]) if "offset" in columns else len(rows)
    nothing = np.full(count, NULL, np.int64)
    names = [name for name in DELIVERIES.names if name not in ("unit", "kind")]
    given = {name: columns[name] if name in columns else rows.columns.get(name, nothing) for name in names}
    return ColumnBatch({"kind": np.full(count, kind, np.int64), **given})


def _went_back(rows: ColumnBatch) -> ColumnBatch:
    rows, follow = _in_order(rows)
    back = follow[rows["offset"][follow] <= rows["offset"][follow - 1]]
    return _told(BACK, rows.where(back), before=rows["offset"][back - 1], count=np.ones(len(back), np.int64))


def _again(rows: ColumnBatch) -> ColumnBatch:
    order = np.lexsort((rows["seq"], rows["producer"], rows["run"], rows["offset"], rows["spot"]))
    rows = rows.where(order)
    new = np.ones(len(rows), bool)
    new[1:] = (rows["spot"][1:] != rows["spot"][:-1]) | (rows["offset"][1:] != rows["offset"][:-1])
    first = np.flatnonzero(new)
    count = np.diff(np.append(first, len(rows)))
    several = count > 1
    nobody = np.full(int(several.sum()), NULL, np.int64)
    return _told(AGAIN, rows.where(first[several]), count=count[several], reader=nobody, session=nobody)


def _passed_by_reader(rows: ColumnBatch, there: Mapping[int, Ranges]) -> ColumnBatch:
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
    return _passed(found)


def _passed_by_group(
    rows: ColumnBatch, there: Mapping[int, Ranges], commits: Mapping[int, int]
) -> ColumnBatch:
    found: list[tuple[int, ...]] = []
    for spot in np.unique(rows["spot"]).tolist():
        given = Ranges.of(rows["offset"][rows["spot"] == spot])
        last = max(int(given.end[-1]), commits.get(spot, NULL + 1) - 1)
        missing = there.get(spot, NOTHING).between(int(given.start[0]), last).without(given)
        found += [
            (NULL, NULL, spot, start, end - start + 1)
            for start, end in zip(missing.start.tolist(), missing.end.tolist(), strict=True)
        ]
    return _passed(found)


def _passed(found: Sequence[tuple[int, ...]]) -> ColumnBatch:
    columns = np.array(found, np.int64).reshape(len(found), 5).T
    names = ("reader", "session", "spot", "offset", "count")
    return _told(PASSED, ColumnBatch.empty(()), **dict(zip(names, columns, strict=True)))
