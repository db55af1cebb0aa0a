"""Rates of three groups of runs."""

from __future__ import annotations

from checkers.rates.aggregate import Rates, columns_of
from checkers.rates.counts import COUNTS

LOST = (0, 40, 200, 0)

NOTHING = dict.fromkeys(COUNTS, 0) | {"problem": None, "sent": 10_000, "acked": 10_000, "unavailable": 1.0}

BY = ("experiment", "arm")

GROUPS = {
    ("kill-the-leader-of-a-partition", "acks=1"): [NOTHING | {"lost": lost} for lost in LOST],
    ("kill-the-leader-of-a-partition", "acks=all-idempotent"): [NOTHING] * 4,
    ("application-<b>", "exactly-once"): [
        NOTHING | {"inputs": 1_000, "unprocessed": many, "reprocessed": 2 * many} for many in (0, 3)
    ],
}


def rates(**more: object) -> Rates:
    """The groups as rates, and one run that could not be counted; `more` are figures that each group has."""
    rows = [{**dict(zip(BY, keys, strict=True)), **columns_of(runs), **more} for keys, runs in GROUPS.items()]
    return Rates(BY, rows, ["runs/7: it was not checked"])
