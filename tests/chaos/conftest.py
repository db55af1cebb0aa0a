"""One cluster for the whole tier, where a test allows: boots are what costs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cluster import Cluster
from harness.spec import ClusterSpec


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three brokers and a controller with the fast profile: the cluster of the built-in experiments."""
    with Cluster(ClusterSpec(), log_folder=tmp_path_factory.mktemp("logs")) as started:
        yield started


@pytest.fixture
def topic(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A topic of one partition on all three brokers, settled."""
    from harness.settled import settle

    name = request.node.name.replace("[", "-").replace("]", "")[:80]
    admin = cluster.admin()
    admin.create(name, partitions=1, replication_factor=3, config={"min.insync.replicas": "2"})
    settle(cluster, name, 1, 3, 60)
    yield name
    admin.delete(name)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"
