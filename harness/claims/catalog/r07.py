"""R7: leader epochs prevent divergence after all replicas died (KIP-101, scenario 2)."""

from __future__ import annotations

from harness.claims.clusters import TWO_OF_OLD, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.model.result import FindingClass
from harness.suite.expect_answers import answered_number, differing_offsets
from harness.suite.expect_records import acked, findings, lost
from harness.suite.expectations import precondition

_BOTH_DIE = experiment(
    """
name: r07-both-die
title: Both replicas die, and the one that comes back first had not flushed all
topic: {assignment: [[1, 2]]}
replicas: always
together: true
steps:
- write: {name: m1, records: 100}
# In the old format the follower truncates to the high watermark that it knows.
- wait: {high_watermark: {of: {nodes: [1, 2]}, exactly: 100}}
# A broker that shuts down has flushed its log: this step leaves what a power loss would leave.
- inject: {stop: {target: {broker: 2}}, name: flushed}
- heal: {only: [flushed]}
- write: {name: m2, records: 100}
- wait: {log_end: {of: {nodes: [1, 2]}, exactly: 200}}
- wait: {checkpoint: {of: {broker: 1}, file: replication-offset-checkpoint, exactly: 200}}
- inject: {kill: {target: {broker: 1}}, name: leader}
# In both topics, because they are on one machine.
- inject: {power_loss: {target: {broker: 2}, topic: all}, name: follower}
- ask: {name: dead, of: {nodes: [1, 2]}, what: [files]}
# By then both sessions, of 4 s, have ended.
- sleep: {seconds: 7}
- heal: {only: [follower], awaited: false}
- wait: {leader: {is: {broker: 2}}, within: 40}
# Gives the client time to learn of the leader: a broker that has just started knows no topic.
- sleep: {seconds: 2}
- write: {name: m3, records: 100}
- heal:
- wait: {isr: 2}
- write: {name: m4, records: 100}
- wait: {replicated: true}
- ask: {name: end, of: {nodes: [1, 2]}, what: [files]}
arms:
# Records that only the follower had are lost in both topics: they had not reached its disk.
- name: new
  producer: &soon {acks: all, extra: {topic.metadata.refresh.interval.ms: 500}}
  promise: {lost: acked in m2, diverged: 0}
- name: old
  topic: {message.format.version: 0.10.2}
  producer: *soon
  promise: {lost: acked in m2, diverged: 100}
""",
    TWO_OF_OLD,
)

_GIVEN = (
    precondition(acked("m2", 100)),
    precondition(acked("m3", 100)),
    precondition(acked("m4", 100)),
    precondition(answered_number("dead", "files", 1, 200)),
    precondition(answered_number("dead", "files", 2, 100)),
    precondition(lost(100, of=400)),
)

CLAIM = Claim(
    id="R7",
    title="Leader epochs prevent divergence after both replicas die",
    words="Leader and follower die. The follower has lost the end of its log and comes back first, so it "
    "leads and takes other records at those offsets. Without leader epochs the old leader keeps its own "
    "records, and the two replicas differ for good. With leader epochs it truncates them, and the replicas "
    "are identical.",
    set_up="Kafka 2.8.2 with ZooKeeper, two replicas, min.insync.replicas=1. m1 and m2 are acknowledged by "
    "both replicas. The leader is killed; the follower loses power, and m2 with it. The follower comes "
    "back, leads, and takes m3 at those offsets; the old leader comes back, and m4 is written. Control: at "
    "the same time and under the same faults, a second topic of this cluster in message format 0.10.2, "
    "which has no leader epochs.",
    today="m2 is lost in both arms: one copy never reached the disk, and the other is truncated in favour "
    "of the new leader. Leader epochs promise that replicas agree, not that records which were never "
    "flushed survive. Kafka 4.0 and later write no format older than that of 0.11 (KIP-724).",
    pinned=True,
    arms=(
        claim_arm(
            _BOTH_DIE,
            *_GIVEN,
            differing_offsets("end", 1, 2, 0),
            findings(FindingClass.DIVERGED, 0),
            arm="new",
        ),
        control_arm(
            _BOTH_DIE,
            *_GIVEN,
            differing_offsets("end", 1, 2, 100),
            findings(FindingClass.DIVERGED, 100),
            arm="old",
        ),
    ),
)
