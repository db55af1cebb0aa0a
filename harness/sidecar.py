"""Commands in a node's network namespace, from a container of the toolbox image beside it."""

from __future__ import annotations

from dataclasses import dataclass

from docker import DockerClient

_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Output:
    """What a command in a node's network namespace printed, and its exit code."""

    code: int
    text: str


def run_sidecar(
    client: DockerClient, toolbox: str, container_id: str, script: str, labels: dict[str, str]
) -> Output:
    """Run a shell script with NET_ADMIN in the network namespace of a running (or paused) container.

    Raises:
        DockerException, OSError: the sidecar could not be started, or took more than a minute.
    """
    sidecar = client.containers.create(
        toolbox,
        ["bash", "-c", script],
        network_mode=f"container:{container_id}",
        cap_add=["NET_ADMIN"],
        labels=labels,
    )
    try:
        sidecar.start()
        code = int(sidecar.wait(timeout=_SECONDS)["StatusCode"])
        return Output(code, sidecar.logs().decode(errors="replace"))
    finally:
        sidecar.remove(v=True, force=True)
