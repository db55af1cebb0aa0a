"""C1: automatic commits lose records that are not processed yet."""

from __future__ import annotations

from harness.claims.crashing_consumer import WRITTEN, killed_in_a_batch
from harness.claims.model import Claim, claim_arm, control_arm
from harness.model.result import FindingClass
from harness.suite.expect_records import findings, some

CLAIM = Claim(
    id="C1",
    title="Automatic commits lose records that were received and not processed",
    words="With enable.auto.commit=true the client commits what it has handed to the application, whether "
    "that has processed it or not. If the application crashes in the middle of a batch, the rest of it is "
    "never processed. Commits after processing lose nothing.",
    set_up="One broker, one partition, one consumer that takes 5 s for each batch. 10 records are "
    "processed; it is killed 2 s after it received 50 more. 10 records follow, and a new consumer of the "
    "group continues. "
    "Claim: automatic commits every 0.5 s. Control: the application commits what it has processed.",
    today="librdkafka commits in the background by the offsets that it has handed over; the Java client "
    "commits in poll(), so it loses records only if they are processed in another thread.",
    arms=(
        claim_arm(
            killed_in_a_batch("c01", "auto", commits="auto", commit_every=0.5, skipped=">= 1"),
            *WRITTEN,
            some(FindingClass.SKIPPED, 1, 50),
        ),
        control_arm(
            killed_in_a_batch("c01", "processed", commits="manual", commit_every=0.5, skipped="0"),
            *WRITTEN,
            findings(FindingClass.SKIPPED, 0),
        ),
    ),
)
