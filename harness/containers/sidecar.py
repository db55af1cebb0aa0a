"""Runs commands in a node's network namespace or on its files, in a toolbox container beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from docker import DockerClient

from harness.containers.capabilities import Rights

_SECONDS = 60


@dataclass(frozen=True, slots=True)
class ContainerOutput:
    """The output of a command in or beside a container, and its exit code."""

    code: int
    text: str


def run_sidecar(
    client: DockerClient, toolbox: str, script: str, labels: dict[str, str], rights: Rights, **placed: Any
) -> ContainerOutput:
    """Run a shell script beside another container, with these rights (`harness.containers.capabilities`).
    `placed` are docker-py's options that attach it (`network_mode`, `volumes_from`, ...).

    Raises:
        DockerException, OSError: the sidecar could not be started, or took more than a minute.
    """
    sidecar = client.containers.create(toolbox, ["bash", "-c", script], labels=labels, **rights, **placed)
    try:
        sidecar.start()
        code = int(sidecar.wait(timeout=_SECONDS)["StatusCode"])
        return ContainerOutput(code, sidecar.logs().decode(errors="replace"))
    finally:
        # This removes only its own volumes: those of the other container are still in use.
        sidecar.remove(v=True, force=True)


def cgroups_of(container: str) -> dict[str, Any]:
    """Options of a sidecar that changes a container's control groups: the container's process is PID 1 in it,
    and the engine's control groups are in /cgroup. This needs a mount and no further privilege."""
    return {
        "pid_mode": f"container:{container}",
        "cgroupns": "host",
        "network_mode": "none",
        "volumes": {"/sys/fs/cgroup": {"bind": "/cgroup", "mode": "rw"}},
    }
