"""A handle on a running cluster from the record that the process which started it left behind."""

from __future__ import annotations

from docker import DockerClient
from docker.errors import NotFound

from harness.cluster import external_containers
from harness.cluster.external import ExternalCluster, access_to
from harness.cluster.live import LiveCluster
from harness.cluster.nodes import plan
from harness.cluster.state_records import ClusterRecord
from harness.containers import images
from harness.protocol.client_security import ClientSecurity
from harness.spec.cluster import ClusterSpec


def attach(client: DockerClient | None, record: ClusterRecord) -> LiveCluster | None:
    """A handle on a recorded cluster; None: its containers are gone. Without a `client` only clusters that
    are not ours can be had.

    Raises:
        BadInput, ClusterError: somebody else's cluster, and the client's configuration or a container is
        gone.
    """
    if record.spec.existing is not None:
        return attached(record.spec, record.name, record.brokers, record.topics, record.groups)
    assert client is not None
    cluster = LiveCluster()
    cluster.spec = record.spec
    cluster.name = record.name
    cluster.client = client
    cluster.nodes = plan(record.spec, list(record.ports), record.cluster_id)
    cluster.client_address = record.client_address
    cluster.access = ClientSecurity(record.access)
    cluster._addresses = dict(record.addresses)
    cluster._toolbox = images.toolbox(client)
    try:
        cluster._handles = {
            node.id: client.containers.get(f"{record.name}-{node.name}") for node in cluster.nodes
        }
    except NotFound:
        return None
    return cluster


def attached(
    spec: ClusterSpec,
    name: str,
    brokers: dict[int, tuple[str, int]],
    topics: tuple[str, ...],
    groups: tuple[str, ...],
) -> ExternalCluster:
    """A handle on a cluster that another process used: nothing of it is asked.

    Raises:
        BadInput, ClusterError: the client's configuration cannot be used, or a container is gone.
    """
    cluster = ExternalCluster(spec)
    cluster.name, cluster.topics, cluster.groups = name, topics, groups
    cluster.access = access_to(cluster.existing)
    cluster.place(brokers)
    if cluster.existing.containers is not None:
        external_containers.attach(cluster, cluster.existing.containers)
    return cluster
