"""Carries out the commands of a client's installation in a container of its image."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from docker.errors import DockerException

from harness.cluster.containers import capabilities, docker_engine
from harness.model.errors import PrerequisiteMissing
from harness.model.host.fetched import last_lines
from workloads.own.container_program import ProgramImage, this_user

Carry = Callable[[Sequence[str]], str | None]
"""Carries out a command; returns None, or the last lines of one that failed."""
_LABEL = "kafka-chaos-clients"


@contextmanager
def in_container(image: str, folder: Path, whose: str, seconds: int) -> Iterator[Carry]:
    """A container of the image that lasts for the block, at most `seconds`, and may write `folder`, which it
    sees under the same path; commands are carried out there.

    Raises:
        PrerequisiteMissing: there is no container engine, or it refuses.
    """
    client = docker_engine.connect()
    try:
        with PrerequisiteMissing.for_errors(
            (DockerException, OSError), f"{whose} cannot be installed in a container", where=image
        ):
            container = client.containers.run(
                image,
                ["sleep", str(seconds)],
                entrypoint=[],
                detach=True,
                init=True,
                labels={**docker_engine.labels(_LABEL), docker_engine.LASTING_LABEL: "1"},
                environment={"HOME": "/tmp"},
                volumes=ProgramImage(image, written=(folder,)).mounts(),
                working_dir=str(folder),
                user=this_user(),
                **capabilities.NONE,
            )
            try:
                yield lambda command: _carried_out(container.exec_run(list(command)))
            finally:
                container.remove(v=True, force=True)
    finally:
        client.close()


def _carried_out(done: tuple[int | None, bytes]) -> str | None:
    code, output = done
    return last_lines(output.decode(errors="replace")) if code != 0 else None
