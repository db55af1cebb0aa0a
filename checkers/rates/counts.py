"""What is counted of each run, for its rates. Tasks of Spark import this, and no numpy with it."""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.finding_class import FindingClass
from harness.model.journal import SendOutcome

COUNTS = (
    *("acked", "lost", "unconfirmed", "unconfirmed_absent", "sent", "duplicates"),
    *("inputs", "unprocessed", "reprocessed"),
)


def counts_of(
    sent: int, outcomes: Mapping[str, int], findings: Mapping[FindingClass, int], inputs: int = 0
) -> dict[str, int]:
    """The COUNTS of one run."""
    return {
        "sent": sent,
        "acked": outcomes.get(SendOutcome.ACKED, 0),
        "unconfirmed": outcomes.get(SendOutcome.UNCONFIRMED, 0),
        "lost": findings.get(FindingClass.LOST, 0),
        "unconfirmed_absent": findings.get(FindingClass.UNCONFIRMED_ABSENT, 0),
        "duplicates": findings.get(FindingClass.DUPLICATE, 0),
        "inputs": inputs,
        "unprocessed": findings.get(FindingClass.UNPROCESSED, 0),
        "reprocessed": findings.get(FindingClass.REPROCESSED, 0),
    }
