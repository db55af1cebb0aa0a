"""Another container in place of a stopped node's, from another image, with the same volumes.

The old container stays, stopped and renamed, until the cluster is removed: its log is still read, and the
anonymous volumes of both are removed with the last of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from docker.errors import APIError, NotFound
from docker.models.containers import Container

from harness.cluster.containers import capabilities
from harness.cluster.node_plan import Node
from harness.model.host.ports import HOST
from harness.model.node_layout import CLIENT_PORT


def replacement(
    old: Container, node: Node, environment: Mapping[str, str], image: str, endpoint: Mapping[str, Any]
) -> Container:
    """Create a container of `image` for `node`, with the name, labels and volumes of its stopped one.
    `endpoint` is its address, by network.

    Raises:
        DockerException: the engine refuses; the old container then has its name again.
    """
    client, name = old.client, str(old.name)
    assert client is not None
    own = old.image.labels if old.image is not None else {}
    free = next(aside for number in count(1) if not _exists(client, aside := f"{name}-before-{number}"))
    old.rename(free)
    try:
        created: Container = client.containers.create(
            image,
            command=None if node.command is None else list(node.command),
            name=name,
            hostname=node.name,
            environment=dict(environment),
            # Without those that the old image gave it, such as its version.
            labels={key: value for key, value in old.labels.items() if own.get(key) != value},
            network=next(iter(endpoint)),
            networking_config=dict(endpoint),
            ports={} if node.host_port is None else {f"{CLIENT_PORT}/tcp": (HOST, node.host_port)},
            # By its container, not by their names: named volumes would outlive the cluster.
            volumes_from=[str(old.id)],
            **capabilities.NODE,
        )
    except APIError:
        old.rename(name)
        raise
    return created


def _exists(client: Any, name: str) -> bool:
    try:
        client.containers.get(name)
    except NotFound:
        return False
    return True
