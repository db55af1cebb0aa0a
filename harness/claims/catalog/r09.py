"""R9: how long elections take."""

from __future__ import annotations

import json

from harness.claims.clusters import MANY, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.spec.experiment import Experiment
from harness.suite.expect_brokers import all_partitions_led
from harness.suite.expect_records import acked, lost
from harness.suite.expectations import precondition
from harness.suite.model import SuiteArm


def _size(partitions: int) -> Experiment:
    return experiment(
        f"""
name: r09-leaders-of-{partitions}
title: The leader of {partitions:,} partition(s) is killed, and the next one is stopped
topic: {{assignment: {json.dumps([[1, 2, 3]] * partitions)}}}
steps:
- write: {{name: before, records: {min(partitions, 20)}}}
- wait: {{replicated: true, within: 120}}
# The next in-sync replica takes over its partitions: broker 2 then leads all of them.
- inject: {{kill: {{target: {{broker: 1}}}}}}
- heal:
- inject: {{stop: {{target: {{broker: 2}}}}}}
- heal:
arms:
- {{name: of-{partitions}, producer: {{acks: all, delivery.timeout.ms: 120000}}, promise: {{lost: 0}}}}
""",
        MANY,
    )


def _arms(partitions: int, killed: float, stopped: float) -> tuple[SuiteArm, SuiteArm]:
    """`killed`, `stopped`: seconds at most until every partition has a new leader."""
    size = _size(partitions)
    all_acked = precondition(acked("before", min(partitions, 20)))
    return (
        claim_arm(size, all_acked, all_partitions_led("kill", {2, 3}, 2.5, killed), lost(0)),
        control_arm(size, all_acked, all_partitions_led("stop", {1, 3}, 0, stopped), lost(0)),
    )


CLAIM = Claim(
    id="R9",
    title="The controller elects from the ISR, and it takes longer the more partitions there are",
    words="When a broker dies, the controller elects a leader from the ISR for each of its partitions. That "
    "takes longer the more partitions there are: 0.2 s for one partition, half an hour for 10,000.",
    set_up="The leader of 1, 100, 1,000 and 5,000 partitions is killed, and the time until every partition "
    "has a living leader is measured. Control: the next leader of all of them is shut down in a controlled "
    "way. The broker session time-out is 4 s. Log dirs are in memory, so that the creation of files does "
    "not dominate the time.",
    today="Out of date: the figures are from before Kafka 1.1. With KRaft (3.3 and later) the death of a "
    "leader costs broker.session.timeout.ms, and thousands of partitions take little longer than one.",
    alone=True,
    arms=(
        # The smallest number first: the topics of earlier experiments still exist.
        *_arms(1, 8, 2.5),
        *_arms(100, 8, 2.5),
        *_arms(1000, 15, 8),
        *_arms(5000, 40, 30),
    ),
)
