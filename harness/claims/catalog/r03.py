"""R3: a follower that does not fetch leaves the ISR."""

from __future__ import annotations

from harness.claims.clusters import LAG, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_brokers import back_in_isr, isr_history, left_isr
from harness.suite.expect_records import errors, longest_stall, lost, stall_as_long_as

_TEXT = """
name: r03-{name}
title: One follower does not hear the leader for {seconds} s
topic: {{config: {{min.insync.replicas: 2}}}}
workload: {{rate: 20}}
steps:
- write:
    name: writing
    seconds: {length}
    faults:
    - {{fault: {{partition: {{from: {{broker: 1}}, to: {{broker: 3}}}}}}, at: 1, for: {seconds}}}
- wait: {{isr: 3}}
arms:
- {{name: {name}, producer: {{acks: all}}, promise: {{lost: 0, duplicate: 0}}}}
"""

_LONG = experiment(_TEXT, LAG, name="long", seconds=14, length=18)
_SHORT = experiment(_TEXT, LAG, name="short", seconds=2, length=6)

CLAIM = Claim(
    id="R3",
    title="A follower that does not fetch leaves the ISR, and comes back when it has caught up",
    words="A follower that has not caught up within replica.lag.time.max.ms leaves the ISR, and the other "
    "replicas go on committing. Once it has caught up, it is back in the ISR.",
    set_up="replica.lag.time.max.ms is 8 s. 20 records/s are written with acks=all. One follower is cut off "
    "from the leader for 14 s, and then connected again. Control: it is cut off for 2 s.",
    today="The leader checks every half of replica.lag.time.max.ms, so a follower leaves after one to one "
    "and a half times that period (Kafka 0.9 and later, KIP-16).",
    arms=(
        claim_arm(
            _LONG,
            isr_history((1, 2, 3), (1, 2), (1, 2, 3)),
            left_isr(3, "partition", 7.5, 14.0),
            longest_stall("writing", 6.5, 15.0),
            # TCP doubles its wait before each retransmission: late by at most the length of the cut.
            back_in_isr(3, "partition", 18.0),
            errors("writing", {}),
            lost(0),
        ),
        control_arm(
            _SHORT,
            isr_history((1, 2, 3)),
            stall_as_long_as("writing", "partition"),
            errors("writing", {}),
            lost(0),
        ),
    ),
)
