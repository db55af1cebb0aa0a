"""R23: ISR against majority."""

from __future__ import annotations

from harness.claims.clusters import FIVE_CONTROLLERS, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_brokers import leaders_at_end_of, led_during
from harness.suite.expect_records import acked, acked_during, lost

_TEXT = """
name: r23-{name}
title: {count} of 5 controllers are dead, then the leader of a partition of two replicas is frozen
topic: {{assignment: [[1, 2]]}}
steps:
- write: {{name: all-up, records: 20}}
- wait: {{replicated: true}}
- inject: {{kill: {{target: {dead}}}, name: controllers}}
- write: {{name: with-leader, records: 20, at_most: 10}}
- wait: {{replicated: true}}
- inject: {{pause: {{target: {{broker: 1}}}}, name: leader}}
- write: {{name: without-leader, records: 20, at_most: 20}}
- heal:
arms:
- {{name: {name}, producer: {{acks: all, socket.timeout.ms: 3000}}, promise: {{lost: 0}}}}
"""

# The control does not kill the active controller: with two dead voters it takes half a minute until another
# is elected and the brokers find it, and the experiment is about the election of a partition's leader.
_OTHERS = "{some: {of: {both: [controllers, {not: controller}]}, count: 2}}"
_MAJORITY = experiment(_TEXT, FIVE_CONTROLLERS, name="three-dead", count=3, dead="{nodes: [101, 102, 103]}")
_MINORITY = experiment(_TEXT, FIVE_CONTROLLERS, name="two-dead", count=2, dead=_OTHERS)

CLAIM = Claim(
    id="R23",
    title="n failures need n + 1 replicas by ISR where a majority needs 2n + 1",
    words="Data survives n failures with n + 1 replicas. Metadata, which a majority keeps, needs 2n + 1 "
    "controllers: without a majority of them there are no elections, while living leaders go on.",
    set_up="5 controllers, and a partition with 2 replicas. 3 controllers are killed: writes to the living "
    "leader go on. Then the leader is frozen: no replica is elected. Control: only 2 controllers are "
    "killed, none of them the active one, and the other replica is elected.",
    arms=(
        claim_arm(
            _MAJORITY,
            acked_during("without-leader", 0),
            acked_during("with-leader", 20),
            led_during("without-leader", {1}),
            lost(0),
        ),
        control_arm(
            _MINORITY,
            acked("without-leader", 20),
            acked_during("with-leader", 20),
            leaders_at_end_of("without-leader", {0: (2,)}),
            lost(0),
        ),
    ),
)
