"""A6: retention overtakes Spark."""

from __future__ import annotations

from harness.claims.clusters import ONE_BROKER, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.model.result import FindingClass
from harness.suite.expect_applications import drained, reprocessed, unprocessed
from harness.suite.expect_endings import failed, outputs
from harness.suite.expect_records import acked, findings
from harness.suite.expectations import precondition

_TEXT = """
name: a06-{name}
title: Spark is away, and {title}
topic: {{assignment: [[1], [1], [1]]}}
workload: {{producers: 1}}
application:
  run: {{builtin: spark-kafka-sink}}
  guarantee: at-least-once
steps:
- write: {{name: before, records: 1500}}
- wait: {{application: drained, within: 120}}
- inject: {{stop: {{target: {{application: 0}}}}, name: away}}
- write: {{name: meanwhile, records: 1500}}
- delete_records: {{before: {before}}}
- heal: {{only: [away]}}
arms:
- name: fails-on-data-loss
  producer: {{acks: all}}
  application: {{must_fail: {must_fail}}}
- name: goes-on
  producer: {{acks: all}}
  application: {{run: {{options: {{failOnDataLoss: false}}}}}}
  promise: {{unprocessed: {unprocessed}}}
"""
_OVERTAKEN = experiment(
    _TEXT,
    ONE_BROKER,
    name="overtaken",
    title="retention overtakes it",
    before=750,
    must_fail="true",
    unprocessed=750,
)
_BEHIND = experiment(
    _TEXT,
    ONE_BROKER,
    name="not-overtaken",
    title="retention removes only what it has processed",
    before=400,
    must_fail="false",
    unprocessed=0,
)
_WRITTEN = (precondition(acked("before", 1500)), precondition(acked("meanwhile", 1500)))

CLAIM = Claim(
    id="A6",
    title="If retention overtakes Spark, it stops with failOnDataLoss=true, and passes over what is gone "
    "with failOnDataLoss=false",
    words="Records that retention deletes before Spark has read them cannot be processed. With "
    "failOnDataLoss=true the query stops with an error; with false it goes on at the oldest record that is "
    "left, and no error says what is missing (Structured Streaming + Kafka Integration Guide, "
    "failOnDataLoss).",
    set_up="Spark copies 500 records of each of three partitions and is stopped. 500 more are written to "
    "each partition, and those below offset 750 are deleted (DeleteRecords, as retention would). Spark is "
    "started again. Control: those below offset 400 are deleted.",
    arms=(
        claim_arm(_OVERTAKEN, failed(), outputs(1500), *_WRITTEN, arm="fails-on-data-loss"),
        claim_arm(
            _OVERTAKEN,
            unprocessed(750),
            precondition(findings(FindingClass.EXPIRED, 2250)),
            *_WRITTEN,
            drained(),
            arm="goes-on",
        ),
        control_arm(
            _BEHIND, unprocessed(0), reprocessed(0, 0), *_WRITTEN, drained(), arm="fails-on-data-loss"
        ),
    ),
)
