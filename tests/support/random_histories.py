"""How many random histories are compared with the plain-Python oracles, and how Hypothesis draws them."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

_HISTORIES = int(os.environ.get("KAFKA_CHAOS_HISTORIES", "0"))
"""Histories for each test that is asked for many; `make test-histories` sets it. 0: the test's own number."""


def examples(usual: int, side_by_side: int = 1) -> int:
    """Examples for Hypothesis, of `side_by_side` histories each: `usual`, or what the environment says."""
    return -(-_HISTORIES // side_by_side) or usual


def side_by_side(usual: int, of_many: int) -> int:
    """Histories of one check: `usual`, or `of_many` where that many or more are asked for, since a
    check takes about as long for few histories as for many."""
    return of_many if of_many <= _HISTORIES else usual


def many(number: int) -> settings:
    """Settings of a test that draws `number` examples: slow ones, of which none is kept for later runs."""
    return settings(
        max_examples=number,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
