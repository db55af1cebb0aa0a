"""C1: automatic commits lose records that are not processed yet."""

from __future__ import annotations

from harness.claims.clusters import GROUPS, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.model.result import FindingClass
from harness.suite.expect_records import acked, findings, some
from harness.suite.expectations import precondition

_TEXT = """
name: c01-{name}
title: A consumer crashes while it processes a batch
topic: {{assignment: [[1]]}}
steps:
- write: {{name: before, records: 10}}
- sleep: {{seconds: 3}}
- write: {{name: batch, records: 50}}
# The whole batch is received by then, and automatic commits have gone out every 0.5 s.
- restart_reader: {{reader: app, received: 60, after: 2, crash: true}}
- write: {{name: after, records: 10}}
arms:
- name: {name}
  producer: {{acks: all}}
  readers:
  - name: app
    group: app
    commits: {commits}
    commit_every: 0.5
    takes: 5
    process: true
    reset: earliest
    extra: {{session.timeout.ms: 6000, heartbeat.interval.ms: 500}}
  promise: {{skipped: "{skipped}", commit_ahead: any}}
"""
_WRITTEN = tuple(
    precondition(acked(step, count)) for step, count in {"before": 10, "batch": 50, "after": 10}.items()
)

CLAIM = Claim(
    id="C1",
    title="Automatic commits lose records that were received and not processed",
    words="With enable.auto.commit=true the client commits what it has handed to the application, whether "
    "that has processed it or not. If the application crashes in the middle of a batch, the rest of it is "
    "never processed. Commits after processing lose nothing.",
    set_up="One broker, one partition, one consumer that takes 5 s for each batch. 10 records are "
    "processed; it is killed 2 s after it received 50 more. 10 records follow, and a new consumer of the "
    "group continues. "
    "Claim: automatic commits every 0.5 s. Control: the application commits what it has processed.",
    today="librdkafka commits in the background by the offsets that it has handed over; the Java client "
    "commits in poll(), so it loses records only if they are processed in another thread.",
    arms=(
        claim_arm(
            experiment(_TEXT, GROUPS, name="auto", commits="auto", skipped=">= 1"),
            *_WRITTEN,
            some(FindingClass.SKIPPED, 1, 50),
        ),
        control_arm(
            experiment(_TEXT, GROUPS, name="processed", commits="manual", skipped="0"),
            *_WRITTEN,
            findings(FindingClass.SKIPPED, 0),
        ),
    ),
)
