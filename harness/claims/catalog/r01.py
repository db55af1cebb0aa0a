"""R1: N replicas survive N - 1 failures."""

from __future__ import annotations

from harness.claims.clusters import experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_records import acked, acked_during, lost
from harness.suite.expectations import precondition

_ONE_BY_ONE = experiment("""
name: r01-one-by-one
title: Two of three brokers die one after the other, the ISR intact each time
steps:
- write: {name: three, records: 100}
- inject: {kill: {target: {broker: 1}}}
- wait: {isr: {is: {nodes: [2, 3]}}}
- write: {name: two, records: 100}
- inject: {kill: {target: {leader: 0}}}
- wait: {isr: 1}
- write: {name: one, records: 100}
- heal:
arms:
- {name: acks=all, producer: {acks: all}, promise: {lost: 0}}
""")

_CUT_OFF = experiment("""
name: r01-cut-off
title: The first leader dies cut off from its followers
steps:
- write: {name: three, records: 100}
- wait: {replicated: true}
- inject: {partition: {from: {broker: 1}, to: {nodes: [2, 3]}}}
- write: {name: two, records: 100, at_most: 5}
- wait: {isr: 3, within: 1}
- inject: {kill: {target: {broker: 1}}}
- wait: {isr: {is: {nodes: [2, 3]}}}
- inject: {kill: {target: {leader: 0}}}
- wait: {isr: 1}
- write: {name: one, records: 100}
- heal:
arms:
- {name: acks=1, producer: {acks: 1}, promise: {lost: acked in two}}
""")

CLAIM = Claim(
    id="R1",
    title="N replicas survive N - 1 broker failures with no committed record lost",
    words="With replication factor N a partition survives N - 1 broker failures, and no committed record is"
    " lost.",
    set_up="Three replicas, min.insync.replicas=1, acks=all. 100 records are written and the leader is "
    "killed; 100 more are written and the next leader is killed; 100 more are written and all brokers come "
    "back. Control: with acks=1, the followers are cut off from the first leader while it takes the second "
    "100 records.",
    today="It holds if the ISR is intact at each failure. A replica that had left the ISR does not count as "
    "a survivor, and records that were acknowledged but not committed (acks=1) are not covered.",
    arms=(
        claim_arm(
            _ONE_BY_ONE,
            lost(0, of=300),
            acked("three", 100),
            acked("two", 100),
            acked("one", 100),
        ),
        control_arm(
            _CUT_OFF,
            precondition(acked_during("two", 100)),
            precondition(acked("one", 100)),
            lost(100, of=300),
        ),
    ),
)
