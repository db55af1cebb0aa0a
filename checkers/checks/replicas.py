"""Checks of the records in the replicas' own segment files.

Each takes rows of `checkers.facts.replicas.HOLDINGS`, a broker and an offset, and returns which of them are
of its class; those of one offset are one finding.
"""

from __future__ import annotations

import numpy as np

from checkers.checks.base import Rows, check
from checkers.checks.sentences import FindingRows, Text, say
from checkers.facts.columns import Flags
from harness.model.result import FindingClass


def _differ(rows: FindingRows) -> Text:
    return say(
        *("replicas of ", rows.text("at"), " differ at offset ", rows.number("offset"), ": "),
        rows.text("partings"),
    )


@check(FindingClass.DIVERGED, _differ, subject="replica")
def diverged(rows: Rows) -> Flags:
    """Two replicas hold different records (checksum, identity or leader epoch) at one offset below the high
    watermark, or one lacks an offset between its own first and last that the leader holds.

    The brokers of a finding are those that differ from the leader; if the leader holds nothing there, all
    that differ from each other.

    Source: followers copy the leader's log unchanged (Kafka documentation, Replication; KIP-101, KIP-279).
    Example: at offset 20 brokers 1 and 2 hold seq 8 of epoch 3, broker 3 holds seq 9 of epoch 2.
    """
    differs = np.where(rows["leader_holds"], ~rows["as_leader"], ~rows["all_alike"])
    lacks = rows["leader_holds"] & ~rows["held"] & rows["within"]
    return np.asarray((rows["held"] & differs) | lacks)
