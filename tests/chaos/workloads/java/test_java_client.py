"""The Java client as the workload, on real brokers: nothing is lost that must not be, and a loss is seen."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from harness.model.errors import BadInput
from harness.model.finding_class import FindingClass
from harness.model.journal import SendOutcome
from harness.model.result import ArmResult, VerdictWord
from harness.run.executor import Options, execute
from harness.spec.experiment_files import parse
from tests.chaos.support.windows import not_proved

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

# Followers stay in the ISR for as long as a JVM may take to start while they are cut off.
CLUSTER = "{brokers: 3, controllers: 1, profile: fast, properties: {replica.lag.time.max.ms: 30000}}"

KILL = f"""
name: java-kill-leader
title: The leader dies while the Java client writes
cluster: {CLUSTER}
topic: {{partitions: 3, replication_factor: 3, config: {{min.insync.replicas: 2}}}}
workload: {{client: java, producers: 2, rate: 1000, keys: 10}}
steps:
  # By records, not by time, which may pass while a JVM starts.
  - write:
      name: steady
      records: 10000
      at_most: 150
      faults: [{{fault: {{kill: {{target: {{leader: 0}}}}}}, at: 2, for: 4}}]
  - write: {{name: after, records: 500}}
arms:
  - {{name: safe, producer: {{acks: all, enable.idempotence: true}}, promise: {{lost: 0, duplicate: 0}}}}
"""

CUT = f"""
name: java-cut-then-kill
title: The leader is cut from its followers, goes on acknowledging the Java client, and dies
cluster: {CLUSTER}
topic: {{partitions: 1, replication_factor: 3, config: {{min.insync.replicas: 2}}}}
workload: {{client: java}}
steps:
  - write: {{name: together, records: 500}}
  - wait: {{replicated: true, within: 60}}
  - inject: {{partition: {{from: {{leader: 0}}, to: {{followers: 0}}}}}}
  - write: {{name: alone, records: 500, at_most: 12}}
  - wait: {{isr: 3, within: 10}}
  - inject: {{kill: {{target: {{leader: 0}}}}}}
  - heal:
arms:
  - {{name: acks=1, producer: {{acks: 1}}, promise: {{lost: acked in alone}}}}
  - {{name: acks=all, producer: {{acks: all}}, promise: {{lost: 0, duplicate: any}}}}
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, ArmResult]]:
    """Both experiments on one cluster, by the arms' names."""
    options = Options(results=tmp_path_factory.mktemp("results"), seed=3)
    done = execute([parse(KILL, "kill"), parse(CUT, "cut")], options)
    return {arm.meta.arm: (folder / arm.folder, arm) for folder, result in done for arm in result.arms}


def test_the_idempotent_java_client_loses_nothing(ran: dict[str, tuple[Path, ArmResult]]) -> None:
    folder, arm = ran["safe"]
    assert arm.summary is not None
    assert (arm.judgement.verdict, arm.judgement.as_promised) == (VerdictWord.VALID, True), arm.judgement
    assert arm.meta.client == "java"
    assert arm.summary.outcomes == {SendOutcome.ACKED: 10_500}
    assert arm.summary.acked_by_step == {"steady": 10_000, "after": 500}
    assert not_proved(arm.meta) == []
    # Keys go round.
    sends = pq.read_table(folder / "sends", columns=["producer", "seq", "key"])
    assert set(sends["producer"].to_pylist()) == {0, 1}
    assert all(
        key == seq % 10 for seq, key in zip(sends["seq"].to_pylist(), sends["key"].to_pylist(), strict=True)
    )


def test_with_acks_1_what_was_acked_after_the_cut_is_lost(ran: dict[str, tuple[Path, ArmResult]]) -> None:
    _, arm = ran["acks=1"]
    assert arm.summary is not None
    assert (arm.judgement.verdict, arm.judgement.as_promised) == (VerdictWord.INVALID, True), arm.judgement
    assert arm.summary.acked_by_step == {"together": 500, "alone": 500}
    assert arm.summary.lost_by_step == {"alone": 500}
    assert arm.summary.lost_held_by_leader == arm.summary.lost_unexamined == 0


def test_with_acks_all_nothing_is(ran: dict[str, tuple[Path, ArmResult]]) -> None:
    _, arm = ran["acks=all"]
    assert arm.summary is not None
    assert arm.judgement.as_promised, arm.judgement
    assert arm.summary.count(FindingClass.LOST) == arm.summary.count(FindingClass.PHANTOM) == 0
    assert (
        arm.summary.outcomes[SendOutcome.ACKED] + arm.summary.outcomes.get(SendOutcome.INDETERMINATE, 0)
        == 1000
    )


def test_settings_that_the_client_refuses_are_told(tmp_path: Path) -> None:
    text = KILL.replace("producer: {acks: all,", "producer: {acks: all, extra: {buffer.memory: many},")
    with pytest.raises(BadInput, match="the Java client refuses the producer settings") as caught:
        execute([parse(text, "bad")], Options(results=tmp_path, seed=1))
    assert "buffer.memory" in str(caught.value)
