"""The container of a node as a cluster begins with it, and the volumes that it needs beside its image's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from docker import DockerClient
from docker.types import EndpointConfig
from testcontainers.core.container import DockerContainer

from harness.cluster.containers import capabilities, docker_engine
from harness.cluster.containers.node_volumes import CLOCK_DIR, create_clocks, create_log_dirs
from harness.cluster.node_plan import Node
from harness.model.host.ports import HOST
from harness.model.node_layout import CLIENT_PORT, DATA_DIR
from harness.spec.cluster import ClusterSpec


def new_container(
    node: Node,
    cluster: str,
    image: str,
    environment: Mapping[str, str],
    endpoint: Mapping[str, EndpointConfig],
    volumes: Mapping[str, str],
) -> DockerContainer:
    """A node's container, not started, on the network `cluster`. `endpoint` is its address there, by network.
    Its client port is published on 127.0.0.1 only. `volumes` maps folders to names of volumes; the image's
    other volumes are anonymous."""
    container = DockerContainer(image, env=dict(environment))
    if node.command is not None:
        container.with_command(list(node.command))
    container.with_name(f"{cluster}-{node.name}").with_kwargs(
        **capabilities.NODE,
        hostname=node.name,
        labels=docker_engine.labels(cluster),
        network=cluster,
        networking_config=dict(endpoint),
    )
    for folder, volume in volumes.items():
        container.with_volume_mapping(volume, folder, "rw")
    if node.host_port is not None:
        bindings: dict[str, Any] = container.ports
        bindings[f"{CLIENT_PORT}/tcp"] = (HOST, node.host_port)
    return container


def create_volumes(
    client: DockerClient, cluster: str, spec: ClusterSpec, nodes: Sequence[Node], image: str, toolbox: str
) -> dict[int, dict[str, str]]:
    """Create the volumes that the spec needs; returns node id -> folder -> volume.

    Raises:
        ClusterError: the engine cannot create or mount them, or the image's clock cannot be shifted.
    """
    volumes: dict[int, dict[str, str]] = {node.id: {} for node in nodes}
    if spec.disk_mib is not None:
        brokers = {node.id: node.name for node in nodes if node.broker}
        for number, volume in create_log_dirs(client, cluster, brokers, spec.disk_mib, toolbox).items():
            volumes[number][DATA_DIR] = volume
    if spec.skewable_clocks:
        names = {node.id: node.name for node in nodes}
        for number, volume in create_clocks(client, cluster, names, toolbox, image).items():
            volumes[number][CLOCK_DIR] = volume
    return volumes
