"""R22: the high watermark is the smallest log end of the ISR."""

from __future__ import annotations

from harness.claims.clusters import LAG, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_records import lost
from harness.suite.expect_watermarks import (
    high_watermark_at_log_end,
    high_watermark_behind,
    high_watermark_never_above,
    high_watermark_stands_still,
)

_ROUNDS = "of: {nodes: [1, 2, 3]}, what: [leader, high_watermark, log_end, leader]"

_TEXT = """
name: r22-{name}
title: Log ends and high watermarks under writes, {title}
workload: {{rate: 400}}
steps:
# The producer goes on while the next steps observe the brokers.
- write: {{name: writing, records: {records}, at_most: 0.5}}
- ask: {{name: whole, {rounds}, seconds: 3}}
{middle}
# The brokers are at rest only after all records are written.
- wait: {{log_end: {{of: {{broker: 1}}, at_least: {records}}}, within: 60}}
- wait: {{replicated: true, within: 40}}
- ask: {{name: rest, {rounds}}}
arms:
- {{name: {name}, producer: {{acks: 1}}, promise: {{lost: 0}}}}
"""

_CUT = experiment(
    _TEXT,
    LAG,
    name="cut",
    title="one follower cut off",
    records=8800,
    rounds=_ROUNDS,
    middle=f"""
- inject: {{partition: {{from: {{broker: 1}}, to: {{broker: 3}}}}, name: cut}}
- ask: {{name: middle, {_ROUNDS}, seconds: 12}}
- heal: {{only: [cut]}}""",
)

_WHOLE = experiment(
    _TEXT,
    LAG,
    name="whole",
    title="none cut off",
    records=2800,
    rounds=_ROUNDS,
    middle=f"- ask: {{name: middle, {_ROUNDS}, seconds: 3}}",
)

CLAIM = Claim(
    id="R22",
    title="The high watermark is the smallest log end offset of the ISR",
    words="The high watermark is the smallest log end offset among the in-sync replicas. Followers learn it "
    "one fetch later.",
    set_up="400 records/s are written with acks=1. The brokers are asked repeatedly for leader and ISR, "
    "high watermarks, log end offsets, and leader and ISR again. One follower is cut off from the leader "
    "until it has left the ISR. Control: no broker is cut off.",
    today="It is never above the smallest log end offset, and equal to it at rest. While records are "
    "written it may be behind, because the leader raises it when followers fetch again.",
    arms=(
        claim_arm(
            _CUT,
            high_watermark_never_above("whole", "middle"),
            high_watermark_behind("middle", (1, 2, 3)),
            high_watermark_stands_still("middle", 2.0, 14.0),
            high_watermark_at_log_end("rest"),
            lost(0),
        ),
        control_arm(
            _WHOLE,
            high_watermark_stands_still("middle", 0, 1.5),
            high_watermark_never_above("whole", "middle"),
            high_watermark_at_log_end("rest"),
            lost(0),
        ),
    ),
)
