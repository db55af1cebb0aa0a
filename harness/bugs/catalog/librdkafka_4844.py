"""librdkafka 4844: a consumer commits the end of a partition as if it were a record."""

from __future__ import annotations

from harness.bugs.expectations import invalid_for, valid
from harness.bugs.model import Bug, affected_arm, fixed_arm
from harness.claims.clusters import experiment
from harness.model.result import FindingClass
from harness.spec.cluster import ClusterSpec
from harness.suite.expect_records import acked, committed
from harness.suite.expectations import precondition

_TEXT = """
name: librdkafka-4844
title: A consumer reaches the end of the partition, and is restarted
topic: {assignment: [[1]], config: {min.insync.replicas: 1}}
steps:
- write: {name: first, records: 10}
# It has reached the end by then: the broker answers a fetch without records after fetch.wait.max.ms=100.
- restart_reader: {reader: app, received: 10, after: 2, away: true}
- write: {name: second, records: 10}
- restart_reader: {reader: app}
arms:
- name: client-2.13.0
  producer: {acks: all}
  readers: [{name: app, group: app, commits: auto, commit_every: 60, reset: earliest, version: 2.13.0}]
  promise: {skipped: 1}
- name: client-2.13.2
  producer: {acks: all}
  readers: [{name: app, group: app, commits: auto, commit_every: 60, reset: earliest, version: 2.13.2}]
"""
_RESTARTED = experiment(_TEXT, ClusterSpec(brokers=1))
_WRITTEN = (precondition(acked("first", 10)), precondition(acked("second", 10)))

BUG = Bug(
    id="librdkafka-4844",
    title="A consumer commits the end of a partition as if it were a record, and skips the next one",
    link="https://github.com/confluentinc/librdkafka/issues/4844",
    words="Applications that ask for it (enable.partition.eof=true) are told when a partition has been read "
    "to its end. If they receive batches (consume), the client counts that message as if it were a record: "
    "it stores, and commits, an offset that is too high by one. The next consumer of the group skips the "
    "record that is written at the offset in between.",
    affected="librdkafka 2.2.0 to 2.13.0, thus confluent-kafka 2.13.0.",
    fixed="librdkafka 2.13.2, and confluent-kafka 2.13.2.",
    set_up="One broker, one partition, one consumer with automatic commits. It receives 10 records and the "
    "end of the partition, and is closed. 10 more records are written, and a new consumer of the group "
    "continues. No fault happens.",
    proof="In both arms the first consumer commits when it closes: offset 11 or offset 10.",
    arms=(
        affected_arm(
            _RESTARTED,
            invalid_for(FindingClass.SKIPPED),
            *_WRITTEN,
            precondition(committed("app-0", session=0, offset=11)),
            arm="client-2.13.0",
        ),
        fixed_arm(
            _RESTARTED,
            valid(),
            *_WRITTEN,
            precondition(committed("app-0", session=0, offset=10)),
            arm="client-2.13.2",
        ),
    ),
)
