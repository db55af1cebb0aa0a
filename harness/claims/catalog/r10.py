"""R10: a controlled shutdown costs less than a kill."""

from __future__ import annotations

from harness.claims.clusters import experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_answers import lines_printed, load_seconds
from harness.suite.expect_records import longest_stall, lost

_TEXT = """
name: r10-{fault}
title: The leader ends by {fault}, with a large segment that was never flushed
workload: {{record_size: 2000}}
steps:
- write: {{name: load, records: 20000}}
- wait: {{replicated: true}}
- write:
    name: writing
    seconds: 7
    rate: 200
    faults:
    - {{fault: {{{fault}: {{target: {{broker: 1}}}}}}, at: 1, for: 5}}
- ask: {{name: recovering, of: {{broker: 1}}, what: [printed], text: recovered for r10-}}
- ask: {{name: loaded, of: {{broker: 1}}, what: [printed], text: Loaded}}
arms:
- {{name: {fault}, producer: {{acks: all, delivery.timeout.ms: 120000}}, promise: {{lost: 0}}}}
"""

_KILL = experiment(_TEXT, fault="kill")
_STOP = experiment(_TEXT, fault="stop")

CLAIM = Claim(
    id="R10",
    title="A controlled shutdown costs less downtime than a kill, and no log recovery",
    words="A controlled shutdown moves leadership first, so that clients hardly wait, and leaves a log that "
    "needs no recovery. The partitions of a killed broker wait until its session ends, and its logs are "
    "recovered.",
    set_up="40 MB are in one segment, and 200 records/s are written with acks=all. The leader gets SIGTERM "
    "and is started again. Control: it gets SIGKILL. The broker session time-out is 4 s.",
    alone=True,
    arms=(
        claim_arm(
            _STOP,
            longest_stall("writing", 0, 2.5),
            lines_printed("recovering", 1, 0, 0),
            load_seconds("loaded", 1),
            lost(0),
            curve="writing",
        ),
        control_arm(
            _KILL,
            longest_stall("writing", 2.5, 10),
            lines_printed("recovering", 1, 1, None),
            load_seconds("loaded", 1),
            lost(0),
            curve="writing",
        ),
    ),
)
