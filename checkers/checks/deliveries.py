"""Checks of deliveries to readers; a record that is concerned may have a class of its own in addition.

Each takes rows of `checkers.facts.deliveries.DELIVERIES` and returns which of them are of its class.
"""

from __future__ import annotations

import numpy as np

from checkers.checks.base import Rows, check
from checkers.checks.sentences import FindingRows, Text, say
from checkers.facts.columns import Flags
from checkers.facts.deliveries import REDELIVERED, SKIPPED, WENT_BACK
from harness.model.result import FindingClass


def _passed_over(rows: FindingRows) -> Text:
    return say(
        *(rows.text("who"), " passed over ", rows.number("count"), " offset(s) of ", rows.text("at")),
        *(" from ", rows.number("offset"), " on, which the final read holds"),
    )


@check(FindingClass.SKIPPED, _passed_over, subject="delivery")
def skipped(rows: Rows) -> Flags:
    """A reader skipped offsets that the final read holds (for readers of committed records: the final read of
    committed records). A reader without a group skips offsets between two consecutive deliveries of one
    session. A group skips offsets that no member ever got, between its first offset of a partition and its
    last, or a later one that it committed. One finding per run of consecutive offsets, `count` of them.

    Source: a consumer gets a partition's records in the order of their offsets (Kafka documentation,
    Consumer).
    Example: a reader got offsets 4 and 8 one after the other; 5 to 7 are in the log.
    """
    return np.asarray(rows["kind"] == SKIPPED)


def _went_back(rows: FindingRows) -> Text:
    return say(
        *(rows.text("who"), " got offset ", rows.number("offset"), " of ", rows.text("at")),
        *(" after offset ", rows.number("before"), " in one session"),
    )


@check(FindingClass.NONMONOTONIC_READ, _went_back, subject="delivery")
def nonmonotonic_read(rows: Rows) -> Flags:
    """Within one session of a reader, an offset is not above the previous one of the same partition.

    Source: a consumer's position only rises until it seeks or is assigned anew (Kafka documentation,
    Consumer).
    Example: offset 8, then offset 5, with no rebalance between them.
    """
    return np.asarray(rows["kind"] == WENT_BACK)


def _given_again(rows: FindingRows) -> Text:
    return say(
        *("group ", rows.text("who"), " was given offset ", rows.number("offset"), " of ", rows.text("at")),
        *(" ", rows.number("count"), " times"),
    )


@check(FindingClass.REDELIVERED, _given_again, subject="delivery")
def redelivered(rows: Rows) -> Flags:
    """An offset was delivered to a group more than once: allowed, and counted (`count` deliveries).

    Source: at-least-once delivery (Kafka documentation, Message Delivery Semantics).
    Example: offset 5 was delivered before the rebalance and, because it was not committed, again after it.
    """
    return np.asarray(rows["kind"] == REDELIVERED)
