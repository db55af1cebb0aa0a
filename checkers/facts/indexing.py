"""Indexes of what a read holds, of its row groups one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from checkers.facts.columns import Flags, Ints
from checkers.facts.offsets import OffsetIndex, index_offsets, merge_indexes
from checkers.facts.reading import index_columns
from checkers.journals.footers import RowGroup

_INDEX_PARTS = 64
"""Number of indexes of row groups in memory before they are merged into one."""


@dataclass
class IndexOfRows:
    """Indexes these row groups of a read, by path and number, while they are read for something else."""

    wanted: frozenset[tuple[str, int]]
    topics: Mapping[str, int]
    parts: list[OffsetIndex] = field(default_factory=list)

    def add(self, group: RowGroup, table: pa.Table) -> None:
        if (group.path, group.number) not in self.wanted:
            return
        self.parts.append(index_offsets(*index_columns(table, self.topics)))
        if len(self.parts) >= _INDEX_PARTS:
            self.parts = [merge_indexes(self.parts)]


def index_of(parts: Iterable[tuple[Ints, Ints, Flags, Ints]]) -> OffsetIndex:
    """Index of these rows (spot, offset, readable, epoch), merged while they are read to save memory."""
    done: list[OffsetIndex] = []
    for part in parts:
        done.append(index_offsets(*part))
        if len(done) >= _INDEX_PARTS:
            done = [merge_indexes(done)]
    return merge_indexes(done)
