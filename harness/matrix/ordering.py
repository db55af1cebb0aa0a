"""Which runs come next. Pure: the same seed gives the same order."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from harness.matrix.spec import Repeats

ClusterKey = TypeVar("ClusterKey", bound=Hashable)


def in_round(
    arms: Sequence[str],
    cluster_of: Callable[[str], ClusterKey],
    seed: int,
    repeat: int,
    up: ClusterKey | None,
) -> list[str]:
    """The arms of one round in random order, those that share a cluster together.

    A round has each arm once, so that what changes with time (a busier machine, a warmer disk) affects all
    arms alike. Arms of the cluster that is `up` come first: that saves a start, and reverses the order of
    clusters from round to round.
    """
    generator = random.Random(f"{seed}/{repeat}")
    shuffled = sorted(arms)
    generator.shuffle(shuffled)
    clusters = list(dict.fromkeys(cluster_of(arm) for arm in shuffled))
    clusters.sort(key=lambda one: one != up)
    return [arm for cluster in clusters for arm in shuffled if cluster_of(arm) == cluster]


def is_due(repeats: Repeats, repeat: int, width: float) -> bool:
    """Whether an arm takes part in a round (from 0); `width` is that of the interval of its share of runs
    with loss after the rounds before."""
    if repeat < repeats.at_least:
        return True
    if repeat >= repeats.most:
        return False
    return repeats.narrower_than is None or width > repeats.narrower_than
