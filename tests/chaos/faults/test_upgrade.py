"""An upgrade by one version and the way back, on real brokers: what the nodes are afterwards, what of theirs
stays, and what Kafka refuses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.finalize import Finalize
from faults.restart import Restart
from faults.shared.fault_spec import FaultSpec, InjectionContext
from faults.targets import BrokerId
from harness.cluster import traces
from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.cluster.protocol.client_requests import produce
from harness.model.errors import FaultError
from harness.model.kafka_releases import METADATA, RELEASES
from harness.run.executor import Options, execute
from harness.spec.experiment_files import load

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

OLD, NEW = "3.9.2", "4.1.1"
TOPIC = "t"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagedCluster]:
    """A cluster of its own: its version changes."""
    with ManagedCluster(version=OLD, log_folder=tmp_path_factory.mktemp("logs")) as started:
        started.admin().create(TOPIC, partitions=1, replication_factor=3, config={"min.insync.replicas": "2"})
        settle(started, TOPIC, 1, 3, 120)
        yield started


def done(cluster: ManagedCluster, spec: FaultSpec) -> str:
    """Inject, prove and heal it; returns the proof in words."""
    context = InjectionContext(cluster, TOPIC, session_seconds=4.0, tag="kafka-chaos-upgrade")
    injection = spec.aim(context)
    injection.apply(context)
    evidence = injection.verify(context)
    assert evidence.seen, evidence.what
    healed = injection.heal(context)
    assert healed.seen, healed.what
    return evidence.what


def standing(cluster: ManagedCluster) -> dict[int, object]:
    """What a replacement must not change of each node: address, port, name, own labels, data volume."""
    found: dict[int, object] = {}
    for node in cluster.nodes:
        attrs = cluster.inspect(node.id)
        mounts = {mount["Destination"]: mount["Name"] for mount in attrs["Mounts"]}
        labels = {key: value for key, value in attrs["Config"]["Labels"].items() if "kafka-chaos.c" in key}
        address = attrs["NetworkSettings"]["Networks"][cluster.name]["IPAddress"]
        ports = attrs["NetworkSettings"]["Ports"].get("9092/tcp")
        found[node.id] = (attrs["Name"], attrs["Config"]["Hostname"], address, ports, labels, mounts)
    return found


def test_one_up_and_one_down(cluster: ManagedCluster) -> None:
    leader = cluster.view((TOPIC,)).partition(TOPIC, 0).leader  # type: ignore[union-attr]
    with cluster.connection(leader, 5.0) as connection:
        assert produce(connection, TOPIC, 0)[0] is None
    (before,) = settle(cluster, TOPIC, 1, 3, 60)
    stands = standing(cluster)
    assert "in the order controller 101, broker 1, broker 2, broker 3" in done(cluster, Restart(version=NEW))
    assert standing(cluster) == stands
    assert {cluster.inspect(node.id)["Config"]["Image"].rpartition(":")[2] for node in cluster.nodes} == {NEW}
    assert "Kafka version: 3.9.2" in cluster.log_since(1, 0), "the log before the replacement is still there"
    (after,) = settle(cluster, TOPIC, 1, 3, 60)
    assert (after.end_offset, after.log_start_offset) == (before.end_offset, 0), "the records are still there"
    features = cluster.features(1)
    assert features is not None
    assert features.finalized[METADATA] == RELEASES["3.9"].metadata, "an upgrade alone finalises nothing"
    assert "broker 1, broker 2, broker 3, controller 101" in done(cluster, Restart(version=OLD))
    assert traces.traces(cluster, cluster.nodes_with_containers) == []
    brokers = ["broker-1", "broker-2", "broker-3"]
    nodes = [change.what for change in cluster.changes]
    assert nodes == ["controller-101", *brokers, *brokers, "controller-101"]


def test_levels_are_finalised_and_lowered_and_what_kafka_refuses(
    cluster: ManagedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FaultError, match="only supports versions"):
        done(cluster, Finalize(release="4.1", only_metadata=True))
    done(cluster, Restart(version=NEW))
    assert "metadata.version 3.9-IV0 -> 4.1-IV1, " in done(cluster, Finalize(release="4.1"))
    assert "metadata.version 4.1-IV1 -> 4.0-IV3" in done(cluster, Finalize(release="4.0"))
    with pytest.raises(FaultError, match="might delete metadata information"):
        done(cluster, Finalize(release="3.9"))
    # What the plan refuses beforehand does not work: the broker cannot read the metadata log.
    monkeypatch.setattr("faults.restart.REJOIN_SECONDS", 25.0)
    with pytest.raises(FaultError, match=r"broker 1 printed: .*ERROR"):
        done(cluster, Restart(version=OLD, target=BrokerId(broker=1)))
    if cluster.is_running(1):
        cluster.kill(1)
    cluster.replace_node(1, NEW)
    cluster.start_node(1)
    settle(cluster, TOPIC, 1, 3, 90)


def test_each_run_begins_with_the_first_version(tmp_path: Path) -> None:
    """Two runs of an experiment that upgrades: the second one gets a new cluster, and the report tells."""
    written = tmp_path / "up.yaml"
    written.write_text(
        f"""
name: up
title: One broker gets a newer version
cluster: {{brokers: 1, combined: true, version: {OLD}}}
topic: {{partitions: 1, replication_factor: 1}}
steps:
  - write: {{name: before, records: 100}}
  - write:
      name: up
      seconds: 12
      rate: 50
      faults: [{{fault: {{restart: {{version: {NEW}}}}}, at: 1, for: 1}}]
arms:
  - {{name: upgraded, producer: {{acks: all, delivery.timeout.ms: 60000}}}}
"""
    )
    ((_, result),) = execute([load(str(written))], Options(results=tmp_path / "results", repeat=2))
    for arm in result.arms:
        assert arm.judgement.verdict == "valid", arm.judgement
        assert arm.meta.cluster.image.kafka_version == OLD
        assert [(one.what, one.before, one.after) for one in arm.meta.cluster.changes] == [
            ("broker-1", OLD, NEW)
        ]
