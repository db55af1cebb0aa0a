"""R16: unclean leader election."""

from __future__ import annotations

from harness.claims.clusters import experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_brokers import led_during
from harness.suite.expect_records import acked, errors_among, lost
from harness.suite.expectations import precondition

LAST_IN_SYNC = """
together: true
steps:
- write: {name: together, records: 20}
- wait: {replicated: true}
- inject: {kill: {target: {nodes: [2, 3]}}, name: followers}
- wait: {isr: {is: {broker: 1}}}
- write: {name: alone, records: 40}
- inject: {kill: {target: {broker: 1}}, name: leader}
- heal: {only: [followers], awaited: false}
- wait: {log_end: {of: {nodes: [2, 3]}, exactly: 20}, within: 40}
# With unclean election there is a leader when this step ends; without, there is none.
- write: {name: after, records: 5, at_most: 7}
- heal:
"""
"""The steps, which R18 has too."""

_LAST = experiment(f"""
name: r16-last-in-sync
title: The last replica in sync writes alone and dies; the others come back
{LAST_IN_SYNC}
arms:
- name: unclean=false
  topic: {{unclean.leader.election.enable: false}}
  producer: {{acks: all, delivery.timeout.ms: 6000}}
  promise: {{lost: 0}}
- name: unclean=true
  topic: {{unclean.leader.election.enable: true}}
  producer: {{acks: all, delivery.timeout.ms: 6000}}
  promise: {{lost: acked in alone}}
""")

_GAVE_UP = frozenset({"_MSG_TIMED_OUT", "_UNKNOWN_PARTITION", "_TIMED_OUT"})

CLAIM = Claim(
    id="R16",
    title="Unclean election is available and lossy, without it unavailable and safe",
    words="With unclean.leader.election.enable=true a partition whose in-sync replicas are all dead goes "
    "on, and loses the records that only they had. With false it has no leader until one of them returns, "
    "and loses nothing.",
    set_up="The followers are killed, 40 records are written to the leader alone, and it is killed. The "
    "followers come back, and 5 more records are written; then the old leader returns. Each arm is the "
    "control of the other.",
    arms=(
        claim_arm(
            _LAST,
            precondition(acked("alone", 40)),
            lost(0, of=60),
            led_during("after", {-1}),
            errors_among("after", 5, _GAVE_UP),
            arm="unclean=false",
        ),
        control_arm(
            _LAST, precondition(acked("alone", 40)), lost(40, of=65), acked("after", 5), arm="unclean=true"
        ),
    ),
)
