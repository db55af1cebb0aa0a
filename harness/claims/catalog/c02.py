"""C2: automatic commits double what was processed since the last one."""

from __future__ import annotations

from harness.claims.clusters import GROUPS, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.model.result import FindingClass
from harness.suite.expect_records import acked, findings
from harness.suite.expectations import precondition

_TEXT = """
name: c02-{name}
title: A consumer crashes after it has processed records and before the next automatic commit
topic: {{assignment: [[1]]}}
steps:
- write: {{name: records, records: 50}}
- restart_reader: {{reader: app, received: 50, after: 3, crash: {crash}}}
- write: {{name: after, records: 10}}
arms:
- name: {name}
  producer: {{acks: all}}
  readers:
  - name: app
    group: app
    commits: auto
    commit_every: 600
    process: true
    reset: earliest
    extra: {{session.timeout.ms: 6000, heartbeat.interval.ms: 500}}
"""
_WRITTEN = (precondition(acked("records", 50)), precondition(acked("after", 10)))

CLAIM = Claim(
    id="C2",
    title="Automatic commits double what was processed since the last one",
    words="With enable.auto.commit=true the client commits every auto.commit.interval.ms, and when it is "
    "closed. After a crash the group continues from the last commit, so everything that was processed since "
    "is given again. A consumer that is closed is no problem.",
    set_up="One broker, one partition, one consumer with an interval of ten minutes. It processes 50 records "
    "and is killed; 10 records follow, and a new consumer of the group continues. Control: it is closed.",
    arms=(
        claim_arm(
            experiment(_TEXT, GROUPS, name="killed", crash="true"),
            *_WRITTEN,
            findings(FindingClass.REDELIVERED, 50),
        ),
        control_arm(
            experiment(_TEXT, GROUPS, name="closed", crash="false"),
            *_WRITTEN,
            findings(FindingClass.REDELIVERED, 0),
        ),
    ),
)
