"""R5: checkpoints, segment dumps and what clients saw."""

from __future__ import annotations

from harness.claims.clusters import experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_answers import answered_number, batches, read_from_broker
from harness.suite.expect_brokers import replicas_identical
from harness.suite.expect_records import acked_during, lost
from harness.suite.expectations import precondition

_BEGIN = """
- write: {name: message1, records: 10}
- wait: {high_watermark: {of: {nodes: [1, 2, 3]}, exactly: 10}}
- wait: {checkpoint: {of: {nodes: [1, 2, 3]}, file: replication-offset-checkpoint, exactly: 10}}
- inject: {partition: {from: {broker: 1}, to: {nodes: [2, 3]}}, name: cut}
- write: {name: message2, records: 5, at_most: 5}
- wait: {log_end: {of: {broker: 1}, exactly: 15}, within: 1}
- ask: {name: above, of: {nodes: [1, 2, 3]}, what: [checkpoint, fetch, files]}
"""

_COMMITTED = experiment(f"""
name: r05-committed
title: What the leader took alone is committed, and checkpointed, once followers have it
replicas: always
steps:{_BEGIN}
- heal: {{only: [cut]}}
- wait: {{high_watermark: {{of: {{nodes: [1, 2, 3]}}, exactly: 15}}}}
- wait: {{checkpoint: {{of: {{nodes: [1, 2, 3]}}, file: replication-offset-checkpoint, exactly: 15}}}}
- ask: {{name: committed, of: {{nodes: [1, 2, 3]}}, what: [checkpoint, fetch, files]}}
arms:
- {{name: acks=1, producer: {{acks: 1}}, promise: {{lost: 0}}}}
""")

_NEVER = experiment(f"""
name: r05-never-committed
title: The leader dies with records above the high watermark
replicas: always
steps:{_BEGIN}
- wait: {{isr: 3, within: 1}}
- inject: {{kill: {{target: {{broker: 1}}}}, name: death}}
- ask: {{name: dead, of: {{broker: 1}}, what: [files]}}
- ask: {{name: after, of: {{nodes: [2, 3]}}, what: [fetch]}}
- heal:
arms:
- {{name: acks=1, producer: {{acks: 1}}, promise: {{lost: acked in message2}}}}
""")

CLAIM = Claim(
    id="R5",
    title="Checkpoints and segment files agree with what clients saw",
    words="replication-offset-checkpoint holds the committed offset of each partition. A dump of a segment "
    "shows base offset, leader epoch, producer id and sequence. Both agree with what consumers receive.",
    set_up="10 records are committed. The leader is cut off from its followers and takes 5 more records "
    "with acks=1; after the cut is healed, they are committed. Control: the leader dies instead, and the 5 "
    "records are only in its files.",
    arms=(
        claim_arm(
            _COMMITTED,
            precondition(acked_during("message2", 5)),
            replicas_identical(),
            answered_number("above", "files", 1, 15),
            answered_number("above", "checkpoint", 1, 10),
            read_from_broker("above", 1, 10),
            answered_number("committed", "checkpoint", 1, 15),
            read_from_broker("committed", 1, 15),
            batches("committed", 1, leader_epoch=0, records=15),
        ),
        control_arm(
            _NEVER,
            precondition(acked_during("message2", 5)),
            answered_number("dead", "files", 1, 15),
            read_from_broker("above", 1, 10),
            read_from_broker("after", 2, 10),
            lost(5, of=15),
        ),
    ),
)
