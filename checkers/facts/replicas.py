"""What the replicas' own segment files hold at each offset of a partition, broker beside broker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from checkers.facts.columns import MOST, NULL, WIDTH, ColumnBatch, Ints, codes, integers, spots
from checkers.facts.reading import tables
from checkers.journals.footers import RowGroup
from harness.model.journal import ReadState

HOLDINGS = ("offset", "broker", "held", "leader_holds", "as_leader", "all_alike", "within")
"""One row per broker and offset of a partition, ordered by broker, then offset: all brokers with a file of
the partition, and all offsets below the end that one of them holds.

These are flags: `held`, the broker holds a record there; `leader_holds`, the leader of the final read does;
`as_leader`, the two records are the same (checksum, identity, state and leader epoch); `all_alike`, all
brokers that hold a record there hold the same; `within`, the offset lies between the broker's own first and
last one."""

CHUNK_ROWS = 6_000_000
_STATES = {state.value: number for number, state in enumerate(ReadState)}
_PLACE = ["topic", "partition", "offset", "broker"]
_CONTENT = ["control", "leader_epoch", "run", "producer", "seq", "crc"]


@dataclass(frozen=True)
class ReplicaLog:
    """One partition (`spot`) in the replicas' files: its leader and its end by the final read, and the row
    groups that may hold it."""

    spot: int
    leader: int
    end_offset: int
    groups: tuple[RowGroup, ...]

    @classmethod
    def of(cls, spot: int, leader: int, end_offset: int, groups: Sequence[RowGroup]) -> ReplicaLog:
        partition = spot % WIDTH
        mine = tuple(group for group in groups if group.may_hold(partition, 0, end_offset - 1))
        return cls(spot, leader, end_offset, mine)


def holdings(log: ReplicaLog, topics: Mapping[str, int]) -> Iterator[ColumnBatch]:
    """The rows of `HOLDINGS`, in chunks of ascending offsets, so that memory does not grow with the log."""
    cuts = _cuts(log)
    if len(cuts) == 2:
        rows = _Rows.read(log, topics, *cuts)
        if len(rows.offset):
            yield _side_by_side(rows, log.leader, rows.spans())
        return
    ranges = list(pairwise(cuts))
    spans: dict[int, tuple[int, int]] = {}
    for low, high in ranges:
        for broker, (first, last) in _Rows.read(log, topics, low, high, content=False).spans().items():
            known = spans.get(broker, (first, last))
            spans[broker] = min(first, known[0]), max(last, known[1])
    for low, high in ranges:
        rows = _Rows.read(log, topics, low, high)
        if len(rows.offset):
            yield _side_by_side(rows, log.leader, spans)


def _cuts(log: ReplicaLog) -> list[int]:
    """Offsets that divide the log into chunks, from 0 to its end."""
    many = -(-sum(group.rows for group in log.groups) // CHUNK_ROWS)
    starts = [group.places[2] for group in log.groups if group.places is not None]
    low = min(starts, default=0)
    if many <= 1 or len(starts) < len(log.groups):
        return [0, log.end_offset]
    step = -(-(log.end_offset - low) // many)
    return sorted({0, *range(low + step, log.end_offset, step), log.end_offset})


@dataclass(frozen=True)
class _Rows:
    """Records of one partition in the replicas' files; `content` is a hash of each."""

    offset: Ints
    broker: Ints
    content: Ints

    @classmethod
    def read(
        cls, log: ReplicaLog, topics: Mapping[str, int], low: int, high: int, *, content: bool = True
    ) -> _Rows:
        """The records with offsets from `low`, and below `high`."""
        partition = log.spot % WIDTH
        groups = [group for group in log.groups if group.may_hold(partition, low, high - 1)]
        parts = [np.empty((3, 0), np.int64)]
        for _, table in tables(groups, [*_PLACE, "state", *_CONTENT] if content else _PLACE):
            offset = integers(table.column("offset"))
            here = spots(table.column("topic"), table.column("partition"), topics) == log.spot
            chosen = np.flatnonzero(here & (offset >= low) & (offset < high))
            hashed = _hash(table)[chosen] if content else np.zeros(len(chosen), np.int64)
            parts.append(np.stack([offset[chosen], integers(table.column("broker"))[chosen], hashed]))
        return cls(*np.concatenate(parts, axis=1))

    def spans(self) -> dict[int, tuple[int, int]]:
        """The first and the last offset of each broker."""
        return {
            broker: (int(mine.min()), int(mine.max()))
            for broker in np.unique(self.broker).tolist()
            for mine in [self.offset[self.broker == broker]]
        }


def _hash(table: Any) -> Ints:
    """64 bits that differ if the records do."""
    found = codes(table.column("state"), _STATES).view(np.uint64)
    for name in _CONTENT:
        # The finalizer of splitmix64.
        found = (found ^ integers(table.column(name)).view(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found ^= found >> np.uint64(31)
    return found.view(np.int64)


def _side_by_side(rows: _Rows, leader: int, spans: Mapping[int, tuple[int, int]]) -> ColumnBatch:
    offsets, at = np.unique(rows.offset, return_inverse=True)
    brokers = sorted(spans)
    least = np.full((len(brokers), len(offsets)), MOST)
    most = np.full((len(brokers), len(offsets)), NULL)
    rank = np.searchsorted(np.array(brokers), rows.broker)
    np.minimum.at(least, (rank, at), rows.content)
    np.maximum.at(most, (rank, at), rows.content)
    held = np.zeros(least.shape, bool)
    held[rank, at] = True
    nowhere = np.zeros(len(offsets), bool)
    of_leader = brokers.index(leader) if leader in brokers else None
    leader_holds = nowhere if of_leader is None else held[of_leader]
    standard = np.zeros(len(offsets), np.int64) if of_leader is None else most[of_leader]
    first, last = (np.array([spans[broker][side] for broker in brokers])[:, None] for side in (0, 1))
    columns = {
        "offset": np.broadcast_to(offsets, least.shape),
        "broker": np.broadcast_to(np.array(brokers)[:, None], least.shape),
        "held": held,
        "leader_holds": np.broadcast_to(leader_holds, least.shape),
        "as_leader": (least == standard) & (most == standard),
        "all_alike": np.broadcast_to(least.min(axis=0) == most.max(axis=0), least.shape),
        "within": (first < offsets) & (offsets < last),
    }
    return ColumnBatch({name: np.ravel(column) for name, column in columns.items()})
