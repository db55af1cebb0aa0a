"""A program of the user's in a container on the cluster's network."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.errors import DockerException

from harness.cluster.containers import capabilities, docker_engine
from harness.cluster.managed import ManagedCluster
from harness.cluster.node_control import nanoseconds_of
from harness.model.errors import BadInput
from harness.model.host.fetched import last_lines
from harness.model.host.process_group import STOP_SECONDS, ProcessCommand
from harness.model.polling import poll_within

_NEVER = "0001-01-01T00:00:00Z"
"""What the engine says of a container that was never started."""


@dataclass(frozen=True, slots=True)
class ProgramImage:
    """What a program's container is made of: an image, folders of this machine that the program may write,
    and some that it may only read. It sees each under the same path."""

    reference: str
    written: tuple[Path, ...] = ()
    read: tuple[Path, ...] = ()

    def mounts(self) -> dict[str, dict[str, str]]:
        """The folders as the engine takes them."""
        modes = [*((folder, "ro") for folder in self.read), *((folder, "rw") for folder in self.written)]
        return {str(folder): {"bind": str(folder), "mode": mode} for folder, mode in modes}


def this_user() -> str:
    """The user and group of this process, for containers whose files are to be ours."""
    return f"{os.getuid()}:{os.getgid()}"


class ContainerProgram:
    """One program. `log` is the file that takes its output when it is removed. Its methods are those of
    `harness.model.host.process_group.ProcessGroup`."""

    def __init__(
        self, name: str, command: ProcessCommand, image: ProgramImage, log: Path, cluster: ManagedCluster
    ) -> None:
        self.name, self.log = name, log
        self._command, self._image, self._cluster = command, image, cluster
        self._container: Any = None
        self._terminated = self._ended = False

    def start(self) -> None:
        """Start it.

        Raises:
            BadInput: the engine refuses.
        """
        with BadInput.for_errors(
            (DockerException, OSError),
            "the program's container cannot be started",
            where=f"{self._image.reference}: {' '.join(self._command.arguments)}",
            next_step="correct `image` or `command` below `own`",
        ):
            self._container = self._cluster.client.containers.create(
                self._image.reference,
                list(self._command.arguments),
                entrypoint=[],
                name=f"{self._cluster.name}-program-{time.time_ns()}",
                environment={"HOME": "/tmp", **self._command.environment},
                labels={
                    **docker_engine.labels(self._cluster.name),
                    docker_engine.LASTING_LABEL: "1",
                    docker_engine.APPLICATION_LABEL: "1",
                },
                network=self._cluster.name,
                volumes=self._image.mounts(),
                init=True,
                user=this_user(),
                **capabilities.NONE,
            )
            self._container.start()

    def is_running(self) -> bool:
        """Whether it runs; no longer, if its container is gone."""
        return bool(self._state().get("Running", False))

    def exit_code(self) -> int | None:
        """Its exit code; None while it runs."""
        state = self._state()
        return None if state.get("Running", False) else state.get("ExitCode")

    def started_ns(self) -> int:
        return self._time("StartedAt")

    def ended_ns(self) -> int:
        return self._time("FinishedAt")

    def last_lines(self, count: int = 8) -> str:
        """The last lines that it has printed."""
        text = "" if self._container is None else docker_engine.tail(self._container, count)
        return last_lines(text, count)

    def terminate(self) -> None:
        """Send it SIGTERM; returns before it has ended."""
        self._terminated = True
        self._send("SIGTERM")

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Ask it to end, and kill it if it still runs after `seconds`."""
        if self.is_running():
            if not self._terminated:
                self.terminate()
            if poll_within(seconds, lambda: "running" if self.is_running() else None) is not None:
                self._send("SIGKILL")
        self._keep()

    def remove(self) -> None:
        """End it at once; what is known of it stays. Safe to call again."""
        if self.is_running():
            self._send("SIGKILL")
        self._keep()

    def _send(self, signal: str) -> None:
        with suppress(DockerException, OSError):
            self._container.kill(signal)

    def _keep(self) -> None:
        """Write what it has printed to its file. The container stays until its cluster is reset or removed,
        as the answers about it are the engine's."""
        if self._container is not None:
            with suppress(DockerException, OSError):
                self.log.write_bytes(self._container.logs())

    def _time(self, name: str) -> int:
        return max(0, nanoseconds_of(self._state().get(name, _NEVER)))

    def _state(self) -> dict[str, Any]:
        """What the engine says of it, or has said last. It is not asked again once it has said the end: it is
        started once."""
        if self._container is None:
            return {}
        if not self._ended:
            with suppress(DockerException, OSError):
                self._container.reload()
            state = self._container.attrs.get("State", {})
            self._ended = not state.get("Running") and nanoseconds_of(state.get("StartedAt", _NEVER)) > 0
        return dict(self._container.attrs.get("State", {}))
