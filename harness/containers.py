"""One node's container: how it is made, what is in it, what it takes."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docker.errors import NotFound
from docker.types import EndpointConfig
from testcontainers.core.container import DockerContainer

from harness import rights
from harness.nodes import CLIENT_PORT, Node
from harness.ports import HOST
from harness.sidecar import Output


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
    """A node's container, not started: at a fixed address, its client port published on 127.0.0.1 only.

    `volumes` are the names of volumes by the folder where they go; the image's other volumes are anonymous.
    `environment` comes on top of the node's own.
    """
    container = DockerContainer(image, env={**node.environment, **(environment or {})})
    if node.command is not None:
        container.with_command(list(node.command))
    container.with_name(name).with_kwargs(
        **rights.NODE,
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


def files_in(container: Any, folder: str) -> dict[str, bytes]:
    """The files of a folder in a running or stopped container, by name (none: no such folder)."""
    try:
        chunks, _ = container.get_archive(folder)
    except NotFound:
        return {}
    with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
        return {
            Path(member.name).name: content.read()
            for member in archive.getmembers()
            if (content := archive.extractfile(member)) is not None
        }


def run_in(container: Any, script: str) -> Output:
    """Run a sh script inside a running container, as root."""
    code, output = container.exec_run(["sh", "-c", script], user="root")
    return Output(int(code), output.decode(errors="replace"))


def memory_mib(container: Any) -> float:
    """Memory a running container uses, in MiB, without page cache (as `docker stats` counts)."""
    stats = container.stats(stream=False, one_shot=True)["memory_stats"]
    details = stats.get("stats", {})
    cache = details.get("total_inactive_file", details.get("inactive_file", 0))
    return float(stats.get("usage", 0) - cache) / 2**20
