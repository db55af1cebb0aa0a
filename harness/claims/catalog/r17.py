"""R17: min.insync.replicas."""

from __future__ import annotations

from harness.claims.clusters import experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_records import acked, errors, in_log, lost
from harness.suite.expectations import precondition

_DOWN = experiment("""
name: r17-two-down
title: One broker is down, then two
together: true
topic: {config: {min.insync.replicas: 2}}
steps:
- write: {name: all-up, records: 20}
- inject: {kill: {target: {broker: 3}}}
- wait: {isr: {is: {nodes: [1, 2]}}}
- write: {name: one-down, records: 20}
- inject: {kill: {target: {broker: 2}}}
- wait: {isr: {is: {broker: 1}}}
- write: {name: two-down, records: 20}
- heal:
arms:
- {name: acks=all, producer: {acks: all, retries: 0}}
- {name: acks=1, producer: {acks: 1}}
- {name: min.insync.replicas=1, topic: {min.insync.replicas: 1}, producer: {acks: all, retries: 0}}
""")

CLAIM = Claim(
    id="R17",
    title="An ISR below min.insync.replicas refuses acks=all",
    words="With n replicas and min.insync.replicas=2, n - 2 brokers may fail and writes with acks=all go "
    "on. If one more fails, they are refused with NOT_ENOUGH_REPLICAS, while writes with acks=1 are still "
    "accepted.",
    set_up="Three replicas, min.insync.replicas=2. One follower is killed and 20 records are written; the "
    "other follower is killed and 20 more are written. Control: min.insync.replicas=1.",
    arms=(
        claim_arm(
            _DOWN,
            errors("two-down", {"NOT_ENOUGH_REPLICAS": 20}),
            acked("one-down", 20),
            in_log("two-down", 0),
            lost(0, of=40),
            arm="acks=all",
        ),
        claim_arm(_DOWN, acked("two-down", 20), lost(0, of=60), arm="acks=1"),
        control_arm(
            _DOWN,
            precondition(acked("one-down", 20)),
            acked("two-down", 20),
            lost(0, of=60),
            arm="min.insync.replicas=1",
        ),
    ),
)
