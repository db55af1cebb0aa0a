"""C7: offsets in a transaction count when it is committed."""

from __future__ import annotations

from harness.claims.clusters import GROUPS, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.model.journal import TxnOutcome
from harness.suite.expect_groups import last_answer, transaction
from harness.suite.expectations import precondition

_TEXT = """
name: c07-{end}
title: Offsets go into a transaction
topic: {{assignment: [[1]]}}
workload: {{client: driven, driven: {{transactional: true}}}}
steps:
- drive:
    name: one
    by: app
    do: [begin, send: {{records: 5}}, send_offsets: {{group: app, offset: 5}}, {end}]
arms:
- {{name: {end}, producer: {{acks: all}}}}
"""

CLAIM = Claim(
    id="C7",
    title="Offsets that are sent in a transaction count when it is committed, and only then",
    words="sendOffsetsToTransaction makes the group's progress part of the transaction (KIP-98, KIP-447): if "
    "it is aborted, the group is where it was, and the records are processed again together with what was "
    "written for them.",
    set_up="One broker. A transaction writes 5 records and sends offset 5 of a group. Claim: it is aborted. "
    "Control: it is committed.",
    arms=(
        claim_arm(
            experiment(_TEXT, GROUPS, end="abort"),
            precondition(transaction(0, 0, TxnOutcome.ABORTED)),
            last_answer("app", None),
        ),
        control_arm(
            experiment(_TEXT, GROUPS, end="commit"),
            precondition(transaction(0, 0, TxnOutcome.COMMITTED)),
            last_answer("app", 5),
        ),
    ),
)
