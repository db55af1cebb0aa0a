"""The containers of a cluster's nodes: controls and inspects them, and runs scripts in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any

from docker import DockerClient
from docker.errors import DockerException
from docker.models.containers import Container
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from harness.cluster.containers import capabilities, docker_engine
from harness.cluster.containers.exec import ContainerOutput, cgroups_of, files_in, run_sidecar
from harness.cluster.containers.lasting_shells import NetworkSidecars, NodeShells
from harness.cluster.node_plan import Node
from harness.cluster.proxied_nodes import ProxiedNodes
from harness.model.errors import ClusterError
from harness.model.node_layout import DATA_DIR
from harness.model.polling import poll_within

_FREEZE_SECONDS = 5.0
_ENDING_SECONDS = 3.0
"""Most sidecars run for less than this."""


class RunningNodes(ProxiedNodes):
    """Nodes by their Kafka node id, one container each. What the engine cannot do, such as run a script in a
    node that does not run, is raised as a ClusterError that names the node."""

    name: str
    client: DockerClient
    nodes: list[Node]

    def __init__(self) -> None:
        super().__init__()
        self.toolbox = ""
        """The image whose containers run scripts beside nodes."""
        self._addresses: dict[int, str] = {}
        self._handles: dict[int, Container] = {}
        self._replaced: dict[int, list[Container]] = {}
        """The stopped containers that others have replaced, by node id, the first first: for their logs."""
        self._on_start: list[Callable[[int], None]] = []
        self._network_sidecars = NetworkSidecars()
        self._shells = NodeShells()
        self.baseline: dict[int, dict[str, tuple[str, ...]]] = {}
        """The baseline: what each node had before any fault, by node id and kind
        (`harness.cluster.trace_kinds`)."""

    @property
    def broker_ids(self) -> tuple[int, ...]:
        return tuple(node.id for node in self.nodes if node.broker)

    @property
    def controller_ids(self) -> tuple[int, ...]:
        return tuple(node.id for node in self.nodes if node.controller)

    @property
    def zookeeper_ids(self) -> tuple[int, ...]:
        return tuple(node.id for node in self.nodes if node.zookeeper)

    @property
    def application_ids(self) -> tuple[int, ...]:
        """Empty: `harness.cluster.cluster_with_application` adds the instances of an application."""
        return ()

    @property
    def nodes_with_containers(self) -> tuple[int, ...]:
        """The ids of the nodes whose containers can be controlled."""
        return tuple(node.id for node in self.nodes)

    def node(self, number: int) -> Node:
        return next(node for node in self.nodes if node.id == number)

    def address(self, number: int) -> str:
        """The node's address on the cluster's network; it never changes."""
        return self._addresses[number]

    def kill(self, number: int) -> None:
        """SIGKILL the node's process."""
        with self._engine(number, "the node could not be killed") as container:
            container.kill("SIGKILL")

    def terminate(self, number: int) -> None:
        """Send SIGTERM to the node's process; returns before it has ended."""
        with self._engine(number, "the node could not be terminated") as container:
            container.kill("SIGTERM")

    def pause(self, number: int) -> None:
        """Freeze every process of the node."""
        # On a busy machine, runc fails if the kernel does not freeze all tasks at once.
        again = Retrying(
            retry=retry_if_exception(lambda error: "unable to freeze" in str(error)),
            stop=stop_after_delay(_FREEZE_SECONDS),
            wait=wait_fixed(0.2),
            reraise=True,
        )
        with self._engine(number, "the node could not be paused") as container:
            again(container.pause)

    def unpause(self, number: int) -> None:
        """Thaw a paused node."""
        with self._engine(number, "the node could not be resumed") as container:
            container.unpause()

    def is_paused(self, number: int) -> bool:
        return bool(self._state(number)["Paused"])

    def start_node(self, number: int) -> None:
        """Start a stopped node again, then call the callbacks of `on_start`; does nothing if it runs."""
        if self.is_running(number):
            return
        with self._proxies.restarting(self._container(number)):
            with self._engine(number, "the node could not be started") as container:
                container.start()
            with self._engine(number, "the node's proxy could not be started"):
                self._start_proxy(number)
        for callback in tuple(self._on_start):
            callback(number)

    def on_start(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Call `callback` with the node's id after each restart of a node; returns what stops this."""
        self._on_start.append(callback)
        return partial(self._on_start.remove, callback)

    def is_running(self, number: int) -> bool:
        return bool(self._state(number)["Running"])

    def exit_code(self, number: int) -> int | None:
        """Exit code of a stopped node; None while it runs."""
        state = self._state(number)
        return None if state["Running"] else int(state["ExitCode"])

    def started_ns(self, number: int) -> int:
        """When the node's process was last started, nanoseconds since the epoch by the engine's clock; in a
        container that was never started: before the epoch."""
        return nanoseconds_of(str(self._state(number)["StartedAt"]))

    def ended_ns(self, number: int) -> int:
        """When the node's process last ended, in its present container or one that this has replaced; as
        `started_ns`."""
        own = nanoseconds_of(str(self._state(number)["FinishedAt"]))
        # Those that were replaced are stopped, and what is known of them is still true.
        earlier = (
            nanoseconds_of(container.attrs["State"]["FinishedAt"])
            for container in self._replaced.get(number, ())
        )
        return max((own, *earlier))

    def in_network(self, number: int, script: str) -> ContainerOutput:
        """Run a shell script from the toolbox image inside the network namespace of a running node."""
        with self._engine(number, "a sidecar could not run in the node's network namespace") as container:
            labels = docker_engine.labels(self.name)
            return self._network_sidecars.run(self.client, self.toolbox, container, labels, script)

    def close_shells(self) -> None:
        """Close all connections to shells and proxies; a later sweep removes what remains of them."""
        self._proxies.close()
        self._shells.close()
        self._network_sidecars.close()

    def end_shells(self) -> None:
        """End the shells and remove the sidecars that `in_node` and `in_network` have left running; the next
        call starts new ones."""
        self._shells.close()
        self._network_sidecars.remove()

    def containers_beside(self) -> tuple[str, ...]:
        """The running containers of this cluster beside its nodes, without those that are meant to last: name
        and command. One that ends within a few seconds is at work, and not among them."""
        passing: list[str] = []
        nodes = self.nodes_with_containers

        def missing() -> str | None:
            with self._engine(nodes[0], "the containers cannot be listed"):
                known = {str(self._container(number).id) for number in nodes}
                passing[:] = docker_engine.passing_containers(self.client, self.name, known)
            return "some" if passing else None

        poll_within(_ENDING_SECONDS, missing, every=0.3)
        return tuple(passing)

    def in_files(self, number: int, script: str) -> ContainerOutput:
        """Run a shell script from the toolbox image, as root, with the volumes of a node, running or not."""
        attachment = {"network_mode": "none", "volumes_from": [self._container(number).id]}
        return self._sidecar(number, "with the node's volumes", script, capabilities.FILES, **attachment)

    def in_node(self, number: int, script: str) -> ContainerOutput:
        """Run a shell script inside the container of a node that runs and is not paused, as root."""
        with self._engine(number, "a command could not run in the node's container") as container:
            return self._shells.run_in(container, script)

    def in_cgroups(self, number: int, script: str) -> ContainerOutput:
        """Run a shell script from the toolbox image, as root, that sees a running node's process as PID 1 and
        the engine's control groups, writable, in /cgroup."""
        beside = cgroups_of(str(self._container(number).id))
        return self._sidecar(number, "beside the node's control groups", script, capabilities.NONE, **beside)

    def inspect(self, number: int) -> dict[str, Any]:
        """The current attributes of the node's container (`docker inspect`)."""
        with self._engine(number, "the node cannot be inspected") as container:
            container.reload()
            return dict(container.attrs)

    def limit(self, number: int, **limits: int) -> None:
        """Change limits of the node's container, by docker-py's names (`cpu_quota`, `mem_limit`, ...)."""
        with self._engine(number, "the node's limits could not be changed") as container:
            container.update(**limits)

    def stats(self, number: int) -> dict[str, Any]:
        """One sample of the node's resource use, as the engine reports it (`docker stats`)."""
        with self._engine(number, "the node's resource use cannot be read") as container:
            return dict(container.stats(stream=False, one_shot=True))

    def log_files(self, number: int, topic: str, partition: int) -> dict[str, bytes]:
        """The files of one replica's log folder: name -> content, from a running or stopped node. Empty if
        there is no such folder."""
        with self._engine(number, f"the files of {topic}-{partition} cannot be copied") as container:
            return files_in(container, f"{DATA_DIR}/{topic}-{partition}")

    def log_dir_file(self, number: int, name: str) -> bytes:
        """One file of the node's log dir, from a running or stopped node; empty if there is none."""
        with self._engine(number, f"{name} cannot be copied") as container:
            return files_in(container, f"{DATA_DIR}/{name}").get(name, b"")

    def log_tail(self, number: int, lines: int = 20) -> str:
        """The last lines that the node's process printed."""
        return docker_engine.tail(self._container(number), lines)

    def log_since(self, number: int, since_ns: int) -> str:
        """What the node's process has printed since `since_ns` (epoch ns), also in containers that were
        replaced."""
        with self._engine(number, "the node's log cannot be read") as container:
            containers = (*self._replaced.get(number, ()), container)
            # The engine takes no zero, and nothing was printed in that second.
            text = b"".join(source.logs(since=max(1.0, since_ns / 1e9)) for source in containers)
            return text.decode(errors="replace")

    def _sidecar(
        self, number: int, where: str, script: str, allowed: capabilities.Rights, **attachment: Any
    ) -> ContainerOutput:
        with self._engine(number, f"a sidecar could not run {where}"):
            labels = docker_engine.labels(self.name)
            return run_sidecar(self.client, self.toolbox, script, labels, allowed, **attachment)

    @contextmanager
    def _engine(self, number: int, what: str) -> Iterator[Container]:
        """The node's container; an error of the engine is raised as a ClusterError that names the node."""
        with ClusterError.for_errors(
            (DockerException, OSError),
            what,
            where=self.node(number).name,
            next_step="`docker ps -a` shows the node; `kafka-chaos doctor` shows what this engine can do",
        ):
            yield self._container(number)

    def _state(self, number: int) -> dict[str, Any]:
        return dict(self.inspect(number)["State"])

    def _container(self, number: int) -> Container:
        return self._handles[number]


def nanoseconds_of(stamp: str) -> int:
    """A time of the engine ("2026-01-01T10:00:00.123Z") in nanoseconds since the epoch."""
    whole, _, fraction = stamp.rstrip("Z").partition(".")
    seconds = int(datetime.fromisoformat(f"{whole}+00:00").timestamp())
    return seconds * 10**9 + int(fraction.ljust(9, "0")[:9] or 0)
