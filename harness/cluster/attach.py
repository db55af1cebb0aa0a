"""Attaches to a running cluster by the record that the process which started it has left behind."""

from __future__ import annotations

from docker import DockerClient
from docker.errors import NotFound

from harness.cluster import external_containers
from harness.cluster.external import ExternalCluster, client_security_of
from harness.cluster.live import LiveCluster
from harness.cluster.nodes import plan
from harness.cluster.state_records import ClusterRecord
from harness.containers import images
from harness.protocol.client_security import ClientSecurity


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
    cluster.use_containers(client, handles, record.addresses, record.client_address, images.toolbox(client))
    return cluster


def _attach_external(record: ClusterRecord) -> ExternalCluster:
    """Attach to an existing cluster that another process has used, without contacting its brokers."""
    cluster = ExternalCluster(record.spec)
    cluster.name, cluster.topics, cluster.groups = record.name, record.topics, record.groups
    cluster.access = client_security_of(cluster.existing)
    cluster.set_brokers(record.brokers)
    if cluster.existing.containers is not None:
        external_containers.attach(cluster, cluster.existing.containers)
    return cluster
