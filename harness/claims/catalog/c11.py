"""C11: what a share group has accepted stays accepted when the leader dies."""

from __future__ import annotations

from harness.claims.clusters import COMMON, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.model.result import FindingClass
from harness.spec.experiment import Experiment
from harness.suite.expect_records import acked, findings, some
from harness.suite.expect_share import accepted
from harness.suite.expectations import precondition

_TEXT = """
name: c11-{name}
title: The leader of a partition dies while a share group reads it
topic: {{assignment: [[1, 2, 3]], config: {{min.insync.replicas: 2}}}}
steps:
- write: {{name: before, records: 100}}
- sleep: {{seconds: 6}}
- inject: {{kill: {{target: {{broker: 1}}}}}}
- wait: {{leader: {{is: {{nodes: [2, 3]}}}}, within: 30}}
- sleep: {{seconds: 3}}
- heal:
- wait: {{isr: 3, within: 60}}
- write: {{name: after, records: 50}}
arms:
- name: {name}
  producer: {{acks: all}}
  share: [{{name: queue, members: 2, hold: {hold}}}]
"""
_WRITTEN = (precondition(acked("before", 100)), precondition(acked("after", 50)))


def _with(name: str, hold: float) -> Experiment:
    return experiment(_TEXT, COMMON, name=name, hold=hold)


CLAIM = Claim(
    id="C11",
    title="What a share group has accepted is never given again, even if the leader dies",
    words="An acknowledgement is stored in __share_group_state before it is answered, so the next leader of "
    "the partition knows it. Who has a record at the moment is not stored: what is being processed when the "
    "leader dies is given again.",
    set_up="Three brokers, a share group of two members. 100 records are given to it, and the leader is "
    "killed. Claim: they were accepted before. Control: members hold each record for 15 s, so that they are "
    "still held.",
    since="4.2",
    arms=(
        claim_arm(
            _with("accepted", 0.0),
            *_WRITTEN,
            precondition(accepted(100)),
            findings(FindingClass.SHARE_REDELIVERED, 0),
            findings(FindingClass.SHARE_AGAIN, 0),
        ),
        control_arm(_with("held", 15.0), *_WRITTEN, some(FindingClass.SHARE_REDELIVERED, 1, None)),
    ),
)
