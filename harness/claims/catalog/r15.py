"""R15: an old leader truncates and ends identical."""

from __future__ import annotations

from harness.claims.clusters import experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_answers import answered_number, differing_offsets
from harness.suite.expect_brokers import replicas_identical
from harness.suite.expect_records import acked, acked_during, lost
from harness.suite.expectations import precondition

_DIVERGED = experiment("""
name: r15-diverged
title: The old leader returns with records that nobody else has
replicas: always
steps:
- write: {name: together, records: 10}
- wait: {replicated: true}
- inject: {partition: {from: {broker: 1}, to: {nodes: [2, 3]}}, name: cut}
- write: {name: alone, records: 5, at_most: 5}
- wait: {isr: 3, within: 1}
- inject: {kill: {target: {broker: 1}}, name: death}
- write: {name: after, records: 3}
- ask: {name: before, of: {nodes: [1, 2]}, what: [files]}
- heal: {only: [cut, death], awaited: false}
- wait: {logged: {of: {broker: 1}, text: "Truncating"}, within: 60}
- heal:
- wait: {isr: 3}
arms:
- {name: cut, producer: {acks: 1}, promise: {lost: acked in alone}}
""")

_ALIKE = experiment("""
name: r15-alike
title: The old leader returns with nothing but what all have
replicas: always
steps:
- write: {name: together, records: 10}
- write: {name: alone, records: 5}
- wait: {replicated: true}
- inject: {kill: {target: {broker: 1}}, name: death}
- write: {name: after, records: 3}
- ask: {name: before, of: {nodes: [1, 2]}, what: [files]}
- heal:
- wait: {isr: 3}
arms:
- {name: no-cut, producer: {acks: 1}, promise: {lost: 0}}
""")

CLAIM = Claim(
    id="R15",
    title="The old leader returns, truncates to where its epoch ended, and ends identical",
    words="An old leader that returns truncates its log to where its leader epoch ended on the new leader, "
    "fetches the rest, is then identical to the new leader, and rejoins the ISR.",
    set_up="The leader is cut off from its followers, takes 5 records with acks=1 and is killed. The next "
    "leader takes 3 other records at the same offsets, and the old leader returns. Dumps of the logs are "
    "compared before and after. Control: no cut, so that the old leader has nothing to truncate.",
    arms=(
        claim_arm(
            _DIVERGED,
            precondition(acked_during("alone", 5)),
            precondition(acked("after", 3)),
            replicas_identical(),
            answered_number("before", "files", 1, 15),
            answered_number("before", "files", 2, 13),
            differing_offsets("before", 1, 2, 3),
            lost(5, of=18),
        ),
        control_arm(
            _ALIKE,
            precondition(acked("after", 3)),
            replicas_identical(),
            answered_number("before", "files", 1, 15),
            answered_number("before", "files", 2, 18),
            differing_offsets("before", 1, 2, 0),
            lost(0, of=18),
        ),
    ),
)
