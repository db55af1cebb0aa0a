"""R18: two recipes and the defaults under the same faults."""

from __future__ import annotations

from harness.claims.catalog.r16 import LAST_IN_SYNC
from harness.claims.clusters import experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_brokers import led_during
from harness.suite.expect_records import acked, duplicates, lost, unavailable

_SAME = experiment(f"""
name: r18-recipes
title: The followers die, then the leader; the followers come back, then the leader
{LAST_IN_SYNC}
arms:
- name: no-loss
  topic: {{min.insync.replicas: 2, unclean.leader.election.enable: false}}
  producer: {{acks: all, enable.idempotence: true, delivery.timeout.ms: 6000}}
  promise: {{lost: 0, duplicate: 0}}
- name: available
  topic: {{min.insync.replicas: 1, unclean.leader.election.enable: true}}
  producer: {{acks: 1, delivery.timeout.ms: 6000}}
  promise: {{lost: acked in alone}}
- name: defaults
  producer: {{acks: all, enable.idempotence: true, delivery.timeout.ms: 6000}}
  promise: {{lost: 0, duplicate: 0}}
""")

CLAIM = Claim(
    id="R18",
    title="Two recipes: no loss, or availability",
    words="Replication factor 3, min.insync.replicas=2 and acks=all lose nothing, and refuse writes if they "
    "must. Unclean election and acks=1 always accept writes, and lose records.",
    set_up="The same faults for both: the followers die, 40 records are written, the leader dies, the "
    "followers come back, 5 records are written, and the leader comes back. Control: Kafka's defaults "
    "(min.insync.replicas=1, acks=all, no unclean election).",
    arms=(
        claim_arm(
            _SAME,
            lost(0, of=20),
            acked("together", 20),
            acked("alone", 0),
            acked("after", 0),
            duplicates(0),
            unavailable(),
            arm="no-loss",
        ),
        claim_arm(
            _SAME,
            lost(40, of=65),
            acked("together", 20),
            acked("alone", 40),
            acked("after", 5),
            duplicates(0),
            unavailable(),
            arm="available",
        ),
        control_arm(
            _SAME,
            lost(0, of=60),
            acked("together", 20),
            acked("alone", 40),
            acked("after", 0),
            duplicates(0),
            unavailable(),
            led_during("after", {-1}),
            arm="defaults",
        ),
    ),
)
