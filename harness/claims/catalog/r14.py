"""R14: leadership of a dead broker's partitions moves; without a leader a partition is unavailable."""

from __future__ import annotations

from harness.claims.clusters import FOUR, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_brokers import leaders_at_end_of
from harness.suite.expect_records import (
    acked_during,
    faster_than_others,
    lost,
    refused_partitions,
    slowest_ack,
)

_TOPIC = "{assignment: [[1, 2, 3], [2, 3, 4], [3, 4, 1], [4, 1, 2]], config: {min.insync.replicas: 1}}"

_KILLED = experiment(
    f"""
name: r14-killed
title: One of four brokers dies, then all replicas of one partition
topic: {_TOPIC}
steps:
# Warms up connections, so that the measurement does not include them.
- write: {{name: warm, records: 40}}
- write:
    name: one-down
    seconds: 9
    rate: 80
    faults:
    - {{fault: {{kill: {{target: {{broker: 1}}}}}}, at: 1, for: 5}}
- wait: {{isr: 3}}
- inject: {{kill: {{target: {{nodes: [1, 2, 3]}}}}}}
- write: {{name: all-down, records: 40, at_most: 5}}
- heal:
arms:
- {{name: killed, producer: {{acks: all}}, promise: {{lost: 0}}}}
""",
    FOUR,
)

_QUIET = experiment(
    f"""
name: r14-quiet
title: No broker dies
topic: {_TOPIC}
steps:
- write: {{name: warm, records: 40}}
- write: {{name: one-down, seconds: 5, rate: 80}}
- write: {{name: all-down, records: 40, at_most: 5}}
arms:
- {{name: quiet, producer: {{acks: all}}, promise: {{lost: 0}}}}
""",
    FOUR,
)

CLAIM = Claim(
    id="R14",
    title="Leadership of a dead broker's partitions moves; without any replica a partition is unavailable",
    words="With 4 brokers and 4 partitions of 3 replicas each, one of the followers takes over the "
    "partition of a dead leader. When all replicas of a partition are dead, it has no leader, and writes to "
    "it wait.",
    set_up="Partition 0 is on brokers 1, 2, 3, partition 1 on 2, 3, 4, and so on. Broker 1 is killed while "
    "records are written; later brokers 1, 2 and 3 are dead. Control: nothing is killed.",
    today="With acks=all the partitions of which the dead broker was a follower stall as well, until the "
    "controller has removed it from their ISR. With retries=0 only the sends that are in flight at the kill "
    "fail at once; later sends wait for delivery.timeout.ms.",
    arms=(
        claim_arm(
            _KILLED,
            leaders_at_end_of("one-down", {0: (2, 3), 1: (2,), 2: (3,), 3: (4,)}),
            slowest_ack("one-down", 2.5, 9, partition=0),
            # The others wait until the dead broker is fenced, 3 to 4 s; this one does not.
            faster_than_others("one-down", 1, 1.0, None),
            slowest_ack("one-down", 2.5, 9, partition=2),
            slowest_ack("one-down", 2.5, 9, partition=3),
            refused_partitions("all-down", {0}),
            lost(0),
        ),
        control_arm(
            _QUIET,
            faster_than_others("one-down", 1, None, 1.0),
            acked_during("all-down", 40),
            refused_partitions("all-down", set()),
            lost(0),
        ),
    ),
)
