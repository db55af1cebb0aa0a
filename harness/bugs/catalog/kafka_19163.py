"""KAFKA-19163: a group is deleted while its only offsets are in an open transaction."""

from __future__ import annotations

from harness.bugs.clusters import EXPIRING
from harness.bugs.expectations import invalid_for, valid
from harness.bugs.model import Bug, affected_arm, fixed_arm
from harness.claims.clusters import experiment
from harness.model.journal import TxnOutcome
from harness.model.result import FindingClass
from harness.suite.expect_groups import last_answer, transaction
from harness.suite.expect_records import acked
from harness.suite.expectations import precondition

_TEXT = """
name: kafka-19163-{name}
title: Expired offsets are looked for while a group has nothing but offsets of an open transaction
topic: {{assignment: [[1]]}}
workload: {{client: driven, driven: {{transactional: true}}}}
steps:
- drive: {{name: one, by: writer, do: [begin, send: {{records: 5}}, send_offsets: {{group: app, offset: 5}}]}}
# When these have expired and are removed, the broker has looked at every group.
- commit_offsets: {{name: expiring, through: {{all: true}}, retention: 0.1}}
- wait:
    logged: {{of: {{broker: 1}}, text: tombstone records while cleaning up group metadata}}
    within: 60
- drive: {{name: two, by: writer, do: [commit]}}
arms:
- {{name: {name}, producer: {{acks: all}}, promise: {{commit_lost: {lost}}}}}
"""
_HAPPENED = (
    precondition(acked("one", 5)),
    precondition(transaction(0, 0, TxnOutcome.COMMITTED)),
)

BUG = Bug(
    id="KAFKA-19163",
    title="A group whose first offsets are in an open transaction is deleted, and the commit is lost",
    link="https://issues.apache.org/jira/browse/KAFKA-19163",
    words="Brokers look for expired offsets every offsets.retention.check.interval.ms. A group that has "
    "none but those of an open transaction counts as one without offsets, and is deleted. When the "
    "transaction is committed its records are there, but the group's offsets are not: the application is "
    "given the same records again, and processes them twice in spite of exactly-once.",
    affected="Kafka 4.0.0; 3.7 to 3.9 with the new group coordinator.",
    fixed="Kafka 4.0.1 and 4.1.0: offsets of open transactions count.",
    set_up="One broker with offsets.retention.check.interval.ms=1000 in place of ten minutes. A transaction "
    "writes 5 records and sends offset 5 of group app. Another group commits an offset that expires at once. "
    "When the broker has removed that, the transaction is committed.",
    proof="In every arm the broker's log says that it has removed the other group, so it has looked at all "
    "groups while the transaction was open; and the client was told that the transaction is committed.",
    arms=(
        affected_arm(
            experiment(_TEXT, EXPIRING.model_copy(update={"version": "4.0.0"}), name="4.0.0", lost=1),
            invalid_for(FindingClass.COMMIT_LOST),
            *_HAPPENED,
            last_answer("app", None),
        ),
        fixed_arm(
            experiment(_TEXT, EXPIRING, name="4.3.1", lost=0),
            valid(),
            *_HAPPENED,
            last_answer("app", 5),
        ),
    ),
)
