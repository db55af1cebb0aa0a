"""Which records of a block are late: one that was sent later has a lower offset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.facts.columns import MOST, Flags, Ints
from checkers.facts.places import Places, ranked


@dataclass(frozen=True)
class Edge:
    """The least and the greatest first offset of one producer's records in one spot, within a block."""

    producer: int
    spot: int
    least: int
    most: int


def late_records(
    places: Places, first: Ints, spot_at: Ints, later: dict[tuple[int, int], int]
) -> tuple[Flags, list[Edge]]:
    """Which records are late: a record of the same producer and spot with a higher seq has a lower offset.

    Args:
        first: by place, the first offset of the record (`MOST`: it was not read).
        spot_at: by place, the spot that it was sent to.
        later: as for `checkers.facts.block.select_anomalous`.
    """
    late: Flags = np.zeros(places.size, bool)
    present = np.flatnonzero(first != MOST)
    if not len(present):
        return late, []
    many, spot_rank = ranked(spot_at if len(present) == len(spot_at) else spot_at[present])
    group = places.group(present) * len(many) + spot_rank
    groups = len(places.producers()) * len(many)
    # numpy sorts 16-bit numbers by radix sort, which takes a fraction of the time of a general sort.
    order = np.argsort(group.astype(np.uint16) if groups <= 65_536 else group, kind="stable")
    group, present = group[order], present[order]
    offset = first[present]
    starts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    least, most = np.minimum.reduceat(offset, starts), np.maximum.reduceat(offset, starts)
    names = [
        (int(places.producers()[number // len(many)]), int(many[number % len(many)]))
        for number in group[starts].tolist()
    ]
    falls = np.flatnonzero((offset[1:] < offset[:-1]) & (group[1:] == group[:-1]))
    troubled = set(np.unique(np.searchsorted(starts, falls, "right") - 1).tolist())
    beyond = [later.get(name, MOST) for name in names]
    troubled |= {index for index, bound in enumerate(beyond) if bound < most[index]}
    for index in troubled:
        end = int(starts[index + 1]) if index + 1 < len(starts) else len(group)
        rows = slice(int(starts[index]), end)
        after = np.concatenate([offset[rows], [beyond[index]]])
        lowest_after = np.minimum.accumulate(after[::-1])[::-1][1:]
        late[present[rows][offset[rows] > lowest_after]] = True
    edges = [
        Edge(*name, low, high) for name, low, high in zip(names, least.tolist(), most.tolist(), strict=True)
    ]
    return late, edges
