"""Intervals and tests against published tables, and how often they cover, by simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.statistics.comparison import rank_test, runs_needed, shared_level
from checkers.statistics.rates import (
    Interval,
    binomial_interval,
    difference,
    per_million,
    percentile,
    percentile_interval,
    rate_difference,
    share_of,
)

pytestmark = pytest.mark.pure


def stats() -> Any:
    """scipy.stats, which takes a second to import, in the one process that runs these tests."""
    import scipy.stats

    return scipy.stats


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [  # Newcombe, Statistics in Medicine 17 (1998) 857-872, Table I, method 5
        (81, 263, 0.2527, 0.3676),
        (15, 148, 0.0578, 0.1617),
        (0, 20, 0.0000, 0.1684),
        (1, 29, 0.0009, 0.1776),
    ],
)
def test_clopper_pearson_is_that_of_the_table(k: int, n: int, low: float, high: float) -> None:
    found = Interval(*binomial_interval(k, n, "exact"))
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [  # the same table, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_is_that_of_the_table(k: int, n: int, low: float, high: float) -> None:
    found = Interval(*binomial_interval(k, n, "wilson"))
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@pytest.mark.parametrize(
    ("new", "base", "low", "high"),
    [  # Newcombe, Statistics in Medicine 17 (1998) 873-890, Table II, method 10
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((0, 10), (0, 10), -0.2775, 0.2775),
        ((10, 10), (0, 20), 0.6791, 1.0000),
        ((10, 10), (0, 10), 0.6075, 1.0000),
    ],
)
def test_newcombes_difference_is_that_of_the_table(
    new: tuple[int, int], base: tuple[int, int], low: float, high: float
) -> None:
    gap, found = difference(*new, *base)
    assert gap == pytest.approx(new[0] / new[1] - base[0] / base[1])
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def test_nothing_seen_is_an_upper_bound_and_no_zero() -> None:
    for n in (1, 5, 20, 300):
        found = share_of(0, n)
        assert found.one_sided
        assert found.high == pytest.approx(1 - 0.05 ** (1 / n))
        # It is the chance at which n runs see nothing once in twenty times.
        assert stats().binom.pmf(0, n, found.high) == pytest.approx(0.05)
        assert share_of(n, n).low == pytest.approx(0.05 ** (1 / n))
    assert share_of(0, 300).high * 300 == pytest.approx(3, abs=0.03)  # the rule of three
    assert (share_of(0, 0).low, share_of(0, 0).high) == (0, 1)
    assert not share_of(1, 5).one_sided


@given(st.integers(0, 60), st.integers(0, 60))
def test_a_share_lies_in_its_interval(k: int, more: int) -> None:
    found = share_of(k, k + more)
    assert 0 <= found.low <= (k / found.n if found.n else 0.5) <= found.high <= 1


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5)])
def test_what_is_no_share_is_refused(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="no share"):
        share_of(k, n)


@pytest.mark.parametrize("n", [5, 10, 30])
def test_shares_cover_the_truth_as_often_as_they_say(n: int) -> None:
    """Exactly, by summing over all k. The reported one: one-sided at 0 and n, so at least 92.5 % where both
    sides can err; two-sided Clopper-Pearson at least 95 %."""
    for truth in np.linspace(0.01, 0.99, 99):
        chance = stats().binom.pmf(np.arange(n + 1), n, truth)
        two = [Interval(*binomial_interval(k, n, "exact")) for k in range(n + 1)]
        one = [share_of(k, n) for k in range(n + 1)]
        assert sum(p for p, i in zip(chance, two, strict=True) if i.low <= truth <= i.high) >= 0.95
        assert sum(p for p, i in zip(chance, one, strict=True) if i.low <= truth <= i.high) >= 0.925


def test_newcombes_difference_covers() -> None:
    for p_new, p_base in ((0.1, 0.1), (0.5, 0.2), (0.9, 0.1), (0.3, 0.0)):
        n = 10
        new, base = (stats().binom.pmf(np.arange(n + 1), n, p) for p in (p_new, p_base))
        weights = np.outer(new, base)
        covered = 0.0
        for k in range(n + 1):
            for m in range(n + 1):
                _, found = difference(k, n, m, n)
                if found.low <= p_new - p_base <= (found.high or 0) + 1e-12:
                    covered += weights[k, m]
        assert covered >= 0.92, (p_new, p_base, covered)


def test_rates_by_hand() -> None:
    found = per_million([0, 10, 20], [1000, 1000, 1000], seed=1)
    assert found.value == pytest.approx(10_000)
    assert found.low is not None
    assert 0 <= found.low < 10_000 < (found.high or 0) <= 20_000
    assert found == per_million([0, 10, 20], [1000, 1000, 1000], seed=1)
    # Runs that are all alike leave nothing to chance.
    same = per_million([5, 5, 5], [1000, 1000, 1000])
    assert same.low == same.high == pytest.approx(5000)


def test_the_bootstrap_is_scipys_bca() -> None:
    """The same method on means, which rates of equally large runs are."""
    runs = [0, 0, 310, 5, 120, 0, 44, 190, 0, 8]
    expected = stats().bootstrap((np.array(runs) / 45_000 * 1e6,), np.mean, n_resamples=20_000, rng=1)
    found = per_million(runs, [45_000] * 10, seed=1, resamples=20_000)
    assert found.low == pytest.approx(expected.confidence_interval.low, rel=0.05)
    assert found.high == pytest.approx(expected.confidence_interval.high, rel=0.05)


def test_rates_say_what_they_do_not_know() -> None:
    assert per_million([], []).value is None
    assert per_million([0, 0], [0, 0]).value is None
    assert per_million([3], [1000]).low is None
    nothing = per_million([0, 0, 0], [10, 10, 10])
    assert nothing.value == 0
    assert nothing.low == 0
    assert nothing.high is None
    assert rate_difference(([1], [10]), ([1, 1], [10, 10])) is None
    with pytest.raises(ValueError, match="runs have"):
        per_million([1], [1, 2])
    with pytest.raises(ValueError, match="negative"):
        per_million([-1], [1])


def test_a_bootstrap_covers_nearly_as_often_as_it_says() -> None:
    """Bursts: a third of the runs lose some hundred records of 45,000: docs/how-to/matrix.md."""
    generator = np.random.default_rng(3)
    truth, hits, tries, runs = 0.3 * 200 / 45_000 * 1e6, 0, 300, 30
    for trial in range(tries):
        bursts = (generator.random(runs) < 0.3) * generator.poisson(200, runs)
        found = per_million(bursts.tolist(), [45_000] * runs, seed=trial, resamples=1000)
        assert found.low is not None
        hits += found.low <= truth <= (found.high or 0)
    assert hits / tries >= 0.89


def test_a_difference_of_rates_covers_its_truth_and_sees_a_planted_one() -> None:
    generator = np.random.default_rng(4)
    hits, records, tries = 0, [10_000] * 20, 200
    for trial in range(tries):
        sides = [generator.poisson(30, 20).tolist() for _ in range(2)]
        told = rate_difference((sides[0], records), (sides[1], records), seed=trial, resamples=1000)
        assert told is not None
        hits += told[1].low <= 0 <= (told[1].high or 0)
    assert hits / tries >= 0.9
    told = rate_difference(([60] * 10 + [50] * 10, records), ([30] * 20, records))
    assert told is not None
    assert told[0] == pytest.approx(2500)
    assert told[1].low > 0


def test_percentiles_of_runs() -> None:
    assert percentile([], 0.5) is None
    assert percentile([3, 1, 2], 0.5) == 2
    assert percentile([1, 2, 3, 4], 0.5) == 2.5
    # The least n for a 95 % interval of a median is 6 (Conover, table A3): its extremes.
    assert percentile_interval([5, 1, 2, 3, 4], 0.5) is None
    six = percentile_interval([6, 5, 1, 2, 3, 4], 0.5)
    assert six is not None
    assert (six.low, six.high) == (1, 6)
    ten = percentile_interval(range(1, 11), 0.5)
    assert ten is not None
    assert (ten.low, ten.high) == (2, 9)
    assert percentile_interval(range(20), 0.99) is None


def test_the_interval_of_a_median_covers() -> None:
    generator = np.random.default_rng(5)
    hits = 0
    for _ in range(400):
        found = percentile_interval(generator.exponential(1.0, 11).tolist(), 0.5)
        assert found is not None
        hits += found.low <= math.log(2) <= (found.high or 0)
    assert hits / 400 >= 0.94


@pytest.mark.parametrize(
    ("new", "base"),
    [((3, 1), (1, 3)), ((4, 1), (0, 5)), ((5, 0), (0, 5)), ((0, 5), (0, 5)), ((2, 8), (1, 4))],
)
def test_of_zeroes_and_ones_the_rank_test_is_fishers(new: tuple[int, int], base: tuple[int, int]) -> None:
    found = rank_test([1] * new[0] + [0] * new[1], [1] * base[0] + [0] * base[1])
    assert found.p == pytest.approx(stats().fisher_exact([new, base], alternative="greater").pvalue)


def test_fishers_tea() -> None:
    """Fisher, The Design of Experiments (1935): three of four cups right: 17 of 70."""
    assert rank_test([1, 1, 1, 0], [1, 0, 0, 0]).p == pytest.approx(17 / 70)


def test_ranks_without_ties_are_mann_and_whitneys() -> None:
    new, base = [9.1, 7.3, 8.8, 6.0], [1.5, 6.5, 5.2, 4.4, 7.0]
    expected = stats().mannwhitneyu(new, base, alternative="greater", method="exact").pvalue
    assert rank_test(new, base).p == pytest.approx(expected)
    assert rank_test(new, base).least == pytest.approx(1 / math.comb(9, 4))
    assert rank_test([], base).p == 1
    assert rank_test([2.0] * 5, [2.0] * 5).least == pytest.approx(1)


def test_many_runs_are_drawn_and_come_to_the_same() -> None:
    generator = np.random.default_rng(6)
    new, base = generator.normal(0.4, 1, 80).tolist(), generator.normal(0, 1, 80).tolist()
    expected = stats().mannwhitneyu(new, base, alternative="greater", method="asymptotic").pvalue
    assert rank_test(new, base, seed=1).p == pytest.approx(expected, rel=0.15)


def test_tests_that_cannot_alarm_are_not_counted() -> None:
    assert shared_level([1.0] * 30 + [1 / 252]) == (0.05, 1)
    assert shared_level([1 / 252] * 12) == (0.05 / 12, 12)
    # 13 of them share too little: none can reach it, which is said.
    level, count = shared_level([1 / 252] * 13)
    assert count == 13
    assert level < 1 / 252
    assert shared_level([]) == (0.05, 0)
    assert runs_needed(1) == 3
    assert runs_needed(12) == 5
    assert runs_needed(13) == 6
