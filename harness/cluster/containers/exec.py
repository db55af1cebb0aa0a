"""Commands in one container or beside it, what they print, its files and its memory use."""

from __future__ import annotations

import io
import struct
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker import DockerClient
from docker.api.client import APIClient
from docker.errors import NotFound

from harness.cluster.containers.capabilities import Rights

_SECONDS = 60
PIECE_HEADER = struct.Struct(">BxxxL")
"""Before each piece of output: the stream it comes from, and its length (Docker Engine API, attach)."""


class DockerExecClient(DockerClient):  # type: ignore[misc]
    """A client whose `exec_run` returns all that a command has printed.

    docker-py reads the output of a command from the socket below the reader that has parsed the answer's
    head. What that reader has taken with the head is lost: on a busy machine about one short output of 200.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self.api = _Api(*args, **options)


class _Api(APIClient):  # type: ignore[misc]
    def exec_start(self, exec_id: str, *args: Any, **options: Any) -> Any:
        if any(args) or any(options.values()):
            return super().exec_start(exec_id, *args, **options)
        # Without a request to upgrade the connection, the output is the body of the answer.
        answer = self._post_json(
            self._url("/exec/{0}/start", exec_id), data={"Tty": False, "Detach": False}, stream=True
        )
        with answer:
            self._raise_for_status(answer)
            return joined(answer.content)


def joined(pieces: bytes) -> bytes:
    """The output of a command, from the pieces in which the engine sends it."""
    parts, at = [], 0
    while at + PIECE_HEADER.size <= len(pieces):
        _, length = PIECE_HEADER.unpack_from(pieces, at)
        at += PIECE_HEADER.size
        parts.append(pieces[at : at + length])
        at += length
    return b"".join(parts)


@dataclass(frozen=True, slots=True)
class ContainerOutput:
    """The output of a command in or beside a container, and its exit code."""

    code: int
    text: str


def files_in(container: Any, folder: str) -> dict[str, bytes]:
    """The files of a folder in a running or stopped container, by name (empty: no such folder)."""
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


def run_in(container: Any, script: str) -> ContainerOutput:
    """Run a sh script inside a running container, as root."""
    code, output = container.exec_run(["sh", "-c", script], user="root")
    return ContainerOutput(int(code), output.decode(errors="replace"))


def run_sidecar(
    client: DockerClient, toolbox: str, script: str, labels: dict[str, str], rights: Rights, **attachment: Any
) -> ContainerOutput:
    """Run a shell script beside another container, with these rights
    (`harness.cluster.containers.capabilities`). `attachment` are docker-py's options that attach it
    (`network_mode`, `volumes_from`, ...).

    Raises:
        DockerException, OSError: the sidecar could not be started, or took more than a minute.
    """
    sidecar = client.containers.create(toolbox, ["bash", "-c", script], labels=labels, **rights, **attachment)
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


def memory_mib(container: Any) -> float:
    """Memory use of a running container in MiB, without page cache (like `docker stats`)."""
    stats = container.stats(stream=False, one_shot=True)["memory_stats"]
    details = stats.get("stats", {})
    cache = details.get("total_inactive_file", details.get("inactive_file", 0))
    return float(stats.get("usage", 0) - cache) / 2**20
