"""R9: how long elections take."""

from __future__ import annotations

import json

from harness.claims.brokers import all_led
from harness.claims.clusters import MANY, experiment
from harness.claims.counts import lost
from harness.claims.frame import Claim, Role, Trial
from harness.experiment import Experiment


def _ended(fault: str, partitions: int) -> Experiment:
    return experiment(
        f"""
name: r09-{fault}-{partitions}
title: The leader of {partitions:,} partition(s) ends by {fault}
topic: {{assignment: {json.dumps([[1, 2, 3]] * partitions)}}}
steps:
- write: {{name: before, records: {min(partitions, 20)}}}
- wait: {{replicated: true}}
- inject: {{{fault}: {{target: {{broker: 1}}}}}}
- sleep: {{seconds: 1}}
- heal:
arms:
- {{name: {fault}-{partitions}, producer: {{acks: all}}, promise: {{lost: 0}}}}
""",
        MANY,
    )


def _trial(role: Role, fault: str, partitions: int, least: float, most: float) -> Trial:
    expects = (all_led(fault, {2, 3}, least, most), lost(0))
    return Trial(role, _ended(fault, partitions), f"{fault}-{partitions}", expects)


CLAIM = Claim(
    id="R9",
    title="The controller elects from the ISR, and it takes longer the more partitions there are",
    words="When a broker dies the controller elects leaders from the ISR of all its partitions; that takes "
    "longer the more there are: 0.2 s for one partition, half an hour for 10,000.",
    set_up="The leader of 1, 100 and 1,000 partitions is killed: how long until every partition has a "
    "leader that lives? Control: the broker is stopped in good order. The broker session time-out is 4 s.",
    today="Out of date: the figures are from before Kafka 1.1. With KRaft (3.3 and later) a dead leader "
    "costs broker.session.timeout.ms, and a thousand partitions little more than one.",
    alone=True,
    trials=(
        # The few partitions first: those of all before are still there.
        _trial(Role.CLAIM, "kill", 1, 2.5, 8),
        _trial(Role.CONTROL, "stop", 1, 0, 2.5),
        _trial(Role.CLAIM, "kill", 100, 2.5, 8),
        _trial(Role.CONTROL, "stop", 100, 0, 2.5),
        _trial(Role.CLAIM, "kill", 1000, 2.5, 15),
        _trial(Role.CONTROL, "stop", 1000, 0, 8),
    ),
)
