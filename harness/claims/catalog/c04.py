"""C4: cooperative members keep the partitions that do not move."""

from __future__ import annotations

from harness.claims.clusters import GROUPS, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.spec.experiment import Experiment
from harness.suite.expect_groups import moved, owned
from harness.suite.expectations import precondition

_TEXT = """
name: c04-{name}
title: A second member joins a group
topic: {{assignment: [[1], [1], [1], [1]]}}
steps:
# A member that leaves while it joins would hold up the group for session.timeout.ms.
- sleep: {{seconds: 8}}
- restart_reader: {{reader: second, away: true}}
- write: {{name: before, records: 40}}
# The first member owns all partitions by then.
- sleep: {{seconds: 8}}
- restart_reader: {{reader: second}}
- sleep: {{seconds: 10}}
- write: {{name: after, records: 40}}
arms:
- name: {name}
  producer: {{acks: all}}
  readers:
  - &member
    name: first
    group: app
    commits: manual
    {how}
  - {{<<: *member, name: second}}
"""
_JOINED = precondition(owned("second-0", "restart_reader-4", 1, 2))


def _with(name: str, how: str) -> Experiment:
    return experiment(_TEXT, GROUPS, name=name, how=how)


CLAIM = Claim(
    id="C4",
    title="A cooperative rebalance takes only the partitions that move",
    words="When a member joins, an eager group takes all partitions from all members and hands them out "
    "anew, so that nobody processes anything meanwhile. With the cooperative-sticky assignor (KIP-429), and "
    "with the consumer protocol (KIP-848), members keep the partitions that do not move.",
    set_up="One broker, four partitions, one member that owns them all. A second member joins and gets two. "
    "Claim: cooperative-sticky, and the consumer protocol. Control: the range assignor, which is eager.",
    arms=(
        claim_arm(
            _with("cooperative", "assignor: cooperative-sticky"),
            _JOINED,
            moved("first-0", "restart_reader-4", 1, 2),
        ),
        claim_arm(
            _with("consumer", "protocol: consumer"),
            _JOINED,
            moved("first-0", "restart_reader-4", 1, 2),
        ),
        control_arm(
            _with("range", "assignor: range"),
            _JOINED,
            moved("first-0", "restart_reader-4", 4),
        ),
    ),
)
