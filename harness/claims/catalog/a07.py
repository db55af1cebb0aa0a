"""A7 and what A8 shares with it: Kafka Streams, an instance of which is killed."""

from __future__ import annotations

from harness.claims.clusters import ONE_BROKER, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_applications import drained, reprocessed, unprocessed
from harness.suite.expect_records import acked
from harness.suite.expectations import precondition

RECORDS = 9000
_TEXT = """
name: {name}
title: An instance of Kafka Streams is killed in the midst of its work
topic: {{assignment: [[1], [1], [1]]}}
application:
  run:
    builtin: kafka-streams
    options: {{guarantee: {guarantee}, commit_interval_ms: {interval}}}
  guarantee: {promised}
steps:
- write:
    name: copied
    records: 9000
    rate: 600
    faults: [{{fault: {{kill: {{target: {{application: 0}}}}}}, at: 6, for: 1}}]
arms:
- {{name: {promised}, producer: {{acks: all}}}}
"""
_EXACTLY_ONCE = experiment(
    _TEXT,
    ONE_BROKER,
    name="a07-streams-killed",
    guarantee="exactly_once_v2",
    interval=2000,
    promised="exactly-once",
)
AT_LEAST_ONCE = experiment(
    _TEXT,
    ONE_BROKER,
    name="a08-streams-killed",
    guarantee="at_least_once",
    interval=10000,
    promised="at-least-once",
)
WRITTEN = (precondition(acked("copied", RECORDS)), drained())

CLAIM = Claim(
    id="A7",
    title="Kafka Streams with exactly_once_v2 processes each input exactly once, also if it is killed",
    words="With processing.guarantee=exactly_once_v2 a Kafka Streams application that is killed leaves no "
    "input out, and readers of committed records get no output twice (KIP-129, KIP-447).",
    set_up="A copy by Kafka Streams takes 9,000 records from one broker, 600 a second. Its only instance is "
    "killed with SIGKILL after 6 s, and is started again a second later. The output is read with "
    "read_committed. Control: the same with at_least_once.",
    arms=(
        claim_arm(_EXACTLY_ONCE, reprocessed(0, 0), unprocessed(0), *WRITTEN),
        control_arm(AT_LEAST_ONCE, reprocessed(1), unprocessed(0), *WRITTEN),
    ),
)
