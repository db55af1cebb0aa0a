"""R11: retention is not loss."""

from __future__ import annotations

from harness.claims.clusters import experiment
from harness.claims.counts import acked, found, lost
from harness.claims.expecting import given
from harness.claims.frame import Claim, Role, Trial
from harness.model.result import FindingClass

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

_GONE = experiment("""
name: r11-gone
title: The same records vanish from the disk, without such a policy
topic: {assignment: [[1]], config: {min.insync.replicas: 1}}
steps:
- write: {name: old, records: 100}
- inject: {wipe_disk: {target: {broker: 1}}}
- heal:
arms:
- {name: wiped, producer: {acks: all}, promise: {lost: acked in old}}
""")

CLAIM = Claim(
    id="R11",
    title="Retention removes records: that is not loss",
    words="Records that retention removes are gone by policy and not lost.",
    set_up="One replica. 100 records, retention.ms=2000. Control: no retention, and the broker's disk is "
    "wiped.",
    today="Retention also removes the active segment, once all of it is old enough.",
    trials=(
        Trial(
            Role.CLAIM,
            _EXPIRED,
            "retention",
            (given(acked("old", 100)), found(FindingClass.EXPIRED, 100), lost(0)),
        ),
        Trial(
            Role.CONTROL,
            _GONE,
            "wiped",
            (given(acked("old", 100)), lost(100, of=100), found(FindingClass.EXPIRED, 0)),
        ),
    ),
)
