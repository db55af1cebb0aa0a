"""C12: a share group gives up a record after a number of deliveries."""

from __future__ import annotations

from harness.claims.clusters import SHARE, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.spec.experiment import Experiment
from harness.suite.expect_records import acked
from harness.suite.expect_share import given_times
from harness.suite.expectations import precondition

_TEXT = """
name: c12-{acknowledge}
title: Members of a share group release or accept what they are given
topic: {{assignment: [[1]]}}
steps:
- write: {{name: records, records: 20}}
- sleep: {{seconds: 8}}
arms:
- name: {acknowledge}
  producer: {{acks: all}}
  share: [{{name: queue, members: 2, acknowledge: {acknowledge}, delivery_limit: 3}}]
"""
_WRITTEN = precondition(acked("records", 20))


def _with(acknowledge: str) -> Experiment:
    return experiment(_TEXT, SHARE, acknowledge=acknowledge)


CLAIM = Claim(
    id="C12",
    title="A record that nobody accepts is given up at the delivery limit",
    words="Each delivery of a record to a share group is counted. When share.delivery.count.limit (5 by "
    "default) is reached and the record is released again, it is archived: nobody is given it any more, so "
    "that a record which no member can process does not stop the group.",
    set_up="One broker, one partition, a share group of two members with share.delivery.count.limit=3, 20 "
    "records. Claim: members release every record. Control: they accept it.",
    since="4.2",
    arms=(
        claim_arm(_with("release"), _WRITTEN, given_times(3)),
        control_arm(_with("accept"), _WRITTEN, given_times(1)),
    ),
)
