"""What is counted of each run, for its rates. Tasks of Spark import this, and no numpy with it."""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.finding_class import FindingClass
from harness.model.journal import SendOutcome

COUNTS = (
    *("acked", "lost", "unconfirmed", "unconfirmed_absent", "sent", "duplicates"),
    *("inputs", "unprocessed", "reprocessed"),
    *("ids", "acked_ids", "lost_id", "duplicate_id"),
)


def counts_of(
    sent: int,
    outcomes: Mapping[str, int],
    findings: Mapping[FindingClass, int],
    inputs: int = 0,
    ids: tuple[int, int] = (0, 0),
) -> dict[str, int]:
    """The COUNTS of one run; `ids` are the numbers of different ids that were sent and acknowledged.

    Findings about ids count only where these are known, since a rate without them would be too high.
    """
    of_ids = findings if any(ids) else {}
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
        "ids": ids[0],
        "acked_ids": ids[1],
        "lost_id": of_ids.get(FindingClass.LOST_ID, 0),
        "duplicate_id": of_ids.get(FindingClass.DUPLICATE_ID, 0),
    }
