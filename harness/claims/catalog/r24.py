"""R24: the last replica standing loses power."""

from __future__ import annotations

from harness.claims.clusters import COMMON, NO_ELR, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment
from harness.suite.expect_records import acked, lost
from harness.suite.expectations import precondition

_TEXT = """
name: r24-{name}
title: One follower dies, the other leaves by {fault}, and the leader loses power
topic: {{config: {{min.insync.replicas: 2}}}}
steps:
- write: {{name: three, records: 100}}
- wait: {{replicated: true}}
- inject: {{kill: {{target: {{broker: 3}}}}}}
- wait: {{isr: {{is: {{nodes: [1, 2]}}}}}}
- write: {{name: two, records: 50}}
- wait: {{log_end: {{of: {{nodes: [1, 2]}}, exactly: 150}}}}
- inject: {{{how}}}
- wait: {{isr: {{is: {{broker: 1}}}}}}
# Removes a few bytes from the end: the last batch, which holds the 50 records, is then incomplete.
- inject: {{power_loss: {{target: {{broker: 1}}, keep: {{all_but_bytes: 20}}}}}}
- heal:
arms:
- {{name: {name}, producer: {{acks: all, linger.ms: 300}}, promise: {{lost: {lost}}}}}
"""
# Cut off from the leader, and from the controller, which considers it dead.
_CUT = "partition: {from: {broker: 2}, to: {nodes: [1, 101]}}"


def _leaves(name: str, fault: str, lost_: str, cluster: ClusterSpec = COMMON) -> Experiment:
    how = _CUT if fault == "cut" else f"{fault}: {{target: {{broker: 2}}}}"
    return experiment(_TEXT, cluster, name=name, fault=fault, how=how, lost=lost_)


_STOP = _leaves("stop", "stop", "0")
_CUT_OFF = _leaves("cut", "cut", "0")
_KILL = _leaves("kill", "kill", "acked in two")
_STOP_OFF = _leaves("stop-elr-off", "stop", "acked in two", NO_ELR)
_CUT_OFF_OFF = _leaves("cut-elr-off", "cut", "acked in two", NO_ELR)

CLAIM = Claim(
    id="R24",
    title="The last replica standing loses its unflushed tail, unless another is eligible",
    words="The ISR has shrunk to one replica, and that replica loses power. The records that it had not "
    "flushed are lost, although more replicas had acknowledged them. With eligible leader replicas "
    "(KIP-966) a replica that left the ISR with all of these records is elected instead, and nothing is "
    "lost.",
    set_up="min.insync.replicas=2, eligible.leader.replicas.version=1. 100 records are acknowledged by "
    "three replicas; one replica dies, and 50 more records are acknowledged by two. The other follower is "
    "shut down in a controlled way, or cut off. The leader loses power, and with it the batch of the 50 "
    "records; all brokers come back. Control: the same with the feature off; and, with the feature on, the "
    "other follower is killed.",
    today="Eligible leader replicas came with Kafka 4.0 and are on in new clusters since 4.1. A follower "
    "that was killed is not eligible when it returns, because it may have lost the end of its log too.",
    since="4.1",
    arms=(
        claim_arm(_STOP, precondition(acked("two", 50)), lost(0, of=150)),
        claim_arm(_CUT_OFF, precondition(acked("two", 50)), lost(0, of=150)),
        control_arm(_STOP_OFF, precondition(acked("two", 50)), lost(50, of=150)),
        control_arm(_CUT_OFF_OFF, precondition(acked("two", 50)), lost(50, of=150)),
        control_arm(_KILL, precondition(acked("two", 50)), lost(50, of=150)),
    ),
)
