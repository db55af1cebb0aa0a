"""C3: who commits before processing loses at a crash, who commits afterwards doubles."""

from __future__ import annotations

from harness.claims.crashing_consumer import WRITTEN, killed_in_a_batch
from harness.claims.model import Claim, claim_arm, control_arm
from harness.model.result import FindingClass
from harness.suite.expect_records import findings, some

CLAIM = Claim(
    id="C3",
    title="At most once and at least once are a matter of when offsets are committed",
    words="An application that commits a batch before it processes it gives each record at most once: what a "
    "crash interrupts is never processed. One that commits afterwards gives each record at least once.",
    set_up="One broker, one partition, one consumer that takes 5 s for each batch. 10 records are "
    "processed; it is killed 2 s after it received 50 more. 10 records follow, and a new consumer of the "
    "group continues. "
    "Claim: it commits each batch when it receives it. Control: when it has processed it.",
    arms=(
        claim_arm(
            killed_in_a_batch("c03", "before", commits="before", commit_every=0.1, skipped=">= 1"),
            *WRITTEN,
            some(FindingClass.SKIPPED, 1, 50),
            findings(FindingClass.REDELIVERED, 0),
        ),
        control_arm(
            killed_in_a_batch("c03", "afterwards", commits="manual", commit_every=0.1, skipped="0"),
            *WRITTEN,
            findings(FindingClass.SKIPPED, 0),
        ),
    ),
)
