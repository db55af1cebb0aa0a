"""The checks: each a function from a DataFrame of facts to one in which its findings are named.

`kafka-chaos findings` lists them. A new one is a function with definition, source and example in its
docstring, at its place in `CHECKS`.
"""

from __future__ import annotations

from checkers.checks import deliveries, records, replicas
from checkers.checks.base import Breaks, Check, FindingSubject
from harness.model.result import FindingClass

CHECKS: tuple[Check, ...] = (
    Check(FindingClass.PHANTOM, "record", "yes", records.phantom),
    Check(FindingClass.MISPLACED, "record", "yes", records.misplaced),
    Check(FindingClass.CORRUPT, "record", "yes", records.corrupt),
    Check(FindingClass.REJECTED_PRESENT, "record", "yes", records.rejected_present),
    Check(FindingClass.ABORTED_READ, "record", "yes", records.aborted_read),
    Check(FindingClass.DUPLICATE, "record", "when idempotent", records.duplicate),
    Check(FindingClass.INCONSISTENT_OFFSET, "record", "yes", records.inconsistent_offset),
    Check(FindingClass.EXPIRED, "record", "no", records.expired),
    Check(FindingClass.COMPACTED, "record", "no", records.compacted),
    Check(FindingClass.LOST, "record", "yes", records.lost),
    Check(FindingClass.VANISHED, "record", "yes", records.vanished),
    Check(FindingClass.UNCONFIRMED_ABSENT, "record", "no", records.unconfirmed_absent),
    Check(FindingClass.TORN_TRANSACTION, "record", "yes", records.torn_transaction),
    Check(FindingClass.REORDERED, "record", "when the settings keep the order", records.reordered),
    Check(FindingClass.RECOVERED, "record", "no", records.recovered),
    Check(FindingClass.SKIPPED, "delivery", "yes", deliveries.skipped),
    Check(FindingClass.NONMONOTONIC_READ, "delivery", "yes", deliveries.nonmonotonic_read),
    Check(FindingClass.REDELIVERED, "delivery", "no", deliveries.redelivered),
    Check(FindingClass.DIVERGED, "replica", "yes", replicas.diverged),
)
"""All checks; those of records in the order in which they claim."""

__all__ = ["CHECKS", "Breaks", "Check", "FindingSubject"]
