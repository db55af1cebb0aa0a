"""KAFKA-17754: a commit that comes late ends the next transaction of its producer."""

from __future__ import annotations

from harness.bugs.clusters import BEFORE_KRAFT_ONLY, FIRST_TRANSACTIONS, TRANSACTIONS
from harness.bugs.expectations import REFUSED, TAKEN, answered_requests, invalid_for, valid
from harness.bugs.model import Bug, affected_arm, fixed_arm
from harness.claims.clusters import experiment
from harness.model.journal import TxnOutcome
from harness.model.result import FindingClass
from harness.suite.expect_groups import transaction
from harness.suite.expect_records import acked
from harness.suite.expectations import Expectation, precondition

_TEXT = """
name: kafka-17754-{name}
title: A commit is held on its way, sent again, and arrives in the middle of the next transaction
# Broker 2 leads both partitions; broker 1 only coordinates the transactions.
topic: {{assignment: [[2, 1], [2, 1]]}}
workload: {{client: driven, driven: {{transactional: true, coordinator: 1}}}}
steps:
- drive: {{name: one, by: writer, do: [begin, send: {{partition: 0}}]}}
- inject: {{hold_connections: {{target: {{broker: 1}}}}, name: held}}
# The commit is stuck; after request.timeout.ms the client sends it again over a new connection.
- drive: {{name: commit-one, by: writer, do: [commit]}}
- drive: {{name: two, by: writer, do: [begin, send: {{partition: 0}}]}}
- heal: {{only: [held]}}
# The held commit arrives, because the kernel kept retransmitting it.
- wait: {{logged: {{of: {{broker: 1}}, text: '"requestApiKeyName":"END_TXN"', times: 2}}, within: 40}}
- drive: {{name: rest-of-two, by: writer, do: [send: {{partition: 1}}, abort]}}
- ask: {{name: requests, of: {{broker: 1}}, what: [printed], text: '"requestApiKeyName":"END_TXN"'}}
arms:
{arms}
"""
_DRIVEN = "{client: driven, driven: {transactional: true, coordinator: 1, version: 3.9.2}}"


def _arm(name: str, more: str = "") -> str:
    return f"- {{name: {name}, producer: {{acks: all, request.timeout.ms: 2000}}{more}}}"


_BROKEN = ", promise: {aborted_read: 1}"
_BOTH = _arm("shipped") + "\n" + _arm("old-client", f"{_BROKEN}, workload: {_DRIVEN}")
_SHIPPED = experiment(_TEXT, TRANSACTIONS, name="shipped", arms=_BOTH)
_VERSION_0 = experiment(_TEXT, FIRST_TRANSACTIONS, name="version-0", arms=_arm("version-0", _BROKEN))
_OLD = experiment(_TEXT, BEFORE_KRAFT_ONLY, name="3.9.2", arms=_arm("old", _BROKEN))

_HAPPENED = (
    precondition(acked("one", 1)),
    precondition(acked("two", 1)),
    precondition(transaction(0, 0, TxnOutcome.COMMITTED)),
    precondition(transaction(0, 1, TxnOutcome.ABORTED)),
)


def _late(answer: str) -> tuple[Expectation, ...]:
    return (
        precondition(
            answered_requests("requests", 1, "END_TXN", (TAKEN, answer), client="writer", committed=True)
        ),
    )


_SHOWN = (invalid_for(FindingClass.ABORTED_READ), *_HAPPENED, *_late(TAKEN))

BUG = Bug(
    id="KAFKA-17754",
    title="A late commit ends the next transaction: aborted records are read",
    link="https://issues.apache.org/jira/browse/KAFKA-17754",
    words="A commit (EndTxn) is delayed on its way, and sent again meanwhile. It still counts when it "
    "arrives in the middle of the producer's next transaction, and commits what that transaction has "
    "written so far. What the application then aborts is read by read_committed consumers, and the "
    "transaction is torn.",
    affected="Kafka before 4.0; Kafka 4.0 and later with transaction.version below 2, or with a client from "
    "before 4.0, whose transactions are the old ones.",
    fixed="Kafka 4.0 with a client of 4.0 (KIP-890, transaction.version=2): each transaction has an epoch "
    "of its own, and the late commit carries an older one.",
    set_up="Two brokers: one coordinates the transactions, the other leads the partitions. Transaction one "
    "writes a record. The connections between clients and the coordinator are held; the commit gets stuck "
    "on its way, times out after request.timeout.ms=2000, is sent again over a new connection, and is "
    "answered there. Transaction two writes a record to partition 0. The connections are released, and the "
    "old commit arrives. Transaction two writes to partition 1, and is aborted.",
    proof="In every arm the coordinator's request log holds the commit twice before the abort, and its "
    "answer to the second.",
    arms=(
        affected_arm(_SHIPPED, *_SHOWN, arm="old-client"),
        affected_arm(_VERSION_0, *_SHOWN),
        affected_arm(_OLD, *_SHOWN),
        fixed_arm(_SHIPPED, valid(), *_HAPPENED, *_late(REFUSED), arm="shipped"),
    ),
)
