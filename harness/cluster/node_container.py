"""Creates the container of a node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from docker.types import EndpointConfig
from testcontainers.core.container import DockerContainer

from harness.cluster.node_plan import Node
from harness.containers import capabilities
from harness.host.ports import HOST
from harness.model.node_layout import CLIENT_PORT


def container_for(
    node: Node,
    *,
    image: str,
    name: str,
    labels: dict[str, str],
    network: str,
    address: str,
    api_version: str,
    volumes: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> DockerContainer:
    """A node's container, not started, with a fixed address. Its client port is published on 127.0.0.1 only.

    `volumes` maps folders to names of volumes; the image's other volumes are anonymous. `environment` is
    added to that of the node.
    """
    container = DockerContainer(image, env={**node.environment, **(environment or {})})
    if node.command is not None:
        container.with_command(list(node.command))
    container.with_name(name).with_kwargs(
        **capabilities.NODE,
        hostname=node.name,
        labels=labels,
        network=network,
        networking_config={
            network: EndpointConfig(api_version, aliases=[node.name], ipv4_address=address),
        },
    )
    for folder, volume in (volumes or {}).items():
        container.with_volume_mapping(volume, folder, "rw")
    if node.host_port is not None:
        bindings: dict[str, Any] = container.ports
        bindings[f"{CLIENT_PORT}/tcp"] = (HOST, node.host_port)
    return container
