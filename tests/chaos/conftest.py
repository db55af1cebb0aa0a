"""One cluster for the whole tier, where a test allows: boots are what costs."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.cluster.managed import ManagedCluster
from harness.spec.cluster import ClusterSpec
from tests.chaos.support import evidence
from tests.chaos.support.proof import Prove, proved
from tests.chaos.support.suite import Started


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagedCluster]:
    """Three brokers and a controller with the fast profile: the cluster of the built-in experiments. But its
    leaders do not return to their preferred brokers by themselves, which could happen during any test."""
    spec = ClusterSpec(properties={"auto.leader.rebalance.enable": "false"})
    with ManagedCluster(spec, log_folder=tmp_path_factory.mktemp("logs")) as started:
        yield started


@pytest.fixture
def topic(cluster: ManagedCluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A topic of one partition on all three brokers, settled."""
    from harness.cluster.convergence import settle

    name = request.node.name.replace("[", "-").replace("]", "")[:80]
    admin = cluster.admin()
    admin.create(name, partitions=1, replication_factor=3, config={"min.insync.replicas": "2"})
    settle(cluster, name, 1, 3, 120)
    yield name
    admin.delete(name)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --fault, only the tests that prove faults are left; each skips itself if it proves another one."""
    if config.getoption("--fault") is not None:
        kept = [item for item in items if "fault_table" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


@pytest.fixture(scope="session")
def fault_table(request: pytest.FixtureRequest, cluster: ManagedCluster) -> Iterator[evidence.FaultTable]:
    """Rows of the docs' table of faults, one a fault that was proved; written at the end if asked for."""
    table = evidence.FaultTable(only=request.config.getoption("--fault"))
    yield table
    path = request.config.getoption("--fault-table")
    if path is not None and (table.rows or table.only is None):
        table.write(Path(path), cluster)


@pytest.fixture
def prove(cluster: ManagedCluster, topic: str, fault_table: evidence.FaultTable) -> Prove:
    """`with prove(spec) as shown:` proves a fault on the shared cluster; see tests/chaos/support/proof.py."""
    return lambda spec: proved(cluster, topic, spec, fault_table)


@pytest.fixture
def only_sweeper() -> Iterator[None]:
    """For tests that kill a harness, or that heal or sweep what ended harnesses have left: what one of them
    leaves on purpose, another in a process beside it would remove."""
    with (Path(tempfile.gettempdir()) / "kafka-chaos-tests.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """A cluster of a spec: the one that is up, if it is of this spec, else a new one in its place."""
    up: list[ManagedCluster] = []
    with ExitStack() as stack:

        def cluster(spec: ClusterSpec) -> ManagedCluster:
            if not up or up[-1].spec != spec:
                stack.close()
                up[:] = [
                    stack.enter_context(ManagedCluster(spec, log_folder=tmp_path_factory.mktemp("logs")))
                ]
            return up[-1]

        yield cluster
