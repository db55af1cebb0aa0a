"""R6: leader epochs prevent loss when a follower restarts behind the high watermark (KIP-101, scenario 1)."""

from __future__ import annotations

from harness.claims.clusters import PATIENT_LEADER, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_answers import answered_number
from harness.suite.expect_records import acked, lost
from harness.suite.expectations import precondition

_RESTARTS = experiment(
    """
name: r06-restarts
title: A follower restarts before it knows the high watermark, then the leader dies
topic: {assignment: [[1, 2]]}
replicas: always
together: true
steps:
# Broker 2 shall be the controller: when it is back, it finds broker 1 alive in ZooKeeper.
- inject: {stop: {target: {broker: 1}}, name: aside}
- heal: {only: [aside]}
- inject: {elect: {election: preferred}}
- write: {name: m1, records: 100}
# The checkpoint has just been written; the next one is due in 10 s.
- wait: {checkpoint: {of: {broker: 2}, file: replication-offset-checkpoint, exactly: 100}, within: 30}
- write: {name: m2, records: 100}
# The leader is cut off from the follower and from ZooKeeper, where its session lasts 36 s: the follower must
# be back before it ends.
- inject: {partition: {from: {broker: 1}, to: {nodes: [2, 201]}}, name: cut}
- inject: {kill: {target: {broker: 2}}, name: follower}
- ask: {name: dead, of: {broker: 2}, what: [checkpoint, files]}
- wait: {logged: {of: {zookeeper: true}, text: "timeout of 4000ms exceeded"}, within: 20}
- heal: {only: [follower], awaited: false}
- wait: {log_end: {of: {broker: 2}, at_least: 100}, within: 26}
- sleep: {seconds: 2}
- ask: {name: back, of: {broker: 2}, what: [leader, files]}
- inject: {kill: {target: {broker: 1}}, name: leader}
- wait: {leader: {is: {broker: 2}}, within: 60}
- heal:
- wait: {isr: 2}
arms:
- {name: new, producer: {acks: all}, promise: {lost: 0}}
- name: old
  topic: {message.format.version: 0.10.2}
  producer: {acks: all}
  promise: {lost: acked in m2}
""",
    PATIENT_LEADER,
)

_GIVEN = (
    precondition(acked("m2", 100)),
    precondition(answered_number("dead", "checkpoint", 2, 100)),
    precondition(answered_number("dead", "files", 2, 200)),
    precondition(answered_number("back", "leader", 2, 1)),
)

CLAIM = Claim(
    id="R6",
    title="Leader epochs prevent loss when a follower restarts before it has learned the high watermark",
    words="A follower that restarts before it has learned the high watermark used to truncate its log to "
    "the high watermark that it knew. If the leader then died, records that both had were lost. With leader "
    "epochs the follower asks the leader where its epoch ended, and truncates nothing that the leader has.",
    set_up="Kafka 2.8.2 with ZooKeeper, two replicas, min.insync.replicas=1. m1 is committed, and the "
    "follower's checkpoint says so; m2 is acknowledged by both replicas. The leader is cut off from the "
    "follower and from ZooKeeper, where its session stays alive. The follower is killed and comes back; "
    "then the leader is killed, and the follower leads. Control: at the same time and under the same "
    "faults, a second topic of this cluster in message format 0.10.2, which has no leader epochs.",
    today="Kafka 4.0 and later write no format older than that of 0.11 (KIP-724), so the loss can only be "
    "reproduced on brokers before 4.0. It is tried on 2.8, where a topic's setting still selects the old "
    "format.",
    pinned=True,
    arms=(
        claim_arm(_RESTARTS, *_GIVEN, lost(0, of=200), answered_number("back", "files", 2, 200), arm="new"),
        control_arm(
            _RESTARTS, *_GIVEN, lost(100, of=200), answered_number("back", "files", 2, 100), arm="old"
        ),
    ),
)
