"""R6: leader epochs prevent loss when a follower restarts behind the high watermark (KIP-101, scenario 1)."""

from __future__ import annotations

from harness.claims.clusters import PATIENT_LEADER, experiment
from harness.claims.model import Claim
from harness.suite.expect_answers import answered_number
from harness.suite.expect_records import acked, lost
from harness.suite.expectations import precondition
from harness.suite.model import Role, SuiteArm

_RESTARTS = experiment(
    """
name: r06-restarts
title: A follower restarts before it knows the high watermark, then the leader dies
topic: {assignment: [[1, 2]]}
replicas: always
together: true
steps:
# Broker 2 is to be the controller: once it is back from the dead it finds broker 1 alive in ZooKeeper.
- inject: {stop: {target: {broker: 1}}, name: aside}
- heal: {only: [aside]}
- inject: {elect: {election: preferred}}
- write: {name: m1, records: 100}
# The checkpoint has just been written: the next one is 10 s away.
- wait: {checkpoint: {of: {broker: 2}, file: replication-offset-checkpoint, exactly: 100}, within: 30}
- write: {name: m2, records: 100}
# From the follower and from ZooKeeper, where the leader's session lives on for 36 s: the follower must be
# back before that is over.
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
    "the one it knew; if the leader then died, what both had was lost. With leader epochs it asks the "
    "leader where its epoch ended, and truncates nothing that the leader has.",
    set_up="Kafka 2.8.2 with ZooKeeper, two replicas, min.insync.replicas=1. m1 is committed, and the "
    "follower's checkpoint says so; m2 is acknowledged by both. The leader is cut from the follower and "
    "from ZooKeeper, where its session lives on; the follower is killed and comes back; then the leader is "
    "killed, and the follower leads. Control: at the same time, under the very same faults, a second topic of"
    " this cluster in message format 0.10.2, which has no leader epochs.",
    today="Kafka 4.0 and later write no older format than 0.11's (KIP-724), so that the loss can only be "
    "had on brokers before that. 2.8 is tried since it takes the format as a topic's setting.",
    pinned=True,
    arms=(
        SuiteArm(
            Role.CLAIM, _RESTARTS, "new", (*_GIVEN, lost(0, of=200), answered_number("back", "files", 2, 200))
        ),
        SuiteArm(
            Role.CONTROL,
            _RESTARTS,
            "old",
            (*_GIVEN, lost(100, of=200), answered_number("back", "files", 2, 100)),
        ),
    ),
)
