"""KIP-903: a replica that has lost its disk is let into the ISR on an old request, and leads."""

from __future__ import annotations

from harness.bugs.clusters import BEFORE_ELIGIBLE, OLD_METADATA, PRINTING
from harness.bugs.expectations import invalid_for, isr_change, valid
from harness.bugs.model import Bug, affected_arm, fixed_arm
from harness.claims.clusters import experiment
from harness.model.result import FindingClass
from harness.suite.expect_answers import answered_number
from harness.suite.expect_records import acked
from harness.suite.expectations import Expectation, precondition

_TEXT = """
name: kip-903-{name}
title: A follower's way back into the ISR is held up; meanwhile it loses its disk
topic: {{config: {{min.insync.replicas: 2}}}}
steps:
- write: {{name: three, records: 100}}
- inject: {{kill: {{target: {{broker: 2}}}}, name: out}}
- wait: {{isr: {{is: {{nodes: [1, 3]}}}}, within: 30}}
- write: {{name: two, records: 100}}
# Heartbeats go on; the connection for ISR changes is opened when there is a change to request.
- inject: {{refuse_connections: {{from: {{broker: 1}}, to: {{nodes: [101]}}}}, name: mute}}
- heal: {{only: [out], awaited: false}}
- wait: {{log_end: {{of: {{broker: 2}}, exactly: 200}}, within: 40}}
# Caught up: the leader now wants to add it to the ISR, and cannot send the request.
- sleep: {{seconds: 2}}
- inject: {{partition: {{from: {{broker: 1}}, to: {{broker: 2}}}}, name: cut}}
# Its directory id stays: a new one would change the partition, and the old request would be refused.
- inject: {{wipe_disk: {{target: {{broker: 2}}, keep_identity: true}}, name: wiped}}
- heal: {{only: [wiped], awaited: false}}
# It registers again, and is fenced until it has caught up with the metadata.
- wait:
    logged: {{of: {{nodes: [101]}}, text: request from broker 2 to unfence has been granted, times: 2}}
    within: 60
- wait: {{log_end: {{of: {{broker: 2}}, exactly: 0}}, within: 30}}
- ask: {{name: empty, of: {{broker: 2}}, what: [log_end]}}
- ask: {{name: before, of: {{broker: 1}}, what: [leader]}}
- heal: {{only: [mute], awaited: false}}
# The old request arrives at the controller.
- wait: {{logged: {{of: {{nodes: [101]}}, text: '"requestApiKeyName":"ALTER_PARTITION"'}}, within: 40}}
- ask: {{name: printed, of: {{nodes: [101]}}, what: [printed], text: '"requestApiKeyName":"ALTER_PARTITION"'}}
- ask: {{name: after, of: {{broker: 1}}, what: [leader]}}
- inject: {{kill: {{target: {{broker: 1}}}}}}
- wait: {{leader: {{is: {{nodes: [2, 3]}}}}, within: 30}}
- heal:
- wait: {{isr: 3, within: 60}}
arms:
- {{name: {name}, producer: {{acks: all}}, promise: {{lost: {lost}}}}}
"""


def _happened(error: str) -> tuple[Expectation, ...]:
    return (
        precondition(acked("three", 100)),
        precondition(acked("two", 100)),
        precondition(answered_number("empty", "log_end", 2, 0)),
        precondition(isr_change("printed", 101, 2, error)),
    )


BUG = Bug(
    id="KIP-903",
    title="A replica that has lost its disk joins the ISR and is elected, and all records are lost",
    link="https://cwiki.apache.org/confluence/display/KAFKA/KIP-903",
    words="A follower has caught up, and the leader asks the controller to add it to the ISR. While that "
    "request is delayed, the follower dies and comes back with an empty disk. The controller then adds it "
    "to the ISR, because the request does not say which incarnation of the broker it means. When the leader "
    "dies, the empty replica is elected cleanly, and the others truncate to it (KAFKA-14139).",
    affected="Kafka before 3.5; any later one with metadata.version below 3.5-IV1.",
    fixed="metadata.version 3.5-IV1: followers fetch with their broker epoch, and a request to change the "
    "ISR names the epoch of each member.",
    set_up="Three brokers, acks=all, min.insync.replicas=2, no unclean elections. 200 records are "
    "acknowledged, half of them while broker 2 was down. The leader, broker 1, cannot open a connection to "
    "the controller. Broker 2 comes back and catches up, so that the leader wants to add it to the ISR. It "
    "is killed, and its disk is emptied except for meta.properties (a new directory id would change the "
    "partition, and the request would be refused for that). It comes back cut off from the leader. Then the "
    "leader's request gets through, and the leader is killed.",
    proof="Broker 2's log ends at 0 when the request arrives. In every arm the controller's request log "
    "holds the request and its answer: accepted, or refused (INELIGIBLE_REPLICA) because it names the epoch "
    "of an earlier incarnation of broker 2.",
    arms=(
        affected_arm(
            experiment(_TEXT, OLD_METADATA, name="metadata-3.4", lost=200),
            invalid_for(FindingClass.LOST),
            *_happened("NONE"),
        ),
        fixed_arm(
            experiment(_TEXT, BEFORE_ELIGIBLE, name="metadata-3.9", lost=0),
            valid(),
            *_happened("INELIGIBLE_REPLICA"),
        ),
        fixed_arm(
            experiment(_TEXT, PRINTING, name="shipped", lost=0), valid(), *_happened("INELIGIBLE_REPLICA")
        ),
    ),
)
