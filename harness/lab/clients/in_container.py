"""Runs a command in a container in place of this machine, for clients whose tools are missing here:
`python -m harness.lab.clients.in_container IMAGE FOLDER COMMAND ...`.

Folders have the same paths in the container, and its network is the machine's, so the program is told nothing
else than on the machine. The container has the labels of the cluster beside which it runs, and is removed
with it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from docker import DockerClient
from docker.errors import APIError, DockerException, NotFound

from harness.cluster.containers import docker_engine
from harness.model.errors import KafkaChaosError, PrerequisiteMissing
from harness.model.host.orphans import MARK

MODULE = "harness.lab.clients.in_container"
_OURS = "KAFKA_CHAOS_"
_FOLDERS = ("KAFKA_CHAOS_JOURNAL", "KAFKA_CHAOS_DELIVERIES")
"""The variables that name a folder which the program reads or writes."""
_BESIDE_NONE = "clients"
"""The cluster of containers that install a client."""
_KILLED = 128 + signal.SIGKILL


def obtained(image: str) -> str | None:
    """Have an image on this machine, pulled if it is not there; returns why that is not possible, or None."""
    try:
        client = docker_engine.connect()
    except PrerequisiteMissing as error:
        return error.what
    try:
        if docker_engine.local_image(client, image) is not None:
            return None
        return docker_engine.pull(client, image)
    except DockerException as error:
        return docker_engine.one_line(str(error))
    finally:
        client.close()


def contained(command: Sequence[str], image: str, folder: str) -> tuple[str, ...]:
    """What runs a command in a container of this image."""
    return (sys.executable, "-m", MODULE, image, folder, *command)


def main(image: str, folder: str, command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command in a container until it ends; returns its exit code. SIGTERM is passed on.

    Raises:
        PrerequisiteMissing: no container engine.
        DockerException: it refuses the container.
    """
    client = docker_engine.connect()
    container = _created(client, image, folder, command, environment)
    try:
        signal.signal(signal.SIGTERM, lambda *_: _end(container))
        container.start()
        for output in container.logs(stream=True, follow=True):
            sys.stdout.buffer.write(output)
            sys.stdout.buffer.flush()
        return int(container.wait()["StatusCode"])
    except NotFound:  # The cluster was removed, and it with it.
        return _KILLED
    finally:
        with suppress(APIError):
            container.remove(v=True, force=True)
        client.close()


def _created(
    client: DockerClient, image: str, folder: str, command: Sequence[str], environment: Mapping[str, str]
) -> Any:
    ours = {name: text for name, text in environment.items() if name.startswith(_OURS)}
    folders = {folder, *(ours[name] for name in _FOLDERS if name in ours)}
    cluster = ours.pop(MARK, "").partition(" ")[0] or _BESIDE_NONE
    return client.containers.create(
        image,
        list(command),
        entrypoint=[],
        # Package managers keep what they fetch below the home folder; the user of an image may have none.
        environment=ours | {"HOME": folder},
        user=f"{os.getuid()}:{os.getgid()}",
        working_dir=folder,
        volumes={path: {"bind": path, "mode": "rw"} for path in folders},
        network_mode="host",
        init=True,
        labels={**docker_engine.labels(cluster), docker_engine.LASTING_LABEL: "1"},
    )


def _end(container: Any) -> None:
    with suppress(APIError):
        container.kill(signal.SIGTERM)


if __name__ == "__main__":
    try:
        raise SystemExit(main(sys.argv[1], sys.argv[2], sys.argv[3:], os.environ))
    except (DockerException, KafkaChaosError) as refusal:
        raise SystemExit(f"the container cannot be run: {refusal}") from refusal
