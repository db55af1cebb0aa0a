"""Instances of an application as containers on the cluster's network."""

from __future__ import annotations

import io
import re
import tarfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from docker.errors import DockerException, NotFound
from docker.models.containers import Container
from docker.types import EndpointConfig

from harness.cluster.containers import capabilities, docker_engine
from harness.cluster.containers.images import require_image
from harness.cluster.managed import ManagedCluster
from harness.cluster.node_control import RunningNodes
from harness.cluster.node_plan import Node
from harness.model.errors import BadInput, ClusterError
from harness.model.host.fetched import last_lines
from harness.model.host.process_group import ProcessCommand
from harness.model.node_layout import FIRST_APPLICATION_ID
from harness.model.polling import poll_within
from workloads.applications.application_spec import ContainerApplication
from workloads.applications.host_process import HostProcess

STATE = "/state"
"""The state folder of a container. It survives restarts, because the same container starts again."""
STOP_SECONDS = 20.0


def require_container(spec: ContainerApplication) -> None:
    """Check that the image is on this machine, or can be pulled, and that the files can be read.

    Raises:
        BadInput: the image is missing, or a file cannot be read.
        PrerequisiteMissing: there is no container engine.
    """
    for inside, outside in spec.files.items():
        if not Path(outside).is_file():
            raise BadInput(
                "a file for the application's container cannot be read",
                where=f"application.run.container.files: {inside}",
                expected="a file on this machine",
                found=outside,
                next_step="correct the path; it is relative to the folder in which kafka-chaos runs",
            )
    require_image(spec.image, "the application", "application.run.container.image")


class ApplicationContainers(RunningNodes):
    """The containers of one application, as nodes beside those of the cluster; none is created yet. `mounts`
    are folders of this machine and where they are in each container, as the engine takes them."""

    def __init__(
        self, cluster: ManagedCluster, instances: int, mounts: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        super().__init__()
        self._mounts = {folder: dict(mount) for folder, mount in (mounts or {}).items()}
        self.name, self.client = cluster.name, cluster.client
        self.toolbox = cluster.toolbox
        self._cluster = cluster
        self.nodes = [
            Node(FIRST_APPLICATION_ID + number, f"application-{number}") for number in range(instances)
        ]
        self._addresses = {node.id: cluster.spare_address(n) for n, node in enumerate(self.nodes)}

    def make(self, number: int, spec: ContainerApplication, command: ProcessCommand) -> None:
        """Create the container of a node, with its files and an empty state folder.

        Raises:
            ClusterError: the engine refuses.
        """
        node = self.node(number)
        network = self._cluster.name
        endpoint = EndpointConfig(
            self.client.api._version, aliases=[node.name], ipv4_address=self.address(number)
        )
        try:
            container = self.client.containers.create(
                spec.image,
                list(command.arguments) or None,
                name=f"{self.name}-{node.name}-{time.time_ns() % 10**9:09d}",
                hostname=node.name,
                environment=command.environment,
                labels={
                    **docker_engine.labels(self.name),
                    docker_engine.LASTING_LABEL: "1",
                    docker_engine.APPLICATION_LABEL: "1",
                },
                network=network,
                networking_config={network: endpoint},
                volumes=self._mounts,
                **capabilities.NODE,
            )
            self._handles[number] = container
            container.put_archive("/", _archive(spec.files))
        except (DockerException, OSError) as error:
            found = str(getattr(error, "explanation", None) or error)
            raise ClusterError(
                "the application's container could not be created",
                where=spec.image,
                found=found,
                next_step="correct `container` below `application`",
            ) from error

    def handle(self, number: int) -> Container | None:
        """The container of a node, if it was created."""
        return self._handles.get(number)

    def forget(self, number: int) -> None:
        """Remove the container of a node, running or not."""
        container = self._handles.pop(number, None)
        if container is not None:
            with suppress(NotFound):
                container.remove(v=True, force=True)


class ContainerInstance:
    """One container of an application. Its methods are those of `HostProcess`.

    What it has printed is written to `log`, and its state folder copied to `state`, when it is stopped.
    """

    pid: int | None = None

    def __init__(
        self,
        containers: ApplicationContainers,
        number: int,
        spec: ContainerApplication,
        command: ProcessCommand,
        log: Path,
        state: Path,
    ) -> None:
        self.containers, self._number, self._spec, self._command = containers, number, spec, command
        self._log, self._state = log, state
        self.name = f"application {number - FIRST_APPLICATION_ID}"
        self._terminated = False

    def start(self) -> None:
        if self.containers.handle(self._number) is None:
            self.containers.make(self._number, self._spec, self._command)
        if self._terminated:
            self._await_end(STOP_SECONDS)
        try:
            self.containers.start_node(self._number)
        except ClusterError as error:
            raise BadInput(
                "the application's container cannot be started",
                where=self._spec.image,
                found=error.found,
                next_step="correct `container` below `application`",
            ) from error

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        if self.is_running():
            if self.is_paused():
                self.unpause()
            self.terminate()
            self._await_end(seconds)
        self._keep()

    def remove(self) -> None:
        self._keep()
        self.containers.forget(self._number)

    def last_lines(self, count: int = 8) -> str:
        if self.containers.handle(self._number) is None:
            return ""
        return last_lines(self.containers.log_tail(self._number, count), count)

    def is_running(self) -> bool:
        created = self.containers.handle(self._number) is not None
        return created and self.containers.is_running(self._number)

    def kill(self) -> None:
        if self.is_running():
            self.containers.kill(self._number)

    def terminate(self) -> None:
        self._terminated = True
        self.containers.terminate(self._number)

    def pause(self) -> None:
        self.containers.pause(self._number)

    def unpause(self) -> None:
        self.containers.unpause(self._number)

    def is_paused(self) -> bool:
        created = self.containers.handle(self._number) is not None
        return created and self.containers.is_paused(self._number)

    def exit_code(self) -> int | None:
        return self.containers.exit_code(self._number)

    def started_ns(self) -> int:
        created = self.containers.handle(self._number) is not None
        started = self.containers.started_ns(self._number) if created else 0
        # A container that has never been started tells the year 1.
        return max(0, started)

    def log_since(self, since_ns: int) -> str:
        return self.containers.log_since(self._number, since_ns)

    def ended_ns(self) -> int:
        return self.containers.ended_ns(self._number)

    def stats(self) -> dict[str, Any]:
        return self.containers.stats(self._number)

    def table_size(self, folder: str) -> object:
        """Any value that changes when the files below a folder of the container do."""
        return self.containers.in_node(self._number, f"ls -lR {folder}").text if self.is_running() else None

    def table_bytes(self, folder: str) -> int:
        """The size of all files below a folder of the container; 0 while it is paused or does not run."""
        with suppress(ClusterError):
            match = re.match(r"\d+", self.containers.in_node(self._number, f"du -sk {folder}").text)
            return int(match[0]) * 1024 if match else 0
        return 0

    def _await_end(self, seconds: float) -> None:
        if poll_within(seconds, lambda: "running" if self.is_running() else None) is not None:
            self.kill()
            poll_within(STOP_SECONDS, lambda: "running" if self.is_running() else None)
        self._terminated = False

    def _keep(self) -> None:
        """Copy what can be read of its log and its state folder into the run folder."""
        container = self.containers.handle(self._number)
        if container is None:
            return
        with suppress(DockerException, OSError, tarfile.TarError):
            self._log.write_bytes(container.logs())
            chunks, _ = container.get_archive(STATE)
            with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
                archive.extractall(self._state, members=_below(archive), filter="data")


Instance = HostProcess | ContainerInstance


def _below(archive: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """The members of an archive of a folder, without the name of the folder itself."""
    named = ((member, member.name.partition("/")[2]) for member in archive.getmembers())
    return [member.replace(name=name, deep=False) for member, name in named if name]


def _archive(files: Mapping[str, str]) -> bytes:
    """An archive of the files (inside -> on this machine) and of the state folder, which anyone may write."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        state = tarfile.TarInfo(STATE.strip("/"))
        state.type, state.mode, state.mtime = tarfile.DIRTYPE, 0o777, int(time.time())
        archive.addfile(state)
        for inside, outside in files.items():
            data = Path(outside).read_bytes()
            entry = tarfile.TarInfo(inside.strip("/"))
            entry.size, entry.mode, entry.mtime = len(data), 0o755, int(time.time())
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()
