"""Is the new worse than the base? An exact test for each measure, and a level shared by many tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checkers.statistics.rates import Floats

ALPHA = 0.05
EXACT_WAYS = 200_000
DRAWS = 100_000


@dataclass(frozen=True, slots=True)
class RankTest:
    """`p`: the probability that the new side looks at least this much worse by chance alone. `least`: the
    smallest p that is possible with these numbers of runs and these ties."""

    p: float
    least: float


def rank_test(new: Sequence[float], base: Sequence[float], *, seed: int = 0) -> RankTest:
    """One-sided permutation test of rank sums (Wilcoxon, 1945; Mann and Whitney, 1947): are values of the new
    runs higher than those of the base?

    Conditional on the values seen, so ties are exact; of values that are 0 or 1 it is Fisher's exact test,
    one-sided. All assignments of the values to the sides are counted by dynamic programming over doubled
    mid-ranks if there are at most EXACT_WAYS or both sides have at most 50 runs; above that DRAWS are drawn
    by `seed`, with (1 + hits) / (1 + DRAWS) (Phipson and Smyth, 2010). No runs on a side: p = 1. scipy's is
    approximate where values are tied (findings/scipy-p-below-the-least-possible.sh).
    """
    from scipy.stats import rankdata

    if not len(new) or not len(base):
        return RankTest(1.0, 1.0)
    ranks = np.rint(2 * rankdata([*new, *base])).astype(np.int64)
    observed, size = int(ranks[: len(new)].sum()), len(new)
    highest = int(np.sort(ranks)[-size:].sum())
    if len(ranks) <= 100 or math.comb(len(ranks), size) <= EXACT_WAYS:
        ways = _ways(ranks, size)
        p, least = (float(ways[rank_sum:].sum() / ways.sum()) for rank_sum in (observed, highest))
    else:
        generator = np.random.default_rng(seed)
        sums = np.array([generator.permutation(ranks)[:size].sum() for _ in range(DRAWS)])
        p, least = (float((1 + (sums >= rank_sum).sum()) / (1 + DRAWS)) for rank_sum in (observed, highest))
    return RankTest(p, least)


def _ways(ranks: NDArray[np.int64], size: int) -> Floats:
    """The number of ways in which `size` of the ranks add up to each sum."""
    most = int(ranks.sum())
    table = np.zeros((size + 1, most + 1))
    table[0, 0] = 1
    for rank in ranks:
        table[1:, rank:] += table[:-1, : most + 1 - rank].copy()
    ways: Floats = table[size]
    return ways


def shared_level(least: Sequence[float], alpha: float = ALPHA) -> tuple[float, int]:
    """The level of each of many tests with which all together give a false alarm with probability at most
    `alpha`, and the number of tests that are counted.

    Tarone (Biometrics 46, 1990, 515-522): a test that cannot reach the level with any outcome cannot give
    a false alarm, and is not counted. So arms without any loss do not lower the level of arms with loss.
    """
    for count in range(1, len(least) + 1):
        level = alpha / count
        if sum(lowest <= level for lowest in least) <= count:
            return level, count
    return (alpha / len(least) if least else alpha), len(least)


def runs_needed(tests: int, alpha: float = ALPHA) -> int:
    """Runs per side from which on one of `tests` tests can be significant if every new value is above all
    old."""
    runs = 1
    while 1 / math.comb(2 * runs, runs) > alpha / max(1, tests):
        runs += 1
    return runs
