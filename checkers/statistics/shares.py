"""The share of runs in which something happens: k of n."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval; `high` None: it has no upper bound."""

    low: float
    high: float | None

    @property
    def width(self) -> float:
        return math.inf if self.high is None else self.high - self.low


@dataclass(frozen=True, slots=True)
class Share:
    """`k` of `n`, with its interval.

    `one_sided`: k is 0 or n, and the other end is a one-sided bound of the full confidence.
    """

    k: int
    n: int
    interval: Interval
    one_sided: bool

    @property
    def value(self) -> float | None:
        """The observed share; None if n is 0."""
        return self.k / self.n if self.n else None


def share(k: int, n: int, confidence: float = CONFIDENCE) -> Share:
    """The share behind k of n independent runs, by Clopper and Pearson (Biometrika 26, 1934, 404-413).

    It never covers the truth less often than `confidence`, whatever the truth is. Where nothing was seen
    (k = 0) all of the error is on one side: the bound is 1 - alpha^(1/n), exactly, of which the rule of
    three (3/n for 95 %) is the well-known approximation (Hanley and Lippman-Hand, JAMA 249, 1983, 1743);
    with k = n the same from below. Without runs: 0 to 1.

    Raises:
        ValueError: not 0 <= k <= n, or not 0 < confidence < 1.
    """
    _refuse_invalid(k, n, confidence)
    alpha = 1 - confidence
    if n == 0:
        return Share(k, n, Interval(0.0, 1.0), one_sided=False)
    if k == 0:
        return Share(k, n, Interval(0.0, 1 - alpha ** (1 / n)), one_sided=True)
    if k == n:
        return Share(k, n, Interval(alpha ** (1 / n), 1.0), one_sided=True)
    return Share(k, n, clopper_pearson(k, n, confidence), one_sided=False)


def clopper_pearson(k: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """The two-sided interval: half of the error on each side, for k = 0 and k = n too (as tables have it)."""
    _refuse_invalid(k, n, confidence)
    return _binomial_interval(k, n, confidence, "exact")


def wilson(k: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval (JASA 22, 1927, 209-212), on which Newcombe's difference is based."""
    _refuse_invalid(k, n, confidence)
    return _binomial_interval(k, n, confidence, "wilson")


def difference(
    k_new: int, n_new: int, k_base: int, n_base: int, confidence: float = CONFIDENCE
) -> tuple[float, Interval]:
    """Share of the new less share of the base, with Newcombe's hybrid score interval.

    Method 10 of Newcombe, Statistics in Medicine 17 (1998) 873-890: square-and-add of two Wilson
    intervals. It is shown to people; `comparison` decides. Without runs on a side: 0, from -1 to 1.
    """
    _refuse_invalid(k_new, n_new, confidence)
    _refuse_invalid(k_base, n_base, confidence)
    if not n_new or not n_base:
        return 0.0, Interval(-1.0, 1.0)
    new, base = k_new / n_new, k_base / n_base
    mine, other = wilson(k_new, n_new, confidence), wilson(k_base, n_base, confidence)
    gap = new - base
    down = math.hypot(new - mine.low, (other.high or 0.0) - base)
    up = math.hypot((mine.high or 0.0) - new, base - other.low)
    return gap, Interval(max(-1.0, gap - down), min(1.0, gap + up))


@cache
def _binomial_interval(k: int, n: int, confidence: float, method: str) -> Interval:
    """0 to 1 for no runs. Cached: scipy searches for the exact one, some milliseconds each."""
    if n == 0:
        return Interval(0.0, 1.0)
    # Imported when it is needed, here and beside: it takes more than a second.
    from scipy.stats import binomtest

    found = binomtest(k, n).proportion_ci(confidence, method=method)
    return Interval(float(found.low), float(found.high))


def _refuse_invalid(k: int, n: int, confidence: float) -> None:
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no share")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
