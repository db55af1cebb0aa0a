"""A8: Kafka Streams with at_least_once doubles outputs and loses none."""

from __future__ import annotations

from harness.claims.catalog.a07 import AT_LEAST_ONCE, WRITTEN
from harness.claims.clusters import ONE_BROKER, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_applications import reprocessed, unprocessed

_TEXT = """
name: a08-streams-left-alone
title: Kafka Streams without a fault
topic: {assignment: [[1], [1], [1]]}
application:
  run: {builtin: kafka-streams, options: {guarantee: at_least_once, commit_interval_ms: 10000}}
  guarantee: at-least-once
steps:
- write: {name: copied, records: 9000, rate: 900}
arms:
- {name: no-fault, producer: {acks: all}}
"""
_ALONE = experiment(_TEXT, ONE_BROKER)

CLAIM = Claim(
    id="A8",
    title="Kafka Streams with at_least_once doubles what it had not committed when it was killed, and loses "
    "nothing",
    words="With processing.guarantee=at_least_once, the default, a Kafka Streams application that is killed "
    "leaves no input out. What it has written since its last commit it writes again.",
    set_up="A copy by Kafka Streams with commit.interval.ms=10000 takes 9,000 records, 600 a second. Its "
    "only instance is killed with SIGKILL after 6 s, and is started again a second later. Control: no fault.",
    arms=(
        claim_arm(AT_LEAST_ONCE, reprocessed(1), unprocessed(0), *WRITTEN),
        control_arm(_ALONE, reprocessed(0, 0), unprocessed(0), *WRITTEN, arm="no-fault"),
    ),
)
