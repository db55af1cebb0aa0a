"""Checks of deliveries to readers; a record that is concerned may have a class of its own in addition.

Each returns an SQL condition over the columns of `checkers.facts.deliveries.DELIVERIES`.
"""

from __future__ import annotations

from checkers.checks.base import check
from checkers.facts.deliveries import REDELIVERED, SKIPPED, WENT_BACK
from harness.model.result import FindingClass


@check(
    FindingClass.SKIPPED,
    """
    concat(who, ' passed over ', count, ' offset(s) of ', at, ' from ', offset,
        ' on, which the final read holds')""",
    subject="delivery",
)
def skipped() -> str:
    """A reader skipped offsets that the final read holds (for readers of committed records: the final read of
    committed records). A reader without a group skips offsets between two consecutive deliveries of one
    session. A group skips offsets that no member ever got, between its first offset of a partition and its
    last, or a later one that it committed. One finding per run of consecutive offsets, `count` of them.

    Source: a consumer gets a partition's records in the order of their offsets (Kafka documentation,
    Consumer).
    Example: a reader got offsets 4 and 8 one after the other; 5 to 7 are in the log.
    """
    return f"kind = {SKIPPED}"


@check(
    FindingClass.NONMONOTONIC_READ,
    """
    concat(who, ' got offset ', offset, ' of ', at, ' after offset ', before, ' in one session')""",
    subject="delivery",
)
def nonmonotonic_read() -> str:
    """Within one session of a reader, an offset is not above the previous one of the same partition.

    Source: a consumer's position only rises until it seeks or is assigned anew (Kafka documentation,
    Consumer).
    Example: offset 8, then offset 5, with no rebalance between them.
    """
    return f"kind = {WENT_BACK}"


@check(
    FindingClass.REDELIVERED,
    "concat('group ', who, ' was given offset ', offset, ' of ', at, ' ', count, ' times')",
    subject="delivery",
)
def redelivered() -> str:
    """An offset was delivered to a group more than once: allowed, and counted (`count` deliveries).

    Source: at-least-once delivery (Kafka documentation, Message Delivery Semantics).
    Example: offset 5 was delivered before the rebalance and, because it was not committed, again after it.
    """
    return f"kind = {REDELIVERED}"
