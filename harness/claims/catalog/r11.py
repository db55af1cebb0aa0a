"""R11: retention and compaction are not loss."""

from __future__ import annotations

from harness.claims.clusters import experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.model.result import FindingClass
from harness.suite.expect_records import acked, findings, in_log, lost
from harness.suite.expectations import precondition

_EXPIRED = experiment("""
name: r11-expired
title: Records grow older than retention.ms
topic: {assignment: [[1]], config: {min.insync.replicas: 1, retention.ms: 2000}}
steps:
- write: {name: old, records: 100}
- wait: {logged: {of: {broker: 1}, text: due to log retention time}, within: 30}
arms:
- {name: retention, producer: {acks: all}, promise: {lost: 0, expired: 100}}
""")

_COMPACTED = experiment("""
name: r11-compacted
title: Only the newest record of each key is kept
topic:
  assignment: [[1]]
  config:
    min.insync.replicas: 1
    cleanup.policy: compact
    min.cleanable.dirty.ratio: 0.01
    segment.ms: 500
workload: {keys: 3}
steps:
- write: {name: old, records: 30}
# The active segment is never compacted: one more record starts a new segment.
- sleep: {seconds: 1}
- write: {name: roll, records: 1}
- wait: {logged: {of: {broker: 1}, text: cleaned log r11-compacted}, within: 60}
- sleep: {seconds: 1}
arms:
- {name: compaction, producer: {acks: all}, promise: {lost: 0, compacted: 27}}
""")

_GONE = experiment("""
name: r11-gone
title: The same records are gone from the disk, without such a policy
topic: {assignment: [[1]], config: {min.insync.replicas: 1}}
steps:
- write: {name: old, records: 100}
# Nothing in a new segment has been flushed.
- inject: {power_loss: {target: {broker: 1}}}
- heal:
arms:
- {name: gone, producer: {acks: all}, promise: {lost: acked in old}}
""")

CLAIM = Claim(
    id="R11",
    title="Retention and compaction remove records: that is not loss",
    words="Records that retention removes, and records that compaction removes because their key has a "
    "newer one, are gone by policy and not lost.",
    set_up="One replica. (1) 100 records with retention.ms=2000. (2) 30 records of 3 keys and one more "
    "record, with cleanup.policy=compact: the newest record of each key stays. Control: without such a "
    "policy, the broker loses power before any of the 100 records has reached its disk.",
    today="Retention also removes the active segment, once all of its records are old enough; compaction "
    "never does.",
    arms=(
        claim_arm(
            _EXPIRED,
            precondition(acked("old", 100)),
            findings(FindingClass.EXPIRED, 100),
            lost(0),
        ),
        claim_arm(
            _COMPACTED,
            precondition(acked("old", 30)),
            findings(FindingClass.COMPACTED, 27),
            in_log("old", 3),
            findings(FindingClass.EXPIRED, 0),
            lost(0),
        ),
        control_arm(
            _GONE,
            precondition(acked("old", 100)),
            lost(100, of=100),
            findings(FindingClass.EXPIRED, 0),
        ),
    ),
)
