"""A5: Spark does not notice that a topic was made again, if the new one is longer."""

from __future__ import annotations

from harness.claims.clusters import ONE_BROKER, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_applications import drained, unprocessed
from harness.suite.expect_endings import failed, outputs
from harness.suite.expect_records import acked
from harness.suite.expectations import precondition

_TEXT = """
name: a05-{name}
title: The topic is deleted and made again, {name} than before
topic: {{assignment: [[1], [1], [1]]}}
workload: {{producers: 1}}
application:
  run: {{builtin: spark-kafka-sink, options: {{failOnDataLoss: true}}}}
  guarantee: at-least-once
  must_fail: {must_fail}
steps:
- write: {{name: before, records: 1500}}
- wait: {{application: drained, within: 120}}
- inject: {{stop: {{target: {{application: 0}}}}, name: away}}
- recreate_topic:
- write: {{name: again, records: {records}}}
- heal: {{only: [away]}}
arms:
- {{name: {name}, producer: {{acks: all}}, promise: {{unprocessed: any}}}}
"""
_LONGER = experiment(_TEXT, ONE_BROKER, name="longer", records=2250, must_fail="false")
_SHORTER = experiment(_TEXT, ONE_BROKER, name="shorter", records=750, must_fail="true")

CLAIM = Claim(
    id="A5",
    title="If a topic is deleted and made again with more records than before, Spark passes over the first "
    "of them, even with failOnDataLoss=true",
    words="Spark's checkpoint holds offsets, and not the topic's id. If the topic is made again while the "
    "query is away, and the new one is longer than the checkpoint, the query goes on at the old offset: "
    "all that is below it in the new topic is never read, and no error says so.",
    set_up="Spark copies 500 records of each of three partitions and is stopped. The topic is deleted and "
    "made again, and gets 750 records for each partition. Spark is started again with failOnDataLoss=true. "
    "Control: the new topic gets 250 for each partition, and Spark sees that its checkpoint is beyond the "
    "end.",
    arms=(
        claim_arm(
            _LONGER,
            unprocessed(1500),
            precondition(acked("before", 1500)),
            precondition(acked("again", 2250)),
            drained(),
        ),
        control_arm(
            _SHORTER,
            failed(),
            outputs(1500),
            precondition(acked("before", 1500)),
            precondition(acked("again", 750)),
        ),
    ),
)
