"""A log dir of a limited size is filled up: the broker meets it, and comes back when there is space again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from faults import DiskFull
from faults.disk_full import no_space_line
from faults.shared.fault_spec import InjectionContext
from faults.targets import Leader
from harness.cluster.containers import docker_engine
from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.model.errors import FaultError
from harness.spec.cluster import ClusterSpec
from tests.chaos.support.cluster_queries import await_another_leader, leader_of
from tests.chaos.support.evidence import FaultTable
from tests.chaos.support.proof import proved

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

TOPIC = "disk-full"
LEADER = Leader(leader=0)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagedCluster]:
    """A cluster whose brokers have 64 MiB each, with a settled topic."""
    with ManagedCluster(ClusterSpec(disk_mib=64), log_folder=tmp_path_factory.mktemp("small")) as cluster:
        cluster.admin().create(TOPIC, partitions=1, replication_factor=3, config={"min.insync.replicas": "2"})
        settle(cluster, TOPIC, 1, 3, 60)
        yield cluster
    volumes = docker_engine.connect().volumes.list()
    assert not [volume.name for volume in volumes if volume.name.startswith(cluster.name)]


def test_the_leaders_disk_fills_up(small: ManagedCluster, fault_table: FaultTable) -> None:
    old = leader_of(small, TOPIC)
    with proved(small, TOPIC, DiskFull(target=LEADER), fault_table) as shown:
        # What is refused first is a matter of time: a write, or a page of an index that is mapped.
        assert no_space_line(shown.facts["log"][str(old)]) is not None
        assert shown.facts["free_kib"][str(old)] < 64
        await_another_leader(small, TOPIC, old)
    assert small.is_running(old)


def test_a_disk_that_was_not_filled_proves_nothing(
    small: ManagedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faults.disk_full._SECONDS", 8.0)
    at = InjectionContext(small, TOPIC, 4.0, "kafka-chaos-unfilled")
    injection = DiskFull(target=LEADER).aim(at)
    assert not injection.verify(at).seen


def test_the_shared_cluster_has_no_such_log_dir(cluster: ManagedCluster, topic: str) -> None:
    with pytest.raises(FaultError, match=r"cluster\.disk_mib"):
        DiskFull(target=LEADER).aim(InjectionContext(cluster, topic, 4.0, "kafka-chaos-refused"))
