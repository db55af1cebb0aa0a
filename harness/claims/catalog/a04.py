"""A4: what Spark passes over with failOnDataLoss=false can be counted."""

from __future__ import annotations

from harness.claims.catalog.a03 import WRITTEN, elected
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_applications import drained, reprocessed, unprocessed
from harness.suite.expect_records import lost
from harness.suite.expectations import precondition

_PASSES = elected("a04-truncated", fail=False)
_WAITS = elected("a04-not-truncated", fail=False, unclean=False)

CLAIM = Claim(
    id="A4",
    title="With failOnDataLoss=false Spark passes over records of a truncated log without an error",
    words="With failOnDataLoss=false Spark goes on if the log ends below its checkpoint. The records that "
    "took the place of those cut off are never read, and no error says so (Structured Streaming + Kafka "
    "Integration Guide, failOnDataLoss).",
    set_up="As in A3. The 20 records that were written after the unclean election have offsets below Spark's "
    "checkpoint. Control: the same with unclean.leader.election.enable=false, where nothing is cut off.",
    arms=(
        claim_arm(_PASSES, unprocessed(20), precondition(lost(500)), *WRITTEN, drained()),
        control_arm(_WAITS, unprocessed(0), reprocessed(0, 0), precondition(lost(0)), *WRITTEN, drained()),
    ),
)
