"""Kafka before 4.0 with ZooKeeper: clusters come up, faults are proved on them, runs are judged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from faults import Kill, Partition
from faults.shared.fault_spec import InjectionContext
from faults.targets import BrokerId, Controller, ZooKeeper
from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.model.result import VerdictWord
from harness.run.executor import Options, run_on
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment_files import parse

# Images of two more versions, and their clusters: for the nightly.
pytestmark = [pytest.mark.chaos, pytest.mark.soak]


@pytest.fixture(scope="module", params=["3.9.2", "2.8.2"])
def old(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagedCluster]:
    # Followers stay in the ISR for as long as a busy machine may take from a cut to a kill.
    patient = {"replica.lag.time.max.ms": "30000"}
    spec = ClusterSpec(metadata="zookeeper", version=request.param, properties=patient)
    with ManagedCluster(spec, log_folder=tmp_path_factory.mktemp("zookeeper")) as cluster:
        yield cluster


EXPERIMENT = """
name: old-kafka
title: The leader is cut from its followers and killed
cluster: {{metadata: zookeeper, version: {version}}}
topic: {{partitions: 1, config: {{min.insync.replicas: 2}}}}
arms:
- {{name: acks=1, producer: {{acks: 1}}, promise: {{lost: acked in alone}}}}
- {{name: acks=all, producer: {{acks: all}}, promise: {{lost: 0, duplicate: any}}}}
steps:
- write: {{name: together, records: 500}}
- wait: {{replicated: true, within: 60}}
- inject: {{partition: {{from: {{leader: 0}}, to: {{followers: 0}}}}}}
- write: {{name: alone, records: 500, at_most: 6}}
- wait: {{isr: 3, within: 10}}
- inject: {{kill: {{target: {{leader: 0}}}}}}
- heal:
"""


def test_what_was_acked_alone_is_lost(old: ManagedCluster, results: Path) -> None:
    experiment = parse(EXPERIMENT.format(version=old.spec.version), "old-kafka")
    _, result = run_on(old, experiment, Options(results=results))
    one, every = result.arms
    assert one.judgement.as_promised, one.judgement
    assert one.judgement.verdict == VerdictWord.INVALID
    assert one.summary is not None
    assert one.summary.lost_by_step == {"alone": 500}
    assert every.judgement.verdict == VerdictWord.VALID, every.judgement


def test_the_controller_is_a_broker_and_can_be_killed(old: ManagedCluster) -> None:
    old.admin().create("controlled", partitions=1, replication_factor=3, config={})
    settle(old, "controlled", 1, 3, 60)
    at = InjectionContext(old, "controlled", 4.0, "kafka-chaos-controller")
    active = old.controller()
    injection = Kill(target=Controller(controller=True)).aim(at)
    assert injection.nodes == (active,)
    injection.apply(at)
    assert injection.verify(at).seen
    assert injection.heal(at).seen
    settle(old, "controlled", 1, 3, 60)
    assert old.controller() in old.broker_ids


def test_a_broker_is_cut_from_zookeeper(old: ManagedCluster) -> None:
    old.admin().create("cut", partitions=1, replication_factor=3, config={})
    settle(old, "cut", 1, 3, 60)
    at = InjectionContext(old, "cut", 4.0, "kafka-chaos-cut")
    spec = Partition.model_validate({"from": BrokerId(broker=1), "to": ZooKeeper(zookeeper=True)})
    injection = spec.aim(at)
    injection.apply(at)
    try:
        evidence = injection.verify(at)
    finally:
        healed = injection.heal(at)
    assert evidence.seen, evidence
    assert healed.seen
    settle(old, "cut", 1, 3, 60)
