"""A10: source connectors of Kafka Connect in exactly-once mode."""

from __future__ import annotations

from harness.claims.catalog.a07 import WRITTEN
from harness.claims.clusters import ONE_BROKER, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_applications import reprocessed, unprocessed

_TEXT = """
name: a10-connect-killed
title: A worker of Kafka Connect is killed in the midst of its work
topic: {assignment: [[1], [1], [1]]}
application:
  run: {builtin: connect-mirror, options: {guarantee: exactly-once, commit_interval_ms: 1000}}
  guarantee: exactly-once
steps:
- write:
    name: copied
    records: 9000
    rate: 600
    faults: [{fault: {kill: {target: {application: 0}}}, at: 6, for: 1}]
arms:
- name: exactly-once
  producer: {acks: all}
- name: at-least-once
  producer: {acks: all}
  application:
    run: {options: {guarantee: at-least-once, commit_interval_ms: 10000}}
    guarantee: at-least-once
"""
_KILLED = experiment(_TEXT, ONE_BROKER)

CLAIM = Claim(
    id="A10",
    title="A source connector in Connect's exactly-once mode processes each input exactly once, also if its "
    "worker is killed",
    words="With exactly.once.source.support=enabled and exactly.once.support=required a source connector "
    "whose worker is killed leaves no input out, and readers of committed records get no output twice "
    "(KIP-618).",
    set_up="MirrorMaker's source connector runs in a distributed worker of Kafka Connect and mirrors 9,000 "
    "records, 600 a second. The worker is killed with SIGKILL after 6 s, and is started again a second "
    "later. The output is read with read_committed. Control: the same with exactly.once.source.support="
    "disabled and offset.flush.interval.ms=10000.",
    arms=(
        claim_arm(_KILLED, reprocessed(0, 0), unprocessed(0), *WRITTEN, arm="exactly-once"),
        control_arm(_KILLED, reprocessed(1), unprocessed(0), *WRITTEN, arm="at-least-once"),
    ),
)
