"""FLINK-35749: Flink's Kafka sink loses what its producer could not send in time, and checkpoints go on."""

from __future__ import annotations

from harness.bugs.expectations import invalid_for, valid
from harness.bugs.model import Bug, affected_arm, fixed_arm
from harness.claims.clusters import experiment
from harness.model.result import FindingClass
from harness.spec.cluster import ClusterSpec
from harness.suite.expect_applications import drained
from harness.suite.expect_records import acked
from harness.suite.expectations import precondition

_TEXT = """
name: flink-35749
title: The broker of the output is away for longer than the sink's delivery.timeout.ms
topic: {assignment: [[1]], config: {min.insync.replicas: 1}}
application:
  run:
    builtin: flink-kafka-sink
    options:
      # Long enough for the outage to begin and end between two checkpoints.
      checkpoint_ms: 20000
      producer: {delivery.timeout.ms: 4000, request.timeout.ms: 2000, linger.ms: 0}
  output: {topic: {assignment: [[2]]}}
  guarantee: at-least-once
  drained: {lag: 0, quiet: 1, within: 90}
steps:
- write: {name: before, records: 1000}
# Its group has the offsets of a checkpoint, which has just been completed.
- wait: {application: drained, within: 60}
- inject: {pause: {target: {broker: 2}}, name: away}
- write: {name: meanwhile, records: 1000}
- sleep: {seconds: 7}
- heal: {only: [away]}
- write: {name: after, records: 1000}
arms:
- name: connector-3.2.0
  producer: {acks: all}
  application: {run: {options: {connector: 3.2.0-1.19}}}
  promise: {unprocessed: ">= 1"}
- name: connector-3.3.0
  producer: {acks: all}
  application: {run: {options: {connector: 3.3.0-1.19}}}
"""
_AWAY = experiment(_TEXT, ClusterSpec(brokers=2))
_GIVEN = (*(precondition(acked(step, 1000)) for step in ("before", "meanwhile", "after")), drained())

BUG = Bug(
    id="FLINK-35749",
    title="Flink's Kafka sink loses what its producer could not send in time, and its checkpoints go on",
    link="https://issues.apache.org/jira/browse/FLINK-35749",
    words="If the brokers of the output topic are away for longer than delivery.timeout.ms, the sink's "
    "producer gives records up and tells so by a callback. The sink handed the exception to a task of its "
    "mailbox whose result nobody looked at, and forgot it. The next checkpoint succeeds, and what was given "
    "up is never written, although the sink promises at-least-once.",
    affected="flink-connector-kafka 3.1 and 3.2.",
    fixed="flink-connector-kafka 3.3.0: the exception fails the job, which continues from its last "
    "checkpoint.",
    set_up="Two brokers, one leads the input and the other one the output. Flink 1.19 copies 1,000 records "
    "with a checkpoint every 20 s and delivery.timeout.ms=4000. Just after a checkpoint the broker of the "
    "output is paused, 1,000 records are written to the input, and the broker goes on after 7 s. 1,000 more "
    "records follow.",
    proof="In both arms the group of the job has no lag at the end: a checkpoint has succeeded after all "
    "that was written.",
    arms=(
        affected_arm(_AWAY, invalid_for(FindingClass.UNPROCESSED), *_GIVEN, arm="connector-3.2.0"),
        fixed_arm(_AWAY, valid(), *_GIVEN, arm="connector-3.3.0"),
    ),
)
