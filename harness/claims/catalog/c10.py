"""C10: a record whose lock ends is given to another member of the share group."""

from __future__ import annotations

from harness.claims.clusters import SHARE, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.model.result import FindingClass
from harness.spec.experiment import Experiment
from harness.suite.expect_records import acked, findings, some
from harness.suite.expectations import precondition

_TEXT = """
name: c10-{name}
title: Members of a share group take their time for each record
topic: {{assignment: [[1]]}}
steps:
- write: {{name: records, records: 20}}
- sleep: {{seconds: 14}}
arms:
- name: {name}
  producer: {{acks: all}}
  share: [{{name: queue, members: 2, hold: {hold}, lock: 4}}]
"""
_WRITTEN = precondition(acked("records", 20))


def _with(name: str, hold: float) -> Experiment:
    return experiment(_TEXT, SHARE, name=name, hold=hold)


CLAIM = Claim(
    id="C10",
    title="A record that a share group's member holds beyond its lock is given again",
    words="A member of a share group (KIP-932) has a record for share.record.lock.duration.ms. If it has not "
    "acknowledged it by then, the record is given to whoever asks next. A group whose members are slower "
    "than the lock processes everything several times.",
    set_up="One broker, one partition, a share group of two members with a lock of 4 s. 20 records are "
    "written. Claim: members take 6 s to acknowledge. Control: they acknowledge at once.",
    since="4.2",
    arms=(
        claim_arm(_with("slow", 6.0), _WRITTEN, some(FindingClass.SHARE_REDELIVERED, 1, None)),
        control_arm(_with("fast", 0.0), _WRITTEN, findings(FindingClass.SHARE_REDELIVERED, 0)),
    ),
)
