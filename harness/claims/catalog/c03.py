"""C3: who commits before processing loses at a crash, who commits afterwards doubles."""

from __future__ import annotations

from harness.claims.clusters import GROUPS, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.model.result import FindingClass
from harness.suite.expect_records import acked, findings, some
from harness.suite.expectations import precondition

_TEXT = """
name: c03-{name}
title: A consumer crashes while it processes a batch
topic: {{assignment: [[1]]}}
steps:
- write: {{name: before, records: 10}}
- sleep: {{seconds: 3}}
- write: {{name: batch, records: 50}}
- restart_reader: {{reader: app, received: 60, after: 2, crash: true}}
- write: {{name: after, records: 10}}
arms:
- name: {name}
  producer: {{acks: all}}
  readers:
  - name: app
    group: app
    commits: {commits}
    commit_every: 0.1
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
    id="C3",
    title="At most once and at least once are a matter of when offsets are committed",
    words="An application that commits a batch before it processes it gives each record at most once: what a "
    "crash interrupts is never processed. One that commits afterwards gives each record at least once.",
    set_up="One broker, one partition, one consumer that takes 5 s for each batch. 10 records are "
    "processed; it is killed 2 s after it received 50 more. 10 records follow, and a new consumer of the "
    "group continues. "
    "Claim: it commits each batch when it receives it. Control: when it has processed it.",
    arms=(
        claim_arm(
            experiment(_TEXT, GROUPS, name="before", commits="before", skipped=">= 1"),
            *_WRITTEN,
            some(FindingClass.SKIPPED, 1, 50),
            findings(FindingClass.REDELIVERED, 0),
        ),
        control_arm(
            experiment(_TEXT, GROUPS, name="afterwards", commits="manual", skipped="0"),
            *_WRITTEN,
            findings(FindingClass.SKIPPED, 0),
        ),
    ),
)
