"""C5: a static member that restarts moves no partition."""

from __future__ import annotations

from harness.claims.clusters import GROUPS, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.spec.experiment import Experiment
from harness.suite.expect_groups import moved, owned
from harness.suite.expectations import precondition

_TEXT = """
name: c05-{name}
title: One of two members is restarted
topic: {{assignment: [[1], [1], [1], [1]]}}
steps:
- write: {{name: before, records: 150, rate: 10}}
# A group's first rebalance can take long, and a static member may take long to join again.
- restart_reader: {{reader: second, received: 1, after: 5, within: 110}}
- write: {{name: after, records: 40}}
- sleep: {{seconds: 15}}
arms:
- name: {name}
  producer: {{acks: all}}
  readers:
  - &member
    name: first
    group: app
    commits: manual
    static: {static}
  - {{<<: *member, name: second}}
"""
_KEPT = precondition(owned("second-0", "restart_reader-1", 2))
# Each of the two rebalances may hand out other partitions.
_BACK = precondition(owned("second-0", "restart_reader-1", 2, 4))


def _with(name: str, static: str) -> Experiment:
    return experiment(_TEXT, GROUPS, name=name, static=static)


CLAIM = Claim(
    id="C5",
    title="A static member that is back in time moves no partition",
    words="A member with a group.instance.id (KIP-345) does not leave its group when it is closed. If it is "
    "back within session.timeout.ms it gets its partitions again, and the others keep theirs. Without it, "
    "each restart is two rebalances.",
    set_up="One broker, four partitions, two members with two partitions each, the range assignor. One is "
    "closed, and a new client takes its place. Control: without group.instance.id.",
    arms=(
        claim_arm(_with("static", "true"), _KEPT, moved("first-0", "restart_reader-1", 0)),
        control_arm(_with("dynamic", "false"), _BACK, moved("first-0", "restart_reader-1", 2, 4)),
    ),
)
