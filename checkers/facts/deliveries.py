"""Deliveries with an anomaly: a live reader or consumer group went back, got a record again or skipped
some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from checkers.facts.columns import NULL, ColumnBatch, Ints, integers, nullable, spots
from checkers.facts.offsets import NOTHING, Ranges, index_from_bytes
from checkers.facts.tasks import answer_batch
from harness.model.storage import open_parquet, place, write_parquet

WENT_BACK, REDELIVERED, SKIPPED = range(3)
"""Kinds of deliveries: an offset not above the previous one, one delivered more than once, skipped
offsets."""

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
"""One row per delivery with an anomaly.

`unit` is the group, or the reader without a group (index into the units), `reader` the reader (null: the
group as a whole). `offset` is the one that it went back to, the one that was delivered again, or the first
skipped one; `count` is the number of deliveries or of skipped offsets; `before` is the previous offset.
`run`, `producer` and `seq` identify the delivered record (null: not known)."""

_COLUMNS = ["topic", "partition", "offset", "run", "producer", "seq", "session", "position"]
_NAMES = ("spot", "offset", "run", "producer", "seq", "session", "position", "reader")
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
class DeliveryTask:
    """For `mapInArrow` over the numbers of shares; a share is a unit and some of its partitions."""

    units: tuple[Unit, ...]
    shares: tuple[tuple[int, int, int], ...]
    """Index of the unit, and which of how many parts of its partitions."""
    topics: Mapping[str, int]
    commits: tuple[str, ...]
    index: str
    index_committed: str
    target: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield answer_batch(str(self.write_share(index)).encode())

    def write_share(self, index: int) -> int:
        """Write the rows of `DELIVERIES` of a share; returns their number."""
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
        index_of_read = index_from_bytes(
            place(self.index_committed if unit.committed else self.index).read_bytes()
        )
        there = {
            spot: _union(index_of_read.readable.get(spot, NOTHING), index_of_read.bad.get(spot, NOTHING))
            for spot in {*index_of_read.readable, *index_of_read.bad}
        }
        anomalies = [_went_back(rows)]
        if unit.group:
            anomalies += [_redelivered(rows), _skipped_by_group(rows, there, self._committed_to(unit))]
        else:
            anomalies.append(_skipped_by_reader(rows, there))
        found = ColumnBatch.joined(anomalies, [name for name in DELIVERIES.names if name != "unit"])
        if len(found):
            columns = found.columns | {"unit": np.full(len(found), number)}
            arrays = [nullable(columns[field.name], field.type) for field in DELIVERIES]
            table = pa.Table.from_arrays(arrays, schema=DELIVERIES)
            write_parquet(table, place(self.target) / f"part-{index:06}.parquet")
        return len(found)

    def _committed_to(self, unit: Unit) -> dict[int, int]:
        """The highest offset that the unit's readers committed, by spot."""
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
    names = [name for name in DELIVERIES.names if name not in ("unit", "kind")]
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
