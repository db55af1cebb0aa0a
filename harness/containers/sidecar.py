"""Commands in a node's network namespace or files, from a container of the toolbox image beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from docker import DockerClient

from harness.containers.capabilities import Rights

_SECONDS = 60


@dataclass(frozen=True, slots=True)
class ContainerOutput:
    """What a command beside or in a node printed, and its exit code."""

    code: int
    text: str


def run_sidecar(
    client: DockerClient, toolbox: str, script: str, labels: dict[str, str], rights: Rights, **placed: Any
) -> ContainerOutput:
    """Run a shell script beside another container, with these rights (`harness.containers.capabilities`):
    `placed` says where (docker-py's `network_mode`, `volumes_from`, ...).

    Raises:
        DockerException, OSError: the sidecar could not be started, or took more than a minute.
    """
    sidecar = client.containers.create(toolbox, ["bash", "-c", script], labels=labels, **rights, **placed)
    try:
        sidecar.start()
        code = int(sidecar.wait(timeout=_SECONDS)["StatusCode"])
        return ContainerOutput(code, sidecar.logs().decode(errors="replace"))
    finally:
        # Only volumes of its own go with it: those that it borrowed are still in use by their container.
        sidecar.remove(v=True, force=True)


def cgroups_of(container: str) -> dict[str, Any]:
    """Where a sidecar goes that changes a container's control groups: its process is PID 1 there, and the
    engine's control groups are in /cgroup. That takes a mount, and no privilege beyond it."""
    return {
        "pid_mode": f"container:{container}",
        "cgroupns": "host",
        "network_mode": "none",
        "volumes": {"/sys/fs/cgroup": {"bind": "/cgroup", "mode": "rw"}},
    }
