"""R12: what acks=0, acks=1 and acks=all lose when the leader dies."""

from __future__ import annotations

from harness.claims.clusters import experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.model.result import FindingClass
from harness.suite.expect_records import acked, acked_during, errors, findings, lost, outcomes
from harness.suite.expectations import precondition

_CUT = experiment("""
name: r12-cut
title: The leader is cut from its followers, takes 500 records, and dies
together: true
steps:
- write: {name: together, records: 500}
- wait: {replicated: true}
- inject: {partition: {from: {broker: 1}, to: {nodes: [2, 3]}}}
- write: {name: alone, records: 500, at_most: 5}
# If the followers had left the ISR by now, none of them could be elected.
- wait: {isr: 3, within: 1}
- inject: {kill: {target: {broker: 1}}}
- heal:
arms:
- {name: acks=0, producer: {acks: 0}, promise: {unconfirmed_absent: 500}}
- {name: acks=1, producer: {acks: 1}, promise: {lost: acked in alone}}
- {name: acks=all, producer: {acks: all, delivery.timeout.ms: 3000}, promise: {lost: 0}}
""")

_NO_CUT = experiment("""
name: r12-no-cut
title: The followers copy 500 records, and the leader dies
together: true
steps:
- write: {name: together, records: 500}
- write: {name: alone, records: 500}
- wait: {replicated: true}
- inject: {kill: {target: {broker: 1}}}
- heal:
arms:
- {name: acks=0, producer: {acks: 0}, promise: {unconfirmed_absent: 0}}
- {name: acks=1, producer: {acks: 1}, promise: {lost: 0}}
- {name: acks=all, producer: {acks: all, delivery.timeout.ms: 3000}, promise: {lost: 0}}
""")

CLAIM = Claim(
    id="R12",
    title="acks=0 may lose, acks=1 loses what followers have not copied, acks=all does not",
    words="With acks=0 a producer may lose any record. With acks=1 it loses acknowledged records if the "
    "leader dies before its followers have copied them. With acks=all it does not.",
    set_up="The leader is cut off from its followers, but not from the client. 500 records are written to "
    "it, it is killed within replica.lag.time.max.ms, and all faults are healed. Control: no cut.",
    arms=(
        claim_arm(
            _CUT,
            precondition(outcomes("alone", unconfirmed=500)),
            findings(FindingClass.UNCONFIRMED_ABSENT, 500),
            arm="acks=0",
        ),
        claim_arm(_CUT, precondition(acked_during("alone", 500)), lost(500, of=1000), arm="acks=1"),
        claim_arm(
            _CUT, lost(0, of=500), acked("alone", 0), errors("alone", {"_MSG_TIMED_OUT": 500}), arm="acks=all"
        ),
        control_arm(
            _NO_CUT,
            precondition(outcomes("alone", unconfirmed=500)),
            findings(FindingClass.UNCONFIRMED_ABSENT, 0),
            arm="acks=0",
        ),
        control_arm(_NO_CUT, precondition(acked("alone", 500)), lost(0, of=1000), arm="acks=1"),
        control_arm(_NO_CUT, precondition(acked("alone", 500)), lost(0, of=1000), arm="acks=all"),
    ),
)
