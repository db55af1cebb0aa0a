"""KIP-279: replicas diverge after unclean elections that follow each other fast."""

from __future__ import annotations

from harness.bugs.clusters import OLD_PROTOCOL, OWN_PROTOCOL
from harness.bugs.expectations import free_of, invalid_for
from harness.bugs.model import Bug, affected_arm, fixed_arm
from harness.claims.clusters import experiment
from harness.model.result import FindingClass
from harness.suite.expect_answers import differing_offsets
from harness.suite.expect_records import acked
from harness.suite.expectations import precondition

_TEXT = """
name: kip-279-{name}
title: Two replicas lead by turns, each without what the other has written meanwhile
topic: {{assignment: [[1, 2]], config: {{min.insync.replicas: 1, unclean.leader.election.enable: true}}}}
replicas: always
steps:
- write: {{name: m1, records: 10}}
- wait: {{replicated: true}}
- inject: {{kill: {{target: {{broker: 2}}}}, name: second}}
- wait: {{isr: {{is: {{broker: 1}}}}, within: 30}}
- write: {{name: m2, records: 10}}
- inject: {{kill: {{target: {{broker: 1}}}}, name: first}}
# By then its session, of 4 s, has ended.
- sleep: {{seconds: 6}}
- heal: {{only: [second], awaited: false}}
- wait: {{leader: {{is: {{broker: 2}}}}, within: 60}}
# Gives the client time to learn of the leader: a broker that has just started knows no topic.
- sleep: {{seconds: 2}}
- write: {{name: m3, records: 5}}
- inject: {{kill: {{target: {{broker: 2}}}}, name: second-again}}
- sleep: {{seconds: 6}}
- heal: {{only: [first], awaited: false}}
- wait: {{leader: {{is: {{broker: 1}}}}, within: 60}}
- sleep: {{seconds: 2}}
- write: {{name: m4, records: 10}}
- heal:
- wait: {{isr: 2, within: 60}}
- wait: {{replicated: true}}
- ask: {{name: end, of: {{nodes: [1, 2]}}, what: [files]}}
arms:
- name: {name}
  # One record per batch: differences are then visible record by record.
  producer: {{acks: all, batch.num.messages: 1, extra: {{topic.metadata.refresh.interval.ms: 500}}}}
  # The unclean elections alone lose m3.
  promise: {{lost: acked in m3, diverged: {diverged}}}
"""


_HAPPENED = tuple(
    precondition(acked(step, count)) for step, count in {"m1": 10, "m2": 10, "m3": 5, "m4": 10}.items()
)

BUG = Bug(
    id="KIP-279",
    title="Replicas differ for good after unclean elections that follow each other fast",
    link="https://cwiki.apache.org/confluence/display/KAFKA/"
    "KIP-279%3A+Fix+log+divergence+between+leader+and+follower+after+fast+leader+fail+over",
    words="A follower asks its leader where the follower's last leader epoch ended. A leader that had never "
    "seen that epoch used to answer that it did not know, or with the end of its own log. The follower then "
    "kept records that the leader never had, and the replicas differed at the same offsets for good "
    "(KAFKA-6361).",
    affected="Kafka before 2.0; later ones with inter.broker.protocol.version below 2.0.",
    fixed="Kafka 2.0: the leader answers with the largest smaller epoch that it knows, and the follower "
    "asks again.",
    set_up="Kafka 2.8.2 with ZooKeeper, two replicas, unclean elections allowed. m1 is on both brokers, and "
    "broker 2 is killed. m2 goes to broker 1, which is killed. Broker 2 comes back, leads, takes m3 (5 "
    "records) and is killed. Broker 1 comes back, leads and takes m4. Broker 2 comes back and follows.",
    proof="All four steps were acknowledged, so each broker led alone in turn, and the replicas' own files "
    "are compared. Unclean elections lose m3 in every arm, so the verdict looks at divergence alone.",
    arms=(
        affected_arm(
            experiment(_TEXT, OLD_PROTOCOL, name="protocol-1.1", diverged=5),
            invalid_for(FindingClass.DIVERGED),
            *_HAPPENED,
            differing_offsets("end", 1, 2, 5),
        ),
        fixed_arm(
            experiment(_TEXT, OWN_PROTOCOL, name="shipped", diverged=0),
            free_of(FindingClass.DIVERGED),
            *_HAPPENED,
            differing_offsets("end", 1, 2, 0),
        ),
    ),
)
