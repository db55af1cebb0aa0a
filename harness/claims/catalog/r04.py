"""R4: what one consumer has read never vanishes for another."""

from __future__ import annotations

from harness.claims.clusters import experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_answers import read_from_broker, vanished_between
from harness.suite.expect_records import acked, acked_during, lost, received_and_gone
from harness.suite.expectations import precondition

_CLEAN = experiment("""
name: r04-clean
title: A consumer reads before, another after a clean election
readers: [{name: c}]
steps:
- write: {name: message1, records: 20}
- wait: {high_watermark: {of: {nodes: [1, 2, 3]}, exactly: 20}}
- inject: {partition: {from: {broker: 1}, to: {nodes: [2, 3]}}}
- write: {name: message2, records: 10, at_most: 5}
- wait: {log_end: {of: {broker: 1}, exactly: 30}, within: 1}
- ask: {name: a, of: {broker: 1}, what: [fetch]}
- wait: {isr: 3, within: 1}
- inject: {kill: {target: {broker: 1}}}
- wait: {leader: {is: {nodes: [2, 3]}}}
- ask: {name: b, of: {leader: 0}, what: [fetch]}
- heal:
arms:
- {name: clean, producer: {acks: 1}, promise: {lost: acked in message2}}
""")

_UNCLEAN = experiment("""
name: r04-unclean
title: A consumer reads before, another after an unclean election
topic: {config: {min.insync.replicas: 1, unclean.leader.election.enable: true}}
readers: [{name: c}]
steps:
- write: {name: message1, records: 20}
- wait: {high_watermark: {of: {nodes: [1, 2, 3]}, exactly: 20}}
- inject: {kill: {target: {nodes: [2, 3]}}, name: followers}
- wait: {isr: {is: {broker: 1}}}
- write: {name: message2, records: 10}
- ask: {name: a, of: {broker: 1}, what: [fetch]}
- inject: {kill: {target: {broker: 1}}, name: leader}
- heal: {only: [followers], awaited: false}
- wait: {leader: {is: {nodes: [2, 3]}}, within: 40}
- ask: {name: b, of: {leader: 0}, what: [fetch]}
- heal:
arms:
- {name: unclean, producer: {acks: 1}, promise: {lost: acked in message2}}
""")

CLAIM = Claim(
    id="R4",
    title="Consumers see committed records only",
    words="A consumer receives no record above the high watermark, so what one consumer has read never "
    "vanishes for another.",
    set_up="20 records are committed. The leader is cut off from its followers and takes 10 more records "
    "with acks=1. Consumer A reads from it, and it is killed. Consumer B reads from the next leader; "
    "consumer C reads during the whole run. Control: the followers are dead instead, so that the 10 records "
    "are committed, and one of the followers is elected uncleanly.",
    arms=(
        claim_arm(
            _CLEAN,
            precondition(acked_during("message2", 10)),
            vanished_between("a", "b", 0),
            received_and_gone("c", 0),
            read_from_broker("a", 1, 20),
            lost(10, of=30),
        ),
        control_arm(
            _UNCLEAN,
            precondition(acked("message2", 10)),
            vanished_between("a", "b", 10),
            received_and_gone("c", 10),
            read_from_broker("a", 1, 30),
            lost(10, of=30),
        ),
    ),
)
