"""How many random histories are compared with the plain-Python oracles."""

from __future__ import annotations

import os

_HISTORIES = int(os.environ.get("KAFKA_CHAOS_HISTORIES", "0"))
"""Histories for each test that is asked for many; `make test-histories` sets it. 0: the test's own number."""


def examples(usual: int, side_by_side: int = 1) -> int:
    """Examples for Hypothesis, of `side_by_side` histories each: `usual`, or what the environment says."""
    return -(-_HISTORIES // side_by_side) or usual
