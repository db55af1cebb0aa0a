"""R26: an old leader serves an old high watermark."""

from __future__ import annotations

from harness.claims.clusters import experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_answers import missed_by_read, read_from_broker
from harness.suite.expect_brokers import final_read_complete
from harness.suite.expect_records import acked, lost
from harness.suite.expectations import precondition

_TEXT = """
name: r26-{name}
title: The old leader does not know that it is none{title}
steps:
- write: {{name: before, records: 100}}
- wait: {{high_watermark: {{of: {{nodes: [1, 2, 3]}}, exactly: 100}}}}
- inject: {{partition: {{from: {{broker: 1}}, to: {{nodes: [2, 3, 101]}}}}, name: cut}}
- wait: {{leader: {{is: {{nodes: [2, 3]}}}}}}
- write: {{name: after, records: 50}}
- ask: {{name: new, of: {{nodes: [2, 3]}}, what: [fetch_v10, fetch]}}
{heal}
- ask: {{name: old, of: {{broker: 1}}, what: [leader, fetch_v10, fetch]}}
- heal:
arms:
- name: {name}
  producer:
    acks: all
    socket.timeout.ms: 2000
    extra: {{topic.metadata.refresh.interval.ms: 500}}
  promise: {{lost: 0}}
"""

_STALE = experiment(_TEXT, name="stale", title="", heal="")
_SETTLED = experiment(
    _TEXT,
    name="settled",
    title=", until it has heard of it",
    heal="- heal: {only: [cut]}\n- wait: {replicated: true}",
)

CLAIM = Claim(
    id="R26",
    title="A read from a stale leader misses committed records; a read that is proved complete never does",
    words="A broker that does not yet know that it has lost leadership serves consumers up to its old high "
    "watermark, so a read from it misses committed records. A final read that is proved complete misses "
    "none.",
    set_up="The leader is cut off from the other brokers and the controller, but not from clients. Another "
    "broker is elected and commits 50 more records. A consumer reads from the old leader; then all faults "
    "are healed and the final read is made. Control: the consumer reads after the old leader has caught up.",
    arms=(
        claim_arm(
            _STALE,
            precondition(acked("after", 50)),
            missed_by_read("old", 1, 50),
            read_from_broker("old", 1, 100),
            final_read_complete(),
            lost(0, of=150),
        ),
        control_arm(
            _SETTLED,
            precondition(acked("after", 50)),
            missed_by_read("old", 1, 0),
            final_read_complete(),
            lost(0, of=150),
        ),
    ),
)
