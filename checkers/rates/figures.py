"""The figures of a group of runs, from the counts of each: of `rates`, and of each arm of a matrix. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checkers.rates.counts import COUNTS
from checkers.statistics.rates import EventRate, Seconds, Share, per_million, seconds_of, share_of

RATES = {
    "lost": "acked",
    "unconfirmed_absent": "unconfirmed",
    "duplicates": "sent",
    "unprocessed": "inputs",
    "reprocessed": "inputs",
    "lost_id": "acked_ids",
    "duplicate_id": "ids",
}
"""What is counted per million of what. Inputs are those of applications under test, ids the different ones
that records of the user's own have."""
CountedRun = Mapping[str, Any]
"""A run: its COUNTS, its `problem` (None: it counts), and its `unavailable` seconds (None: not known)."""


@dataclass(frozen=True, slots=True)
class Figures:
    """`runs` is the number of those that count, over which all figures are, `left_out` that of the others.
    `counts` are sums of COUNTS; for each of RATES there is the share of runs `with_any`, and the rate."""

    runs: int
    left_out: int
    counts: dict[str, int]
    with_any: dict[str, Share]
    per_million: dict[str, EventRate]
    unavailable: Seconds


def figures_of(runs: Sequence[CountedRun], seed: int = 0) -> Figures:
    """The figures of a group of runs; `seed` is that of the bootstrap."""
    good = [run for run in runs if run["problem"] is None]
    return Figures(
        runs=len(good),
        left_out=len(runs) - len(good),
        counts={name: sum(run[name] for run in good) for name in COUNTS},
        with_any={what: share_with(good, what) for what in RATES},
        per_million={
            what: per_million([run[what] for run in good], [run[of] for run in good], seed=seed)
            for what, of in RATES.items()
        },
        unavailable=seconds_of([run["unavailable"] for run in good if run["unavailable"] is not None]),
    )


def share_with(runs: Sequence[CountedRun], what: str) -> Share:
    """The share of these runs that have any of what is counted."""
    return share_of(sum(run[what] > 0 for run in runs), len(runs))
