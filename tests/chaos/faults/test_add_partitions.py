"""Added partitions on real brokers: every broker knows them, keys move, and the final read has them all."""

from __future__ import annotations

from pathlib import Path

import pyarrow.dataset as ds
import pytest

from faults.add_partitions import AddPartitions
from faults.shared.fault_spec import InjectionContext
from harness.cluster.managed import ManagedCluster
from harness.model import journal
from harness.model.errors import FaultError
from harness.model.result import VerdictWord
from harness.run.executor import Options, run_on
from harness.spec.experiment_files import parse
from tests.chaos.support.cluster_queries import partition_state
from tests.chaos.support.proof import Prove

pytestmark = pytest.mark.chaos

RUN = """
name: growing
title: The topic gets partitions while keys are written
topic: {partitions: 2, config: {min.insync.replicas: 2}}
workload: {rate: 300, keys: 40, spread: client}
readers:
- name: group
  group: growing
  commits: auto
  reset: earliest
  extra: {topic.metadata.refresh.interval.ms: 500}
steps:
- write: {name: w, seconds: 12, faults: [{fault: {add_partitions: {count: 3}}, at: 3, for: 1}]}
arms:
- &safe
  name: grown
  producer: {acks: all, enable.idempotence: true, extra: {topic.metadata.refresh.interval.ms: 500}}
- {<<: *safe, name: control, without_faults: true}
"""


def context(cluster: ManagedCluster, topic: str) -> InjectionContext:
    return InjectionContext(cluster, topic, session_seconds=4.0, tag=f"kafka-chaos-{topic[:30]}", seed="7")


def test_partitions_are_added(
    cluster: ManagedCluster, topic: str, prove: Prove, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as short:
        short.setattr("faults.add_partitions.PartitionsAdded.proof_seconds", 1.0)
        unasked = AddPartitions().aim(context(cluster, topic)).verify(context(cluster, topic))
    assert "does not know partition 1" in unasked.what, "nothing was added yet"
    with prove(AddPartitions(count=2)):
        assert set(partition_state(cluster, topic, 2).isr) == {1, 2, 3}
    assert partition_state(cluster, topic, 2).leader > 0
    assert "INVALID_PARTITIONS" in (cluster.create_partitions(topic, 2) or "")


def test_a_topic_that_is_gone_is_refused(cluster: ManagedCluster) -> None:
    with pytest.raises(FaultError, match="number of partitions is not known"):
        AddPartitions().aim(context(cluster, "no-such-topic"))


@pytest.mark.soak
def test_keys_move_to_new_partitions_and_every_record_is_found(
    cluster: ManagedCluster, results: Path
) -> None:
    folder, result = run_on(cluster, parse(RUN, "growing"), Options(results=results, seed=3))
    grown, control = result.arms
    for arm in result.arms:
        assert arm.judgement.verdict == VerdictWord.VALID, arm.judgement
    (window,) = grown.meta.windows
    assert window.verified, window.evidence
    assert (grown.meta.partitions, control.meta.partitions) == (5, 2)
    assert grown.meta.final_read is not None
    assert sorted(bound.partition for bound in grown.meta.final_read.bounds) == [0, 1, 2, 3, 4]
    assert places(folder / "control") == {0, 1}
    assert places(folder / "grown") == {0, 1, 2, 3, 4}
    assert read_live(folder / "grown") == {0, 1, 2, 3, 4}, "the group was given the new partitions"


def places(folder: Path) -> set[int]:
    """The partitions that were sent to."""
    table = ds.dataset(folder / journal.SENDS_DIR).to_table(columns=["partition"])
    return set(table["partition"].to_pylist())


def read_live(folder: Path) -> set[int]:
    """The partitions that the group was given records of."""
    table = ds.dataset(folder / journal.LIVE_DIR / "group-0").to_table(columns=["partition"])
    return set(table["partition"].to_pylist())
