"""Which nodes do not hear each other: pure functions from nodes to cuts, after the grudges of Jepsen's
nemesis."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import permutations
from typing import Literal

from faults.network.links import Link
from faults.network.links import between as links_between

Lost = Literal["both", "from_to", "to_from"]
"""Which packets between two sides are lost."""


def between(here: Iterable[int], there: Iterable[int], lost: Lost = "both") -> frozenset[Link]:
    """Cuts between two sides; nodes of the same side hear each other, and no node is cut from itself."""
    forth = frozenset(links_between(here, there))
    back = frozenset(cut.back for cut in forth)
    return {"both": forth | back, "from_to": forth, "to_from": back}[lost]


def ring(nodes: Collection[int]) -> frozenset[Link]:
    """Each node hears only its two neighbours by id; the lowest and the highest are neighbours. With three
    nodes or fewer all are neighbours, and nothing is cut."""
    positions = {node: position for position, node in enumerate(sorted(set(nodes)))}
    apart = len(positions) - 1
    return frozenset(
        Link(one, two)
        for one, two in permutations(positions, 2)
        if 1 < abs(positions[one] - positions[two]) < apart
    )


def bridge(nodes: Collection[int], via: Collection[int]) -> frozenset[Link]:
    """Two halves by id that do not hear each other; the nodes of `via` hear, and are heard by, all nodes."""
    here, there = halves(nodes, via)
    return between(here, there)


def halves(nodes: Collection[int], via: Collection[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The nodes except those of `via`, ascending, in two halves; the second has one more of an odd number."""
    rest = sorted(set(nodes) - set(via))
    return tuple(rest[: len(rest) // 2]), tuple(rest[len(rest) // 2 :])


def middle(nodes: Collection[int]) -> int:
    """The node that connects both halves by default: the middle one by id."""
    return sorted(set(nodes))[(len(set(nodes)) - 1) // 2]
