"""R22: the high watermark is the smallest log end of the ISR."""

from __future__ import annotations

from harness.claims.clusters import LAG, experiment
from harness.claims.model import Claim
from harness.suite.expect_records import lost
from harness.suite.expect_watermarks import (
    high_watermark_at_log_end,
    high_watermark_behind,
    high_watermark_never_above,
    high_watermark_stands_still,
)
from harness.suite.model import Role, SuiteArm

_ROUNDS = "of: {nodes: [1, 2, 3]}, what: [leader, high_watermark, log_end, leader]"

_TEXT = """
name: r22-{name}
title: Log ends and high watermarks under writes, {title}
workload: {{rate: 400}}
steps:
# The producer goes on while the next steps look.
- write: {{name: writing, records: {records}, at_most: 0.5}}
- ask: {{name: whole, {rounds}, seconds: 3}}
{middle}
# All is written: only then are the brokers at rest.
- wait: {{log_end: {{of: {{broker: 1}}, at_least: {records}}}, within: 60}}
- wait: {{replicated: true, within: 40}}
- ask: {{name: rest, {rounds}}}
arms:
- {{name: {name}, producer: {{acks: 1}}, promise: {{lost: 0}}}}
"""

_CUT = experiment(
    _TEXT.format(
        name="cut",
        title="one follower cut off",
        records=8800,
        rounds=_ROUNDS,
        middle=f"""
- inject: {{partition: {{from: {{broker: 1}}, to: {{broker: 3}}}}, name: cut}}
- ask: {{name: middle, {_ROUNDS}, seconds: 12}}
- heal: {{only: [cut]}}""",
    ),
    LAG,
)

_WHOLE = experiment(
    _TEXT.format(
        name="whole",
        title="none cut off",
        records=2800,
        rounds=_ROUNDS,
        middle=f"- ask: {{name: middle, {_ROUNDS}, seconds: 3}}",
    ),
    LAG,
)

CLAIM = Claim(
    id="R22",
    title="The high watermark is the smallest log end offset of the ISR",
    words="The high watermark is the smallest log end offset among the in-sync replicas; followers learn it"
    " one fetch later.",
    set_up="400 records/s with acks=1. Over and over the brokers are asked for leader and ISR, high "
    "watermarks, log ends, and leader and ISR again; one follower is cut from the leader until it has left "
    "the ISR. Control: nobody is cut.",
    today="It is never above the smallest log end, and equal to it at rest; under writes it may be behind, "
    "since the leader raises it when followers fetch again.",
    by_day=True,
    arms=(
        SuiteArm(
            Role.CLAIM,
            _CUT,
            "cut",
            (
                high_watermark_never_above("whole", "middle"),
                high_watermark_behind("middle", (1, 2, 3)),
                high_watermark_stands_still("middle", 2.0, 14.0),
                high_watermark_at_log_end("rest"),
                lost(0),
            ),
        ),
        SuiteArm(
            Role.CONTROL,
            _WHOLE,
            "whole",
            (
                high_watermark_stands_still("middle", 0, 1.5),
                high_watermark_never_above("whole", "middle"),
                high_watermark_at_log_end("rest"),
                lost(0),
            ),
        ),
    ),
)
