"""Starts the cluster that an experiment describes, connects to it, or attaches to one of another process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docker import DockerClient
from docker.errors import NotFound

from harness.cluster import external_containers
from harness.cluster.external import ExternalCluster, client_security_of
from harness.cluster.live import LiveCluster
from harness.cluster.managed import ManagedCluster
from harness.cluster.node_plan import plan
from harness.cluster.state_records import ClusterRecord
from harness.containers import images
from harness.model.progress import report_progress
from harness.protocol.client_security import ClientSecurity
from harness.spec.cluster import ClusterSpec


@contextmanager
def running_cluster(spec: ClusterSpec, logs: Path) -> Iterator[ManagedCluster | ExternalCluster]:
    """A started cluster, removed at the end whatever happens; or an external one, left as it was."""
    if spec.existing is not None:
        report_progress(f"connecting to the cluster at {spec.existing.bootstrap_servers}")
        with ExternalCluster(spec) as existing:
            yield existing
        return
    report_progress(
        f"starting Kafka {spec.version}: {spec.brokers} brokers, {spec.controllers} controller(s)"
    )
    with ManagedCluster(spec, log_folder=logs) as cluster:
        yield cluster


def attach(client: DockerClient | None, record: ClusterRecord) -> LiveCluster | None:
    """Attach to a recorded cluster; None if its containers are gone. `client` may be None for an existing
    cluster, one that kafka-chaos has not started.

    Raises:
        BadInput, ClusterError: for an existing cluster, its client configuration or a container is gone.
    """
    if record.spec.existing is not None:
        return _attach_external(record)
    assert client is not None
    cluster = LiveCluster()
    cluster.spec = record.spec
    cluster.name = record.name
    cluster.nodes = plan(record.spec, list(record.ports), record.cluster_id)
    cluster.access = ClientSecurity(record.access)
    try:
        handles = {node.id: client.containers.get(f"{record.name}-{node.name}") for node in cluster.nodes}
    except NotFound:
        return None
    cluster.baseline = record.baseline
    cluster.use_containers(client, handles, record.addresses, record.client_address, images.toolbox(client))
    return cluster


def _attach_external(record: ClusterRecord) -> ExternalCluster:
    """Attach to an existing cluster that another process has used, without contacting its brokers."""
    cluster = ExternalCluster(record.spec)
    cluster.name, cluster.topics, cluster.groups = record.name, record.topics, record.groups
    cluster.access = client_security_of(cluster.existing)
    cluster.baseline = record.baseline
    cluster.set_brokers(record.brokers)
    if cluster.existing.containers is not None:
        external_containers.attach(cluster, cluster.existing.containers)
    return cluster
