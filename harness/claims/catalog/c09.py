"""C9: auto.offset.reset=latest skips what was written while nobody was there."""

from __future__ import annotations

from harness.claims.clusters import GROUPS, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.model.result import FindingClass
from harness.spec.experiment import Experiment
from harness.suite.expect_records import acked, findings, received, some
from harness.suite.expectations import precondition

_TEXT = """
name: c09-{name}
title: Records are written while the only member of a group is away
topic: {{assignment: [[1]]}}
steps:
# Before it has its partition, a member with latest would not read them.
- sleep: {{seconds: 5}}
- write: {{name: before, records: 10}}
- restart_reader: {{reader: app, received: 10, away: true}}
- write: {{name: away, records: 20}}
- restart_reader: {{reader: app}}
- sleep: {{seconds: 8}}
- write: {{name: after, records: 10}}
arms:
- name: {name}
  producer: {{acks: all}}
  readers: [{{name: app, group: app, commits: {commits}, commit_every: 0.2, reset: latest}}]
  promise: {{skipped: "{skipped}"}}
"""
_WRITTEN = tuple(
    precondition(acked(step, count)) for step, count in {"before": 10, "away": 20, "after": 10}.items()
)


def _with(name: str, commits: str, skipped: str) -> Experiment:
    return experiment(_TEXT, GROUPS, name=name, commits=commits, skipped=skipped)


CLAIM = Claim(
    id="C9",
    title="auto.offset.reset=latest skips what was written while nobody was there, if nothing was committed",
    words="A member continues from the committed offset of its group. auto.offset.reset says where to begin "
    "if there is none: with latest, the default, behind all records that are there.",
    set_up="One broker, one partition, one consumer with auto.offset.reset=latest. It receives 10 records "
    "and is closed, 20 more are written, a new consumer of the group joins, and 10 more are written. Claim: "
    "nothing is ever committed. Control: what was received is committed.",
    arms=(
        claim_arm(
            _with("uncommitted", "none", ">= 1"),
            *_WRITTEN,
            precondition(received("app-0", 20)),
            some(FindingClass.SKIPPED, 1, 20),
        ),
        control_arm(
            _with("committed", "manual", "0"),
            *_WRITTEN,
            precondition(received("app-0", 40)),
            findings(FindingClass.SKIPPED, 0),
        ),
    ),
)
