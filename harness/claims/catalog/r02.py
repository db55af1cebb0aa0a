"""R2: produce and fetch go through the leader."""

from __future__ import annotations

from harness.claims.clusters import experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_answers import answered, read_from_broker
from harness.suite.expect_records import acked, duplicates, lost, received

_ASKED = experiment("""
name: r02-asked
title: A follower is asked what only a leader should answer
# A run in which this reader fetched from no follower proves nothing.
readers: [{name: near, rack: r2}]
steps:
- write: {name: before, records: 20}
- sleep: {seconds: 1}
- wait: {high_watermark: {of: {nodes: [1, 2, 3]}, exactly: 20}}
- ask: {name: followers, of: {nodes: [2, 3]}, what: [fetch_v10, produce, fetch]}
- ask: {name: leader, of: {broker: 1}, what: [fetch_v10, fetch]}
- inject: {transfer: {to: {broker: 2}}}
- ask: {name: moved, of: {nodes: [1, 2]}, what: [fetch_v10]}
- write: {name: after, records: 20}
arms:
- {name: asked, producer: {acks: all, enable.idempotence: true}, promise: {lost: 0, duplicate: 0}}
""")

_NO = "NOT_LEADER_OR_FOLLOWER"

CLAIM = Claim(
    id="R2",
    title="Produce and fetch go through the leader only",
    words="Clients produce to the leader and fetch from the leader; a follower refuses them with "
    "NOT_LEADER_OR_FOLLOWER, and when leadership moves clients follow.",
    set_up="20 records are written. Both followers are sent a Produce request, and Fetch requests as "
    "consumers sent them before Kafka 2.3 (Fetch 10) and as they send them since (Fetch 11). Then "
    "leadership moves, and 20 more records are written. Control: the leader is sent the same requests, and "
    "a consumer in a follower's rack reads from that follower.",
    today="Out of date for reads: since Kafka 2.4 (KIP-392) a follower answers Fetch 11 and later with data "
    "up to its own high watermark, with or without rack settings. Consumers read from a follower only if "
    "client.rack and a replica selector tell them to.",
    by_day=True,
    arms=(
        claim_arm(
            _ASKED,
            answered("followers", "fetch_v10", 2, _NO),
            answered("followers", "produce", 2, _NO),
            answered("followers", "produce", 3, _NO),
            answered("followers", "fetch_v10", 3, _NO),
            read_from_broker("followers", 2, 20),
            answered("moved", "fetch_v10", 1, _NO),
            acked("after", 20),
            duplicates(0),
            lost(0, of=40),
        ),
        control_arm(
            _ASKED,
            answered("leader", "fetch_v10", 1, None),
            read_from_broker("leader", 1, 20),
            received("near", 40),
            answered("moved", "fetch_v10", 2, None),
        ),
    ),
)
