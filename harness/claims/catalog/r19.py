"""R19: no consumer goes back at an election."""

from __future__ import annotations

from harness.claims.clusters import experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_brokers import elections, end_went_back
from harness.suite.expect_records import acked, lost, went_back
from harness.suite.expectations import precondition

_CLEAN = experiment("""
name: r19-clean
title: The leader dies under writes, and a replica in sync is elected
workload: {rate: 300}
readers: [{name: c}]
steps:
- write:
    name: writing
    seconds: 9
    faults:
    - {fault: {kill: {target: {broker: 1}}}, at: 2, for: 5}
arms:
- {name: clean, producer: {acks: all}, promise: {lost: 0}}
""")

_UNCLEAN = experiment("""
name: r19-unclean
title: The last replica in sync dies, and another is elected
topic: {config: {min.insync.replicas: 1, unclean.leader.election.enable: true}}
readers: [{name: c}]
steps:
- write: {name: together, records: 20}
- wait: {replicated: true}
- inject: {kill: {target: {nodes: [2, 3]}}, name: followers}
- wait: {isr: {is: {broker: 1}}}
- write: {name: alone, records: 30}
- wait: {high_watermark: {of: {broker: 1}, exactly: 50}}
- sleep: {seconds: 1}
- inject: {kill: {target: {broker: 1}}, name: leader}
- heal: {only: [followers], awaited: false}
- wait: {leader: {is: {nodes: [2, 3]}}, within: 40}
- write: {name: after, records: 5}
- sleep: {seconds: 1}
- heal:
arms:
- {name: unclean, producer: {acks: all}, promise: {lost: 30}}
""")

CLAIM = Claim(
    id="R19",
    title="At an election the high watermark may lag, but no consumer goes back",
    words="After an election the new leader's high watermark may lag behind the old leader's, and "
    "ListOffsets may answer OFFSET_NOT_AVAILABLE. But no leader reports an end offset below one that was "
    "reported earlier.",
    set_up="300 records/s are written with acks=all, and the leader is killed. Every broker is asked for "
    "the end offset of the partition four times a second, and a consumer reads during the whole run. "
    "Control: an unclean election after 30 records that only the leader had. All of them are lost, and "
    "other records are written at 5 of their offsets, so that the consumer receives both.",
    today="OFFSET_NOT_AVAILABLE (KIP-207, Kafka 2.2) is answered only for a moment, and is seldom seen with "
    "one partition.",
    arms=(
        claim_arm(_CLEAN, precondition(elections(1)), end_went_back(0), went_back("c", 0), lost(0)),
        control_arm(
            _UNCLEAN,
            precondition(acked("alone", 30)),
            end_went_back(1),
            went_back("c", 1),
            lost(30, of=55),
        ),
    ),
)
