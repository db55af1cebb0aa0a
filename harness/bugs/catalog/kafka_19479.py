"""KAFKA-19479: Kafka Streams commits the offsets of records that the broker refuses."""

from __future__ import annotations

from harness.bugs.expectations import invalid_for, valid
from harness.bugs.model import Bug, affected_arm, fixed_arm
from harness.claims.clusters import ONE_BROKER, experiment
from harness.model.result import FindingClass
from harness.suite.expect_applications import drained, logged
from harness.suite.expect_records import acked
from harness.suite.expectations import precondition

_TEXT = """
name: kafka-19479
title: The output topic of a Kafka Streams application takes smaller batches than it writes
topic: {assignment: [[1]], config: {min.insync.replicas: 1}}
workload: {record_size: 1000}
application:
  run:
    builtin: kafka-streams
    options:
      guarantee: at_least_once
      commit_interval_ms: 1000
      raised_limit: 1000000
      # One batch a commit, which is given up after 8 s.
      settings:
        producer.batch.size: 400000
        producer.linger.ms: 2000
        producer.request.timeout.ms: 4000
        producer.delivery.timeout.ms: 8000
  output: {topic: {config: {max.message.bytes: 1500}}}
  guarantee: at-least-once
steps:
- write: {name: copied, records: 1000, rate: 200}
# The commits and the time-outs of what was refused.
- sleep: {seconds: 12}
- inject: {kill: {target: {application: 0}}, name: killed}
- heal: {only: [killed]}
arms:
- name: streams-4.1.0
  producer: {acks: all}
  application: {run: {options: {version: 4.1.0}}}
  promise: {unprocessed: any}
- name: streams-4.1.1
  producer: {acks: all}
  application: {run: {options: {version: 4.1.1}}}
"""
_REFUSED = experiment(_TEXT, ONE_BROKER)
_GIVEN = (precondition(acked("copied", 1000)), drained(), precondition(logged("MESSAGE_TOO_LARGE")))

BUG = Bug(
    id="KAFKA-19479",
    title="Kafka Streams commits the offsets of inputs whose outputs the broker refuses, and loses them",
    link="https://issues.apache.org/jira/browse/KAFKA-19479",
    words="Kafka Streams flushes its producer before it commits offsets. If a batch is larger than "
    "max.message.bytes, the producer splits it and sends the parts again. Its flush did not wait for the "
    "parts: the offsets were committed although nothing had been written. When the parts were given up, the "
    "application went on after them, although at_least_once promises that no input is left out.",
    affected="kafka-clients up to 4.1.0, with which Kafka Streams writes.",
    fixed="kafka-clients 4.1.1: a flush waits for the parts of a split batch.",
    set_up="One broker, one partition. 1,000 records of 1,000 bytes are copied by Kafka Streams to a topic "
    "with max.message.bytes=1500, and delivery.timeout.ms is 8 s. After 17 s the application is killed, an "
    "operator raises the limit, and it is started again.",
    proof="In both arms the broker has refused batches (MESSAGE_TOO_LARGE), by the application's own log.",
    arms=(
        affected_arm(_REFUSED, invalid_for(FindingClass.UNPROCESSED), *_GIVEN, arm="streams-4.1.0"),
        fixed_arm(_REFUSED, valid(), *_GIVEN, arm="streams-4.1.1"),
    ),
)
