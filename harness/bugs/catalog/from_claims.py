"""Bugs whose experiments are claims' own: what a claim's control shows is the bug."""

from __future__ import annotations

from collections.abc import Mapping

from harness.bugs.expectations import clean, free_of, shows
from harness.bugs.model import Bug, BugArm, arm
from harness.claims.catalog import r06, r07, r24
from harness.model.result import FindingClass
from harness.suite.expectations import Expectation
from harness.suite.model import Claim, ClaimArm


def _arms(claim: Claim, sides: Mapping[str, tuple[BugArm, Expectation]]) -> tuple[ClaimArm, ...]:
    """A claim's trials as arms of a bug: by the arm's name its side, and the verdict that is expected."""
    trials = {trial.arm: trial for trial in claim.trials}
    return tuple(
        arm(side, trials[name].experiment, name, verdict, *trials[name].expects)
        for name, (side, verdict) in sides.items()
    )


_KIP_101 = "https://cwiki.apache.org/confluence/display/KAFKA/"
_KIP_101 += (
    "KIP-101+-+Alter+Replication+Protocol+to+use+Leader+Epoch+rather+than+High+Watermark+for+Truncation"
)
_BEFORE = "Kafka before 0.11; Kafka up to 3.x with topics in a message format before 0.11."
_SINCE = "Kafka 0.11, message format 0.11 and later: records carry the epoch of their leader."

LOSS = Bug(
    id="KIP-101-loss",
    title="A follower truncates to an old high watermark, then leads: acknowledged records are lost",
    link=_KIP_101,
    words=r06.CLAIM.words,
    affected=_BEFORE,
    fixed=_SINCE,
    set_up=r06.CLAIM.set_up,
    proof="In both arms the follower's checkpoint says 100 and its log holds 200 when it dies, and broker 1 "
    "still leads when it is back.",
    trials=_arms(
        r06.CLAIM, {"old": (BugArm.AFFECTED, shows(FindingClass.LOST)), "new": (BugArm.FIXED, clean())}
    ),
)
DIVERGENCE = Bug(
    id="KIP-101-divergence",
    title="After both replicas died they hold different records at the same offsets",
    link=_KIP_101,
    words=r07.CLAIM.words,
    affected=_BEFORE,
    fixed=_SINCE,
    set_up=r07.CLAIM.set_up,
    proof="In both arms the dead follower's log holds 100 records, the dead leader's 200. What neither had "
    "flushed is lost in every arm: the verdict looks at divergence alone.",
    trials=_arms(
        r07.CLAIM,
        {
            "old": (BugArm.AFFECTED, shows(FindingClass.DIVERGED)),
            "new": (BugArm.FIXED, free_of(FindingClass.DIVERGED)),
        },
    ),
)
LAST_STANDING = Bug(
    id="KIP-966",
    title="The last replica standing loses power, and what others still have is truncated",
    link="https://cwiki.apache.org/confluence/display/KAFKA/KIP-966%3A+Eligible+Leader+Replicas",
    words=r24.CLAIM.words,
    affected="Kafka before 4.0; later ones with eligible.leader.replicas.version=0.",
    fixed="Kafka 4.0 and later with eligible.leader.replicas.version=1, the default of new clusters since "
    "4.1.",
    set_up="min.insync.replicas=2. 100 records are acknowledged by three replicas, one dies, 50 more by "
    "two; the other follower is stopped in good order, or cut off; the leader loses power and the batch "
    "with the 50; all come back.",
    proof="In every arm the 50 were acknowledged, and the power loss is shown by the leader's own files.",
    trials=_arms(
        r24.CLAIM,
        {
            "stop-elr-off": (BugArm.AFFECTED, shows(FindingClass.LOST)),
            "cut-elr-off": (BugArm.AFFECTED, shows(FindingClass.LOST)),
            "stop": (BugArm.FIXED, clean()),
            "cut": (BugArm.FIXED, clean()),
        },
    ),
)
