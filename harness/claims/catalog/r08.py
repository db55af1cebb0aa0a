"""R8: leader epochs and leader-epoch-checkpoint."""

from __future__ import annotations

from harness.claims.clusters import experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_answers import epoch_end
from harness.suite.expect_brokers import epoch_lines
from harness.suite.expect_records import lost

_TEXT = """
name: r08-{name}
title: {title}
replicas: always
steps:
- write: {{name: epoch0, records: 5}}
- wait: {{replicated: true}}
- inject: {{transfer: {{to: {{broker: 2}}}}}}
{middle}
- inject: {{stop: {{target: {{broker: 2}}}}}}
- write: {{name: epoch2, records: 5}}
- ask: {{name: ends, of: {{leader: 0}}, what: [epoch_ends]}}
arms:
- {{name: acks=all, producer: {{acks: all}}, promise: {{lost: 0}}}}
"""

_WRITES = experiment(
    _TEXT,
    name="writes",
    title="Two elections, a write after each",
    middle="- write: {name: epoch1, records: 5}\n- wait: {replicated: true}",
)
_SILENT = experiment(
    _TEXT, name="silent", title="Two elections, and a write only after the second", middle=""
)

CLAIM = Claim(
    id="R8",
    title="Each election raises the leader epoch, and leader-epoch-checkpoint gains a line",
    words="The leader epoch rises at each election, and leader-epoch-checkpoint gains a line with the new "
    "epoch and the offset at which it begins.",
    set_up="Leadership moves once, and then the new leader is stopped; 5 records are written in each epoch. "
    "Control: nothing is written in the middle epoch.",
    today="An epoch in which nothing was written has no line, and OffsetForLeaderEpoch answers a question "
    "about it with the largest smaller epoch in which something was written.",
    arms=(
        claim_arm(
            _WRITES,
            epoch_lines((0, 0), (1, 5), (2, 10)),
            epoch_end("ends", 1, (1, 10)),
            lost(0, of=15),
        ),
        control_arm(_SILENT, epoch_lines((0, 0), (2, 5)), epoch_end("ends", 1, (0, 5)), lost(0, of=10)),
    ),
)
