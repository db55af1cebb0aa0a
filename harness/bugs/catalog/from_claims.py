"""Bugs that use the experiments of claims: the control of the claim shows the bug."""

from __future__ import annotations

from collections.abc import Mapping

from harness.bugs.expectations import free_of, invalid_for, valid
from harness.bugs.model import Bug
from harness.claims.catalog import r06, r07, r24
from harness.claims.model import Claim
from harness.model.result import FindingClass
from harness.suite.expectations import Expectation
from harness.suite.model import Role, SuiteArm


def _arms(claim: Claim, roles: Mapping[str, tuple[Role, Expectation]]) -> tuple[SuiteArm, ...]:
    """The arms of a claim as arms of a bug; `roles`: each arm's role and expected verdict by its name."""
    arms = {one.arm: one for one in claim.arms}
    return tuple(
        SuiteArm(role, arms[name].experiment, name, (verdict, *arms[name].expects))
        for name, (role, verdict) in roles.items()
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
    proof="In both arms the follower's checkpoint says 100 and its log holds 200 records when it dies, and "
    "broker 1 still leads when the follower is back.",
    arms=_arms(
        r06.CLAIM, {"old": (Role.AFFECTED, invalid_for(FindingClass.LOST)), "new": (Role.FIXED, valid())}
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
    proof="In both arms the dead follower's log holds 100 records and the dead leader's 200. What neither "
    "had flushed is lost in every arm, so the verdict looks at divergence alone.",
    arms=_arms(
        r07.CLAIM,
        {
            "old": (Role.AFFECTED, invalid_for(FindingClass.DIVERGED)),
            "new": (Role.FIXED, free_of(FindingClass.DIVERGED)),
        },
    ),
)
LAST_STANDING = Bug(
    id="KIP-966",
    title="The last replica standing loses power, and records that others still have are truncated",
    link="https://cwiki.apache.org/confluence/display/KAFKA/KIP-966%3A+Eligible+Leader+Replicas",
    words=r24.CLAIM.words,
    affected="Kafka before 4.0; later ones with eligible.leader.replicas.version=0.",
    fixed="Kafka 4.0 and later with eligible.leader.replicas.version=1, the default of new clusters since "
    "4.1.",
    set_up="min.insync.replicas=2. 100 records are acknowledged by three replicas; one replica dies, and 50 "
    "more records are acknowledged by two. The other follower is shut down in a controlled way, or cut off. "
    "The leader loses power, and with it the batch of the 50 records; all brokers come back.",
    proof="In every arm the 50 records were acknowledged, and the leader's own files show the power loss.",
    arms=_arms(
        r24.CLAIM,
        {
            "stop-elr-off": (Role.AFFECTED, invalid_for(FindingClass.LOST)),
            "cut-elr-off": (Role.AFFECTED, invalid_for(FindingClass.LOST)),
            "stop": (Role.FIXED, valid()),
            "cut": (Role.FIXED, valid()),
        },
    ),
)
