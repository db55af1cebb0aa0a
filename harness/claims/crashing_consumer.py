"""The experiment of C1 and C3: a consumer is killed while it processes a batch."""

from __future__ import annotations

from harness.claims.clusters import GROUPS, experiment
from harness.spec.experiment import Experiment
from harness.suite.expect_records import acked
from harness.suite.expectations import precondition

_TEXT = """
name: {claim}-{name}
title: A consumer crashes while it processes a batch
topic: {{assignment: [[1]]}}
steps:
- write: {{name: before, records: 10}}
- sleep: {{seconds: 3}}
- write: {{name: batch, records: 50}}
# The whole batch is received by then, and automatic commits have gone out.
- restart_reader: {{reader: app, received: 60, after: 2, crash: true}}
- write: {{name: after, records: 10}}
arms:
- name: {name}
  producer: {{acks: all}}
  readers:
  - name: app
    group: app
    commits: {commits}
    commit_every: {commit_every}
    takes: 5
    process: true
    reset: earliest
    extra: {{session.timeout.ms: 6000, heartbeat.interval.ms: 500}}
  promise: {{skipped: "{skipped}", commit_ahead: any}}
"""
WRITTEN = tuple(
    precondition(acked(step, count)) for step, count in {"before": 10, "batch": 50, "after": 10}.items()
)


def killed_in_a_batch(
    claim: str, name: str, *, commits: str, commit_every: float, skipped: str
) -> Experiment:
    """The experiment of a claim with one arm, `name`: what its consumer commits when, every how many seconds,
    and how many records it may skip."""
    return experiment(
        _TEXT, GROUPS, claim=claim, name=name, commits=commits, commit_every=commit_every, skipped=skipped
    )
