"""R20: a slow follower is evicted and comes back."""

from __future__ import annotations

from harness.claims.clusters import LAG, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_brokers import back_in_isr, isr_history, left_isr
from harness.suite.expect_records import lost

_TEXT = """
name: r20-{name}
title: The link from the leader to one follower takes {rate}
workload: {{record_size: 5000, rate: 200}}
steps:
- write:
    name: writing
    seconds: 18
    faults:
    - {{fault: {{bandwidth: {{target: {{broker: 1}}, to: {{broker: 3}}, rate: {rate}}}}}, at: 1, for: 15}}
- wait: {{isr: 3}}
arms:
- {{name: {name}, producer: {{acks: 1}}, promise: {{lost: 0}}}}
"""

_SLOW = experiment(_TEXT, LAG, name="slow", rate="2mbit")
_FAST = experiment(_TEXT, LAG, name="fast", rate="32mbit")

CLAIM = Claim(
    id="R20",
    title="A slow follower is evicted, catches up and returns",
    words="A follower that is alive but slower than the writes leaves the ISR, and returns once it has "
    "caught up.",
    set_up="1 MB/s (8 Mbit/s) is written with acks=1. The link from the leader to one follower is limited "
    "to 2 Mbit/s for 15 s. Control: to 32 Mbit/s.",
    today="With acks=all the producer slows down to the follower's pace, and no follower needs to leave the "
    "ISR.",
    arms=(
        claim_arm(
            _SLOW,
            isr_history((1, 2, 3), (1, 2), (1, 2, 3)),
            left_isr(3, "bandwidth", 7.5, 15.0),
            back_in_isr(3, "bandwidth", 10.0),
            lost(0),
        ),
        control_arm(_FAST, isr_history((1, 2, 3)), lost(0)),
    ),
)
