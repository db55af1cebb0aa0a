"""The share of runs in which something happens: k of n, at 95 % confidence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval; `high` None: it has no upper bound."""

    low: float
    high: float | None


@dataclass(frozen=True, slots=True)
class Share:
    """`k` of `n`, with its interval. `one_sided`: k is 0 or n, and the other end is a one-sided bound of the
    full confidence."""

    k: int
    n: int
    interval: Interval
    one_sided: bool


def share_of(k: int, n: int) -> Share:
    """The share behind k of n independent runs, by Clopper and Pearson (Biometrika 26, 1934, 404-413).

    It never covers the truth less often than it says, whatever the truth is. Where nothing was seen (k = 0)
    all of the error is on one side: the bound is 1 - alpha^(1/n), exactly, of which the rule of three (3/n
    for 95 %) is the well-known approximation (Hanley and Lippman-Hand, JAMA 249, 1983, 1743); with k = n the
    same from below. Without runs: 0 to 1.

    Raises:
        ValueError: not 0 <= k <= n.
    """
    if n > 0 and k in (0, n):
        bound = (1 - CONFIDENCE) ** (1 / n)
        return Share(k, n, Interval(bound, 1.0) if k else Interval(0.0, 1 - bound), one_sided=True)
    return Share(k, n, Interval(*binomial_interval(k, n, "exact")), one_sided=False)


def difference(k_new: int, n_new: int, k_base: int, n_base: int) -> tuple[float, Interval]:
    """Share of the new less share of the base, with Newcombe's hybrid score interval.

    Method 10 of Newcombe, Statistics in Medicine 17 (1998) 873-890: square-and-add of two Wilson
    intervals. It is shown to people; `comparison` decides. Without runs on a side: 0, from -1 to 1.
    """
    new_low, new_high = binomial_interval(k_new, n_new, "wilson")
    base_low, base_high = binomial_interval(k_base, n_base, "wilson")
    if not n_new or not n_base:
        return 0.0, Interval(-1.0, 1.0)
    new, base = k_new / n_new, k_base / n_base
    gap = new - base
    down = math.hypot(new - new_low, base_high - base)
    up = math.hypot(new_high - new, base - base_low)
    return gap, Interval(max(-1.0, gap - down), min(1.0, gap + up))


@cache
def binomial_interval(k: int, n: int, method: Literal["exact", "wilson"]) -> tuple[float, float]:
    """The two-sided interval: "exact", that of Clopper and Pearson with half of the error on each side, for
    k = 0 and k = n too (as tables have it), or Wilson's score interval (JASA 22, 1927, 209-212).

    0 to 1 for no runs. Cached: scipy searches for the exact one, some milliseconds each.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no share")
    if n == 0:
        return 0.0, 1.0
    # Imported when it is needed, here and beside: it takes more than a second.
    from scipy.stats import binomtest

    found = binomtest(k, n).proportion_ci(CONFIDENCE, method=method)
    return float(found.low), float(found.high)
