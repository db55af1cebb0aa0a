"""A textbook interleaving, step by step on real brokers: each step waits until its state is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cluster.managed import ManagedCluster
from harness.model.result import ArmResult, VerdictWord
from harness.run.executor import Options, run_on
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import parse

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

# Broker 1 leads, cut off from its followers: what it takes alone is in its log, above the high watermark,
# and in no checkpoint. Healed, it is committed. Then broker 2 leads, and broker 1 comes back as a follower.
# On a busy machine the cut may last longer than replica.lag.time.max.ms, and the followers leave the ISR. The
# high watermark stays even then, since it does not rise below min.insync.replicas (KAFKA-15583).
STEPS = """
name: step-by-step
title: What is written is committed one step later
topic: {assignment: [[1, 2, 3]], config: {min.insync.replicas: 2}}
arms: [{name: alone, producer: {acks: 1}}]
replicas: always
steps:
- write: {name: together, records: 10}
- wait: {high_watermark: {of: {nodes: [1, 2, 3]}, exactly: 10}}
- wait: {checkpoint: {of: {broker: 1}, file: replication-offset-checkpoint, exactly: 10}, within: 60}
- inject: {partition: {from: {broker: 1}, to: {nodes: [2, 3]}}, name: cut}
- write: {name: alone, records: 5}
- wait: {log_end: {of: {broker: 1}, exactly: 15}}
- wait: {log_end: {of: {nodes: [2, 3]}, exactly: 10}, within: 5}
- wait: {high_watermark: {of: {broker: 1}, exactly: 10}, within: 30}
- heal: {only: [cut]}
- wait: {high_watermark: {of: {nodes: [1, 2, 3]}, exactly: 15}}
- inject: {kill: {target: {broker: 1}}, name: death}
- wait: {leader: {is: {nodes: [2, 3]}}}
- wait: {isr: {is: {nodes: [2, 3]}}}
- heal: {only: [death]}
- wait: {isr: {is: {nodes: [1, 2, 3]}}, within: 60}
- wait: {logged: {of: {broker: 1}, text: Kafka Server started}}
"""


def run(cluster: ManagedCluster, text: str, results: Path) -> ArmResult:
    experiment: Experiment = parse(text, "step-by-step")
    _, result = run_on(cluster, experiment, Options(results=results))
    (arm,) = result.arms
    return arm


def test_every_state_is_reached(cluster: ManagedCluster, results: Path) -> None:
    arm = run(cluster, STEPS, results)
    assert arm.meta.problems == ()
    assert arm.judgement.verdict == VerdictWord.VALID, arm.judgement
    assert [window.kind for window in arm.meta.windows] == ["partition", "kill"]
    assert len(arm.meta.steps) == 16
    final = arm.meta.final_read
    assert final is not None
    assert final.replicas_inspected == (1, 2, 3)


def test_a_state_that_does_not_come_is_unknown_with_what_was_seen(
    cluster: ManagedCluster, results: Path
) -> None:
    never = "- wait: {log_end: {of: {nodes: [2, 3]}, exactly: 10}, within: 5}"
    arm = run(cluster, STEPS.replace(never, never.replace("exactly: 10", "exactly: 15")), results)
    assert arm.judgement.verdict == VerdictWord.UNKNOWN
    (problem,) = arm.meta.problems
    assert "timed out after 5 s" in problem
    assert "log end offset of partition 0 by broker: 2: 10, 3: 10" in problem
