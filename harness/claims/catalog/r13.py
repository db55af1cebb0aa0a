"""R13: duplicates with acks=all, and idempotence."""

from __future__ import annotations

from harness.claims.clusters import experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_records import acked, duplicates, in_log, log_content, lost
from harness.suite.expectations import precondition

_ANSWERS = experiment("""
name: r13-answers
title: The leader's answers to the client are lost for longer than the client waits
together: true
steps:
- write: {name: before, records: 1}
- wait: {replicated: true}
- inject: {drop_responses: {target: {broker: 1}}, name: deaf}
- write: {name: batch, records: 50, at_most: 0.5}
# The leader does not answer the harness either: its followers show that it has the batch.
- wait: {log_end: {of: {nodes: [2, 3]}, exactly: 51}, within: 10}
- sleep: {seconds: 3.3}
- heal: {only: [deaf]}
arms:
- name: plain
  producer: &patience {acks: all, linger.ms: 300, socket.timeout.ms: 2000}
  promise: {lost: 0, duplicate: 50}
- name: idempotent
  producer: {<<: *patience, enable.idempotence: true}
  promise: {lost: 0, duplicate: 0}
""")

_FIGURE = experiment("""
name: r13-figure
title: M3 reaches one follower, M4 none, and the leader dies before it has acknowledged either
together: true
steps:
- write: {name: m1-m2, records: 2}
- wait: {replicated: true}
- inject: {partition: {from: {broker: 1}, to: {broker: 3}}, name: one}
- write: {name: m3, records: 1, at_most: 0.3}
- wait: {log_end: {of: {nodes: [1, 2]}, exactly: 3}, within: 10}
- inject: {partition: {from: {broker: 1}, to: {broker: 2}}, name: other}
- write: {name: m4, records: 1, at_most: 0.3}
- wait: {log_end: {of: {broker: 2}, exactly: 3}, within: 1}
- wait: {isr: 3, within: 1}
- inject: {kill: {target: {broker: 1}}, name: death}
- wait: {leader: {is: {broker: 2}}, within: 10}
- write: {name: m5, records: 1}
- heal:
arms:
- name: plain
  producer: {acks: all}
  promise: {lost: 0, duplicate: 1}
- name: idempotent
  producer: {acks: all, enable.idempotence: true}
  promise: {lost: 0, duplicate: 0}
""")

CLAIM = Claim(
    id="R13",
    title="acks=all duplicates without idempotence, and does not with it",
    words="A producer with acks=all and without idempotence writes a record twice if its acknowledgement is "
    "lost, or if the leader dies before it could acknowledge it: the log ends as M1 M2 M3 M3 M4. With "
    "enable.idempotence=true it does not.",
    set_up="(1) One batch of 50 records is appended, and the leader's answers to the client are dropped for "
    "longer than the client waits. (2) M3 reaches only follower 1, and M4 no follower. The leader dies, "
    "follower 1 leads, the producer sends again what was not acknowledged, and then M5. Control: the same "
    "with enable.idempotence=true.",
    arms=(
        claim_arm(_ANSWERS, precondition(acked("batch", 50)), duplicates(50), lost(0, of=51), arm="plain"),
        claim_arm(_FIGURE, precondition(acked("m4", 1)), log_content("M1 M2 M3 M3 M4 M5"), arm="plain"),
        control_arm(
            _ANSWERS, precondition(acked("batch", 50)), duplicates(0), in_log("batch", 50), arm="idempotent"
        ),
        control_arm(_FIGURE, precondition(acked("m4", 1)), log_content("M1 M2 M3 M4 M5"), arm="idempotent"),
    ),
)
