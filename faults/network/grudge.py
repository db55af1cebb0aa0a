"""Who does not hear whom: pure functions from nodes to cuts, after the grudges of Jepsen's nemesis."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import permutations
from typing import Literal

from faults.network.rules import LinkCut

Lost = Literal["both", "from_to", "to_from"]
"""Which packets between two sides are lost."""


def between(here: Iterable[int], there: Iterable[int], lost: Lost = "both") -> frozenset[LinkCut]:
    """Cuts between two sides; nodes of the same side hear each other, and nobody is cut from itself."""
    other = tuple(there)
    forth = {LinkCut(one, two) for one in here for two in other if one != two}
    back = {cut.back for cut in forth}
    return frozenset({"both": forth | back, "from_to": forth, "to_from": back}[lost])


def ring(nodes: Collection[int]) -> frozenset[LinkCut]:
    """Each node hears only its two neighbours by id, the lowest and the highest being neighbours. With three
    nodes or fewer all are neighbours: nothing is cut."""
    places = {node: place for place, node in enumerate(sorted(set(nodes)))}
    apart = len(places) - 1
    return frozenset(
        LinkCut(one, two)
        for one, two in permutations(places, 2)
        if 1 < abs(places[one] - places[two]) < apart
    )


def bridge(nodes: Collection[int], via: Collection[int]) -> frozenset[LinkCut]:
    """Two halves by id that do not hear each other, while the nodes of `via` hear and are heard by all."""
    here, there = halves(nodes, via)
    return between(here, there)


def halves(nodes: Collection[int], via: Collection[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The nodes but those of `via`, ascending, in two halves; of an odd number the second has one more."""
    rest = sorted(set(nodes) - set(via))
    return tuple(rest[: len(rest) // 2]), tuple(rest[len(rest) // 2 :])


def middle(nodes: Collection[int]) -> int:
    """The node that both halves meet in if nothing else is said: the middle one by id."""
    return sorted(set(nodes))[(len(set(nodes)) - 1) // 2]
