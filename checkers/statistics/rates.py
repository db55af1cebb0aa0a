"""The share of runs in which something happens (k of n), events per million records over runs, and
percentiles of values that each run measures once; at 95 % confidence."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95


MILLION = 1_000_000
RESAMPLES = 10_000
_BATCH_CELLS = 2_000_000

Floats = NDArray[np.float64]
Method = Literal["BCa", "percentile"]


class Interval(NamedTuple):
    """A closed interval."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Share:
    """`k` of `n` runs, with its interval. `one_sided`: k is 0 or n, and the other end is a one-sided bound of
    the full confidence."""

    k: int
    n: int
    low: float
    high: float
    one_sided: bool

    def __str__(self) -> str:
        return f"{self.k} of {self.n}"


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
        return Share(k, n, bound if k else 0.0, 1.0 if k else 1 - bound, one_sided=True)
    return Share(k, n, *binomial_interval(k, n, "exact"), one_sided=False)


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

    interval = binomtest(k, n).proportion_ci(CONFIDENCE, method=method)
    return float(interval.low), float(interval.high)


@dataclass(frozen=True, slots=True)
class EventRate:
    """Events per million records over all runs, with its interval. `value` None: there were no records. `low`
    None: fewer than two runs, too few for a bootstrap. `high` None: not bounded, as no event was seen."""

    value: float | None
    low: float | None
    high: float | None
    events: int
    records: int


def per_million(
    events: Sequence[int], records: Sequence[int], *, seed: int = 0, resamples: int = RESAMPLES
) -> EventRate:
    """The rate of all runs together, with a BCa bootstrap over runs (bias-corrected and accelerated: Efron,
    JASA 82, 1987, 171-185): runs are drawn with their records and events, so that a burst stays whole.

    With few runs of very different losses it is too narrow, because a run with a large loss may be missing:
    docs/how-to/matrix.md says how often it covers. If no run had an event, the resamples contain none: from 0
    without an upper bound (`high` None).

    Args:
        events, records: of each run. The same seed gives the same interval.

    Raises:
        ValueError: lists of different length, or a negative number.
    """
    counted, of = _arrays(events, records)
    total, whole = int(counted.sum()), int(of.sum())
    low = high = None
    if whole and len(counted) > 1:
        # Left out, as the acceleration does, a run that has all records leaves no rate.
        method: Method = "BCa" if (of < whole).all() else "percentile"
        low, high = _bootstrap([(counted, of)], method, seed, resamples) if total else (0.0, None)
    return EventRate(total / whole * MILLION if whole else None, low, high, total, whole)


def rate_difference(
    new: tuple[Sequence[int], Sequence[int]],
    base: tuple[Sequence[int], Sequence[int]],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[float, Interval] | None:
    """Rate per million of the new (events, records of each run) less that of the base, with a percentile
    bootstrap over the runs of both. None: fewer than two runs, or no records, on a side."""
    sides = [_arrays(*new), _arrays(*base)]
    if any(len(events) < 2 or not records.sum() for events, records in sides):
        return None
    gap = _per_million(*sides[0]) - _per_million(*sides[1])
    return float(gap), _bootstrap(sides, "percentile", seed, resamples)


def percentile(values: Sequence[float], q: float) -> float | None:
    """The q-quantile (0 to 1) of the values of runs, interpolated; None without values."""
    return float(np.quantile(values, q)) if len(values) else None


def percentile_interval(values: Sequence[float], q: float) -> Interval | None:
    """Order statistics that enclose the q-quantile with 95 % confidence, for any distribution (Conover,
    Practical Nonparametric Statistics, 3.2). None: too few values, for example fewer than 6 for a median.
    """
    if not len(values):
        return None
    from scipy.stats import quantile_test

    bounds = quantile_test(values, p=q).confidence_interval(CONFIDENCE)
    # An end that no order statistic reaches is no number.
    return None if math.isnan(bounds.low + bounds.high) else Interval(float(bounds.low), float(bounds.high))


@dataclass(frozen=True, slots=True)
class Seconds:
    """Statistics over one value per run. `low` and `high` enclose the median at 95 %; None: too few runs."""

    median: float | None
    low: float | None
    high: float | None
    p95: float | None
    most: float | None


def seconds_of(values: Sequence[float]) -> Seconds:
    """Median with its interval, 95th percentile and largest of the values of runs."""
    low, high = percentile_interval(values, 0.5) or (None, None)
    return Seconds(percentile(values, 0.5), low, high, percentile(values, 0.95), max(values, default=None))


def _bootstrap(sides: Sequence[tuple[Floats, Floats]], method: Method, seed: int, resamples: int) -> Interval:
    """An interval of the rate per million of the first side, less that of the second if there is one.

    Resamples draw the runs of each side, so that a run keeps its events and records together.
    """

    def rate(*drawn: NDArray[np.int64], axis: int) -> Floats:
        first, *second = (
            _per_million(events[runs], records[runs], axis)
            for runs, (events, records) in zip(drawn, sides, strict=True)
        )
        return first - second[0] if second else first

    from scipy.stats import DegenerateDataWarning, bootstrap

    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", DegenerateDataWarning)
        result = bootstrap(
            [np.arange(len(events)) for events, _ in sides],
            rate,
            n_resamples=resamples,
            batch=max(1, _BATCH_CELLS // max(len(events) for events, _ in sides)),
            confidence_level=CONFIDENCE,
            method=method,
            rng=np.random.default_rng(seed),
        )
    low, high = result.confidence_interval
    if math.isnan(low) or math.isnan(high):
        # The correction is undefined where all resamples are alike.
        half = (1 - CONFIDENCE) / 2
        low, high = np.quantile(result.bootstrap_distribution, [half, 1 - half])
    return Interval(float(low), float(high))


def _per_million(events: Floats, records: Floats, axis: int = -1) -> Floats:
    """The rate of runs along an axis; 0 where there are no records."""
    above, below = events.sum(axis=axis), records.sum(axis=axis)
    rates: Floats = np.divide(above, below, out=np.zeros_like(above), where=below > 0) * MILLION
    return rates


def _arrays(events: Sequence[int], records: Sequence[int]) -> tuple[Floats, Floats]:
    if len(events) != len(records):
        raise ValueError(f"{len(events)} runs have events, {len(records)} have records")
    if any(number < 0 for number in (*events, *records)):
        raise ValueError("a count cannot be negative")
    return np.asarray(events, dtype=float), np.asarray(records, dtype=float)
