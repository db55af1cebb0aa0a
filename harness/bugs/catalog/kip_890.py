"""KIP-890: a record that comes after its transaction has ended opens one that nobody ever ends."""

from __future__ import annotations

from harness.bugs.clusters import BEFORE_KRAFT_ONLY, TRANSACTIONS, UNVERIFIED
from harness.bugs.expectations import REFUSED, TAKEN, answered_requests, invalid_for, valid
from harness.bugs.model import Bug, affected_arm, fixed_arm
from harness.claims.clusters import experiment
from harness.model.journal import TxnOutcome
from harness.model.result import FindingClass
from harness.suite.expect_groups import transaction
from harness.suite.expect_records import acked, outcomes
from harness.suite.expectations import Expectation, precondition

_TEXT = """
name: kip-890-{name}
title: A record is held on its way, its transaction is aborted, and it arrives then
# Broker 2 leads both partitions; broker 1 only coordinates the transactions.
topic: {{assignment: [[2, 1], [2, 1]]}}
workload: {{client: driven, driven: {{transactional: true, coordinator: 1}}}}
steps:
# Opens the connection to broker 2, while partition 0 does not know the producer.
- drive: {{name: warm, by: writer, do: [begin, send: {{partition: 1}}, commit]}}
- inject: {{partition: {{from: client, to: {{broker: 2}}, lost: from_to}}, name: deaf}}
- drive: {{name: late, by: writer, do: [begin, send: {{partition: 0}}, abort]}}
- heal: {{only: [deaf]}}
# The held Produce arrives, because the kernel kept retransmitting it.
- wait:
    logged: {{of: {{broker: 2}}, text: '"clientId":"writer","requestApiKeyName":"PRODUCE"', times: 2}}
    within: 40
- drive: {{name: after, by: other, do: [begin, send: {{partition: 0, records: 100}}, commit]}}
- ask: {{name: requests, of: {{broker: 2}}, what: [printed], text: '"requestApiKeyName":"PRODUCE"'}}
arms:
- name: {name}
  producer: {{acks: all, request.timeout.ms: 2000, delivery.timeout.ms: 3000, transaction.timeout.ms: 5000}}
  promise: {{lost: {lost}}}
"""


def _happened(answer: str) -> tuple[Expectation, ...]:
    return (
        precondition(acked("warm", 1)),
        precondition(outcomes("late", indeterminate=1)),
        precondition(transaction(0, 1, TxnOutcome.ABORTED)),
        precondition(acked("after", 100)),
        precondition(answered_requests("requests", 2, "PRODUCE", (TAKEN, answer), client="writer")),
    )


BUG = Bug(
    id="KIP-890",
    title="A late record leaves a transaction open for ever: read_committed consumers stop",
    link="https://cwiki.apache.org/confluence/display/KAFKA/KIP-890",
    words="A record that was delayed on its way, and arrives after its transaction was aborted, opens a "
    "transaction on the partition that the coordinator does not know. No one ever ends it: the last stable "
    "offset stops, and read_committed consumers receive nothing from there on, whatever other producers "
    "commit (KAFKA-14402).",
    affected="Kafka before 3.6; later ones with transaction.partition.verification.enable=false.",
    fixed="Kafka 3.6: a leader asks the coordinator before it accepts the first record of a transaction; "
    "and 4.0 with transaction.version=2, where each transaction has an epoch of its own.",
    set_up="Two brokers: one coordinates the transactions, the other leads the partitions. A transaction "
    "writes to partition 1. Then packets from clients to the leader are dropped: the next transaction "
    "writes to partition 0, its record times out after delivery.timeout.ms=3000, and it is aborted. Packets "
    "pass again, and the record arrives. Another producer commits 100 records to partition 0.",
    proof="In every arm the leader's request log holds the late Produce request and its answer.",
    arms=(
        affected_arm(
            experiment(_TEXT, UNVERIFIED, name="unverified", lost="acked in after"),
            invalid_for(FindingClass.LOST),
            *_happened(TAKEN),
        ),
        fixed_arm(experiment(_TEXT, BEFORE_KRAFT_ONLY, name="3.9.2", lost=0), valid(), *_happened(REFUSED)),
        fixed_arm(experiment(_TEXT, TRANSACTIONS, name="shipped", lost=0), valid(), *_happened(REFUSED)),
    ),
)
