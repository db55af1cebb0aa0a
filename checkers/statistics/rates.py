"""How much: records per million over runs, and percentiles of what each run measured once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

from checkers.statistics.shares import CONFIDENCE, Interval

MILLION = 1_000_000
RESAMPLES = 10_000
_BATCH_CELLS = 2_000_000

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EventRate:
    """Events per million records over all runs. `value` None: there were no records. `interval` None: fewer
    than two runs, of which nothing can be drawn."""

    value: float | None
    interval: Interval | None
    events: int
    records: int


def per_million(
    events: Sequence[int],
    records: Sequence[int],
    *,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> EventRate:
    """The rate of all runs together, with a BCa bootstrap over runs (bias-corrected and accelerated: Efron,
    JASA 82, 1987, 171-185): runs are drawn with their records and events, so that a burst stays whole.

    With few runs of very different losses it is too narrow (a run that loses much may not have been met yet):
    docs/matrix.md says how often it covers. Where no run saw an event the draws say nothing: from 0 to no
    bound (`high` None).

    Args:
        events, records: of each run. The same seed gives the same interval.

    Raises:
        ValueError: lists of different length, or a negative number.
    """
    counted, of = _arrays(events, records)
    total, whole = int(counted.sum()), int(of.sum())
    if not whole:
        return EventRate(None, None, total, whole)
    value = total / whole * MILLION
    if len(counted) < 2:
        return EventRate(value, None, total, whole)
    if not total:
        return EventRate(0.0, Interval(0.0, None), total, whole)
    draws = _drawn(counted, of, seed, resamples)
    levels = _bca_levels(draws, counted, of, confidence)
    low, high = np.quantile(draws, levels)
    return EventRate(value, Interval(float(low), float(high)), total, whole)


def rate_difference(
    new: tuple[Sequence[int], Sequence[int]],
    base: tuple[Sequence[int], Sequence[int]],
    *,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> tuple[float, Interval] | None:
    """Rate per million of the new (events, records of each run) less that of the base, with a percentile
    bootstrap over the runs of both. None: fewer than two runs, or no records, on a side."""
    sides = [_arrays(*new), _arrays(*base)]
    if any(len(events) < 2 or not records.sum() for events, records in sides):
        return None
    seen = [float(events.sum() / records.sum()) * MILLION for events, records in sides]
    draws = [_drawn(*side, seed + number, resamples) for number, side in enumerate(sides)]
    return seen[0] - seen[1], Interval(*_percentile_interval(draws[0] - draws[1], confidence))


def percentile(values: Sequence[float], q: float) -> float | None:
    """The q-quantile (0 to 1) of what runs measured, interpolated; None: of nothing."""
    return float(np.quantile(np.asarray(values, dtype=float), q)) if len(values) else None


def percentile_interval(values: Sequence[float], q: float, confidence: float = CONFIDENCE) -> Interval | None:
    """Order statistics that enclose the q-quantile at least so often, whatever the distribution (Conover,
    Practical Nonparametric Statistics, 3.2). None: too few values to say so, as fewer than 6 for a median at
    95 %.
    """
    n, half = len(values), (1 - confidence) / 2
    # P(at least one of the n lies on the outer side) must suffice: else no order statistic bounds it.
    lower = int(binom.ppf(half, n, q))
    upper = int(binom.ppf(1 - half, n, q)) + 1
    while lower > 0 and binom.cdf(lower - 1, n, q) > half:
        lower -= 1
    while upper <= n and 1 - binom.cdf(upper - 1, n, q) > half:
        upper += 1
    if lower < 1 or upper > n:
        return None
    ordered = sorted(values)
    return Interval(float(ordered[lower - 1]), float(ordered[upper - 1]))


def _drawn(events: Floats, records: Floats, seed: int, resamples: int) -> Floats:
    """The rate per million of each resample."""
    generator = np.random.default_rng(seed)
    runs = len(events)
    step = max(1, _BATCH_CELLS // runs)
    found = []
    for start in range(0, resamples, step):
        picked = generator.integers(0, runs, size=(min(step, resamples - start), runs))
        below = records[picked].sum(axis=1)
        above = events[picked].sum(axis=1)
        found.append(np.divide(above, below, out=np.zeros_like(above), where=below > 0) * MILLION)
    return np.concatenate(found)


def _bca_levels(draws: Floats, events: Floats, records: Floats, confidence: float) -> tuple[float, float]:
    """Which quantiles of the draws are the interval's ends; plain ones where the correction is undefined."""
    half = (1 - confidence) / 2
    value = events.sum() / records.sum() * MILLION
    # As often as not a draw is the value itself: those count half.
    below = float((draws < value * (1 - 1e-12)).mean() + (draws < value * (1 + 1e-12)).mean()) / 2
    without = records.sum() - records
    if not 0 < below < 1 or not without.all():
        return half, 1 - half
    left_out = (events.sum() - events) / without
    apart = left_out.mean() - left_out
    spread = float((apart**2).sum()) ** 1.5
    acceleration = float((apart**3).sum()) / (6 * spread) if spread else 0.0
    bias = float(norm.ppf(below))
    ends = []
    for level in (half, 1 - half):
        shifted = bias + float(norm.ppf(level))
        ends.append(float(norm.cdf(bias + shifted / (1 - acceleration * shifted))))
    return ends[0], ends[1]


def _percentile_interval(draws: Floats, confidence: float) -> tuple[float, float]:
    half = (1 - confidence) / 2
    low, high = np.quantile(draws, [half, 1 - half])
    return float(low), float(high)


def _arrays(events: Sequence[int], records: Sequence[int]) -> tuple[Floats, Floats]:
    if len(events) != len(records):
        raise ValueError(f"{len(events)} runs have events, {len(records)} have records")
    if any(number < 0 for number in (*events, *records)):
        raise ValueError("a count cannot be negative")
    return np.asarray(events, dtype=float), np.asarray(records, dtype=float)
