"""Is the new worse than the base? An exact test for each measure, and a level that many tests share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from checkers.statistics.rates import Floats

ALPHA = 0.05
EXACT_WAYS = 200_000
DRAWS = 100_000


@dataclass(frozen=True, slots=True)
class RankTest:
    """`p`: how often chance alone makes the new side look at least so much worse. `least`: the smallest p
    that runs in these numbers, with these ties, could have given."""

    p: float
    least: float


def rank_test(new: Sequence[float], base: Sequence[float], *, seed: int = 0) -> RankTest:
    """One-sided permutation test of rank sums (Wilcoxon, 1945; Mann and Whitney, 1947): are values of the new
    runs higher than those of the base?

    Conditional on the values seen, so ties are exact; of values that are 0 or 1 it is Fisher's exact test,
    one-sided. All ways to deal the values out are counted by dynamic programming over doubled mid-ranks when
    they are at most EXACT_WAYS or both sides have at most 50 runs; above that DRAWS are drawn by `seed`,
    with (1 + hits) / (1 + DRAWS) (Phipson and Smyth, 2010). No runs on a side: p = 1.
    """
    if not len(new) or not len(base):
        return RankTest(1.0, 1.0)
    ranks = np.rint(2 * rankdata([*new, *base])).astype(np.int64)
    observed, size = int(ranks[: len(new)].sum()), len(new)
    highest = int(np.sort(ranks)[-size:].sum())
    if len(ranks) <= 100 or math.comb(len(ranks), size) <= EXACT_WAYS:
        ways = _ways(ranks, size)
        total = float(ways.sum())
        return RankTest(float(ways[observed:].sum()) / total, float(ways[highest:].sum()) / total)
    generator = np.random.default_rng(seed)
    sums = np.array([int(generator.permutation(ranks)[:size].sum()) for _ in range(DRAWS)])
    return RankTest(
        float((1 + (sums >= observed).sum()) / (1 + DRAWS)),
        float((1 + (sums >= highest).sum()) / (1 + DRAWS)),
    )


def _ways(ranks: NDArray[np.int64], size: int) -> Floats:
    """In how many ways `size` of the ranks add up to each sum."""
    most = int(ranks.sum())
    table = np.zeros((size + 1, most + 1))
    table[0, 0] = 1
    for rank in ranks:
        table[1:, rank:] += table[:-1, : most + 1 - rank].copy()
    ways: Floats = table[size]
    return ways


def shared_level(least: Sequence[float], alpha: float = ALPHA) -> tuple[float, int]:
    """The level at which each of many tests may be judged so that all together give a false alarm at most as
    often as `alpha`, and how many tests it counts.

    Tarone (Biometrics 46, 1990, 515-522): a test that could not reach the level whatever happened cannot
    give a false alarm, and is not counted. So arms in which nothing was ever lost cost those nothing in
    which something was.
    """
    for count in range(1, len(least) + 1):
        level = alpha / count
        if sum(one <= level for one in least) <= count:
            return level, count
    return (alpha / len(least) if least else alpha), len(least)


def runs_needed(tests: int, alpha: float = ALPHA) -> int:
    """Runs a side below which not even all new above all base is told from chance by one of so many tests."""
    runs = 1
    while 1 / math.comb(2 * runs, runs) > alpha / max(1, tests):
        runs += 1
    return runs
