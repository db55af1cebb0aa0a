"""Checks of what readers were given, beside the class of the record itself.

Each takes what `checkers.facts.deliveries.DELIVERIES` describes, with names.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.checks.base import check, claim
from checkers.facts.deliveries import AGAIN, BACK, PASSED
from harness.model.result import FindingClass


@check(
    FindingClass.SKIPPED,
    """
    concat(who, ' passed over ', count, ' offset(s) of ', at, ' from ', offset,
        ' on, which the final read holds')""",
    subject="delivery",
)
def skipped(rows: DataFrame) -> DataFrame:
    """The final read (for readers of committed records, that of committed records) holds offsets that a
    reader passed over: a reader without a group between two offsets that it got one after the other in one
    session; a group between its first offset of a partition and its last, or a later one that it committed,
    when no member ever got them. One finding a run of consecutive offsets, `count` of them.

    Source: a consumer gets a partition's records in the order of their offsets (Kafka documentation,
    Consumer).
    Example: a reader got offsets 4 and 8 one after the other; 5 to 7 are in the log.
    """
    return claim(rows, FindingClass.SKIPPED, F.col("kind") == PASSED)


@check(
    FindingClass.NONMONOTONIC_READ,
    """
    concat(who, ' got offset ', offset, ' of ', at, ' after offset ', before, ' in one session')""",
    subject="delivery",
)
def nonmonotonic_read(rows: DataFrame) -> DataFrame:
    """Within one session of a reader a partition's offset is not above the one that it got before.

    Source: a consumer's position only rises until it seeks or is assigned anew (Kafka documentation,
    Consumer).
    Example: offset 8, then offset 5, with no rebalance between them.
    """
    return claim(rows, FindingClass.NONMONOTONIC_READ, F.col("kind") == BACK)


@check(
    FindingClass.REDELIVERED,
    "concat('group ', who, ' was given offset ', offset, ' of ', at, ' ', count, ' times')",
    subject="delivery",
)
def redelivered(rows: DataFrame) -> DataFrame:
    """One group was given an offset more than once: allowed, and counted (`count` deliveries).

    Source: at-least-once delivery (Kafka documentation, Message Delivery Semantics).
    Example: offset 5 was given before the rebalance and, not committed yet, after it again.
    """
    return claim(rows, FindingClass.REDELIVERED, F.col("kind") == AGAIN)
