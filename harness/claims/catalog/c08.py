"""C8: the partitions of a crashed member stand still for the session time-out."""

from __future__ import annotations

from harness.claims.clusters import GROUPS, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.spec.experiment import Experiment
from harness.suite.expect_groups import handover, moved
from harness.suite.expectations import precondition

_TEXT = """
name: c08-{name}
title: One of two members ends
topic: {{assignment: [[1], [1]]}}
steps:
- write: {{name: before, records: 20}}
- sleep: {{seconds: 8}}
- restart_reader: {{reader: second, away: true, crash: {crash}}}
- write: {{name: after, records: 20}}
- sleep: {{seconds: 20}}
arms:
- name: {name}
  producer: {{acks: all}}
  readers:
  - &member
    name: first
    group: app
    commits: manual
    assignor: cooperative-sticky
    process: true
    extra: {{session.timeout.ms: 12000, heartbeat.interval.ms: 500}}
  - {{<<: *member, name: second}}
"""
_SHARED = precondition(moved("second-0", "restart_reader-2", 1))


def _with(name: str, crash: str) -> Experiment:
    return experiment(_TEXT, GROUPS, name=name, crash=crash)


CLAIM = Claim(
    id="C8",
    title="The partitions of a crashed member stand still for session.timeout.ms",
    words="A coordinator learns that a member has crashed from missing heartbeats: its partitions are given "
    "to others when session.timeout.ms is over, which is 45 s by default. A member that is closed leaves "
    "its group, and they are given to others at once.",
    set_up="One broker, two partitions, two members with session.timeout.ms=12000. Claim: one is killed. "
    "Control: it is closed.",
    arms=(
        claim_arm(
            _with("killed", "true"), _SHARED, handover("first-0", "restart_reader-2", least=10, most=19)
        ),
        control_arm(
            _with("closed", "false"), _SHARED, handover("first-0", "restart_reader-2", least=0, most=8)
        ),
    ),
)
