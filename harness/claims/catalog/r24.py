"""R24: the last replica standing loses power."""

from __future__ import annotations

from harness.claims.clusters import COMMON, NO_ELR, experiment
from harness.claims.model import Claim
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment
from harness.suite.expect_records import acked, lost
from harness.suite.expectations import precondition
from harness.suite.model import Role, SuiteArm

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
# A few bytes off the end: the last batch is not whole any more, and it holds the 50.
- inject: {{power_loss: {{target: {{broker: 1}}, keep: {{all_but_bytes: 20}}}}}}
- heal:
arms:
- {{name: {name}, producer: {{acks: all, linger.ms: 300}}, promise: {{lost: {lost}}}}}
"""
# From the leader, and from the controller, which takes it for dead.
_CUT = "partition: {from: {broker: 2}, to: {nodes: [1, 101]}}"


def _leaves(name: str, fault: str, lost_: str, cluster: ClusterSpec = COMMON) -> Experiment:
    how = _CUT if fault == "cut" else f"{fault}: {{target: {{broker: 2}}}}"
    return experiment(_TEXT.format(name=name, fault=fault, how=how, lost=lost_), cluster)


_STOP = _leaves("stop", "stop", "0")
_CUT_OFF = _leaves("cut", "cut", "0")
_KILL = _leaves("kill", "kill", "acked in two")
_STOP_OFF = _leaves("stop-elr-off", "stop", "acked in two", NO_ELR)
_CUT_OFF_OFF = _leaves("cut-elr-off", "cut", "acked in two", NO_ELR)

CLAIM = Claim(
    id="R24",
    title="The last replica standing loses its unflushed tail, unless another is eligible",
    words="When the ISR has shrunk to one replica and that one loses power, what it had not flushed is lost"
    " though it was acknowledged by more; with eligible leader replicas (KIP-966) a replica that left the "
    "ISR with all of it is elected instead, and nothing is lost.",
    set_up="min.insync.replicas=2, eligible.leader.replicas.version=1. 100 records are acknowledged by "
    "three replicas, one dies, 50 more by two; the other follower is stopped in good order, or cut off; the"
    " leader loses power and the batch with the 50; all come back. Control: the same with the feature off; "
    "and with it on, the other follower killed.",
    today="Eligible leader replicas came with Kafka 4.0 and are on in new clusters since 4.1. A follower "
    "that was killed is not eligible when it returns: it too may have lost its tail.",
    since="4.1",
    arms=(
        SuiteArm(Role.CLAIM, _STOP, "stop", (precondition(acked("two", 50)), lost(0, of=150))),
        SuiteArm(Role.CLAIM, _CUT_OFF, "cut", (precondition(acked("two", 50)), lost(0, of=150))),
        SuiteArm(Role.CONTROL, _STOP_OFF, "stop-elr-off", (precondition(acked("two", 50)), lost(50, of=150))),
        SuiteArm(
            Role.CONTROL, _CUT_OFF_OFF, "cut-elr-off", (precondition(acked("two", 50)), lost(50, of=150))
        ),
        SuiteArm(Role.CONTROL, _KILL, "kill", (precondition(acked("two", 50)), lost(50, of=150))),
    ),
)
