"""A real Kafka cluster in containers, through Testcontainers."""

from __future__ import annotations

import base64
import time
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from docker.errors import APIError, DockerException
from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network

from harness import engine, images
from harness.containers import container_for, files_in, memory_mib
from harness.model.errors import ClusterError
from harness.model.run import ClusterInfo, ImageInfo
from harness.model.topology import BrokerView, TopologyView
from harness.network import create_network
from harness.nodes import DATA_DIR, Node, plan
from harness.ports import HOST, free_ports, refuse_taken
from harness.readiness import await_ready
from harness.sidecar import Output, run_sidecar
from harness.spec import ClusterSpec
from harness.topics import TopicAdmin
from harness.wire import BrokerConnection


class Cluster:
    """A running cluster; use it as a context manager.

    What it is to be is a `ClusterSpec`, or the fields of one: `Cluster(brokers=3, version="4.3.1")`. Each
    node's log goes to `log_folder` in the end; `ports` on 127.0.0.1, one a broker, are chosen free if not
    given.

    Every container, network and volume carries our labels, so that `kafka-chaos clean` finds what a
    killed harness left. Nodes are named by their Kafka node id.

    Raises (from `start`):
        PrerequisiteMissing: no engine, or no image.
        ClusterError: a node ended, or the cluster was not ready in time; holds the nodes' last log lines.
    """

    def __init__(
        self,
        spec: ClusterSpec | None = None,
        *,
        log_folder: Path | None = None,
        ports: list[int] | None = None,
        **settings: Any,
    ) -> None:
        self.spec = ClusterSpec.model_validate(settings) if spec is None else spec
        self.name = "kc-" + uuid.uuid4().hex[:8]
        self._log_folder = log_folder
        self._given_ports = ports
        self._containers: dict[int, DockerContainer] = {}
        self._addresses: dict[int, str] = {}
        self._network: Network | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> Self:
        """Start all nodes and wait until the cluster is ready: every broker registered and unfenced, and a
        topic can be made with a full ISR."""
        began = time.monotonic()
        self.client = engine.connect()
        self.image: ImageInfo = images.resolve(self.client, self.spec.version, self.spec.image)
        self._toolbox = images.toolbox(self.client)
        self.ryuk = engine.configure_testcontainers(self.client)
        try:
            self._create()
            await_ready(self)
        except BaseException:
            self.stop()
            raise
        self.start_seconds = time.monotonic() - began
        return self

    def stop(self) -> None:
        """Save the logs, then remove every container, volume and the network. Safe to call again."""
        if not hasattr(self, "client"):
            return
        for number in list(self._containers):
            self._save_log(number)
        for container in self._containers.values():
            container.get_docker_client().client.close()
        self._containers.clear()
        engine.sweep(self.client, cluster=self.name)
        self.client.close()

    @property
    def broker_ids(self) -> tuple[int, ...]:
        return tuple(node.id for node in self.nodes if node.broker)

    @property
    def controller_ids(self) -> tuple[int, ...]:
        return tuple(node.id for node in self.nodes if node.controller)

    @property
    def bootstrap(self) -> str:
        """`host:port` of every broker, for clients."""
        return ",".join(f"{HOST}:{node.host_port}" for node in self.nodes if node.broker)

    def node(self, number: int) -> Node:
        return next(node for node in self.nodes if node.id == number)

    def address(self, number: int) -> str:
        """The node's address on the cluster's network; the same for its whole life."""
        return self._addresses[number]

    def info(self) -> ClusterInfo:
        """Facts about this cluster for a run's metadata; memory is measured now."""
        return ClusterInfo(
            brokers=self.spec.brokers,
            controllers=self.spec.controllers,
            combined=self.spec.combined,
            profile=self.spec.profile,
            properties=dict(self.spec.properties),
            image=self.image,
            start_seconds=round(self.start_seconds, 2),
            memory_mib=self._memory_mib(),
        )

    def view(self, topics: Iterable[str], timeout: float = 1.0) -> TopologyView:
        """Ask every broker at once what it believes about `topics`."""
        wanted = tuple(topics)
        at_ns = time.time_ns()
        with ThreadPoolExecutor(max_workers=len(self.broker_ids)) as pool:
            views = pool.map(lambda number: self._view_of(number, wanted, timeout), self.broker_ids)
            return TopologyView(at_ns=at_ns, views=tuple(views))

    def controller(self) -> int | None:
        """Node id of the active controller, as the first broker that can tell says."""
        for number in self.broker_ids:
            with self._connection(number, 2.0) as connection, suppress(OSError):
                return connection.quorum_leader()
        return None

    def admin(self) -> TopicAdmin:
        """Topic administration; one client per call, to be closed by dropping it."""
        return TopicAdmin(self.bootstrap)

    def kill(self, number: int) -> None:
        """SIGKILL the node's process."""
        with self._engine(number, "the node could not be killed"):
            self._container(number).kill("SIGKILL")

    def terminate(self, number: int) -> None:
        """SIGTERM to the node's process; returns before it has ended."""
        with self._engine(number, "the node could not be terminated"):
            self._container(number).kill("SIGTERM")

    def pause(self, number: int) -> None:
        """Freeze every process of the node."""
        with self._engine(number, "the node could not be paused"):
            self._container(number).pause()

    def unpause(self, number: int) -> None:
        """Thaw a paused node."""
        with self._engine(number, "the node could not be resumed"):
            self._container(number).unpause()

    def is_paused(self, number: int) -> bool:
        return bool(self._state(number)["Paused"])

    def start_node(self, number: int) -> None:
        """Start a stopped node again; nothing happens if it runs."""
        with self._engine(number, "the node could not be started"):
            self._container(number).start()

    def is_running(self, number: int) -> bool:
        return bool(self._state(number)["Running"])

    def exit_code(self, number: int) -> int | None:
        """Exit code of a stopped node; None while it runs."""
        state = self._state(number)
        return None if state["Running"] else int(state["ExitCode"])

    def in_network(self, number: int, script: str) -> Output:
        """Run a shell script from the toolbox image inside the network namespace of a running node.

        Raises:
            ClusterError: the sidecar could not be started (the node is not running, for instance).
        """
        with self._engine(number, "a sidecar could not run in the node's network namespace"):
            return run_sidecar(
                self.client, self._toolbox, self._container(number).id, script, engine.labels(self.name)
            )

    def log_files(self, number: int, topic: str, partition: int) -> dict[str, bytes]:
        """The files of one replica's log folder by name, from a running or stopped node (none: no such
        folder).

        Raises:
            ClusterError: they cannot be copied.
        """
        with self._engine(number, f"the files of {topic}-{partition} cannot be copied"):
            return files_in(self._container(number), f"{DATA_DIR}/{topic}-{partition}")

    def log_tail(self, number: int, lines: int = 20) -> str:
        """The last lines that the node's process printed."""
        return engine.tail(self._container(number), lines)

    def _create(self) -> None:
        labels = engine.labels(self.name)
        self._network, addresses = create_network(self.client, self.name, labels)
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if self._given_ports is not None:
            refuse_taken(self._given_ports)
        ports = self._given_ports or free_ports(self.spec.brokers)
        self.nodes = plan(self.spec, ports, cluster_id)
        self._addresses = {node.id: address for node, address in zip(self.nodes, addresses, strict=False)}
        for node in self.nodes:
            self._containers[node.id] = container_for(
                node,
                image=self.image.reference,
                name=f"{self.name}-{node.name}",
                labels=labels,
                network=self._network.name,
                address=self._addresses[node.id],
                api_version=self.client.api._version,
            )
        with ThreadPoolExecutor(max_workers=len(self.nodes)) as pool:
            for started in [pool.submit(self._start_container, node) for node in self.nodes]:
                started.result()

    def _start_container(self, node: Node) -> None:
        try:
            self._containers[node.id].start()
        except APIError as error:
            raise ClusterError(
                "a node could not be started",
                where=node.name,
                found=str(error.explanation),
                next_step="if a port is taken, end the program that holds it, or leave the choice to us",
            ) from error

    def _view_of(self, number: int, topics: tuple[str, ...], timeout: float) -> BrokerView:
        with self._connection(number, timeout) as connection:
            try:
                return connection.view(topics)
            except OSError:
                return BrokerView(broker=number, answered=False)

    def _connection(self, number: int, timeout: float) -> BrokerConnection:
        port = self.node(number).host_port
        assert port is not None
        return BrokerConnection(number, HOST, port, timeout)

    @contextmanager
    def _engine(self, number: int, what: str) -> Iterator[None]:
        """Turns what the engine refuses into an error that names the node."""
        try:
            yield
        except (DockerException, OSError) as error:
            raise ClusterError(
                what,
                where=self.node(number).name,
                found=str(error),
                next_step="`docker ps -a` shows the node; `kafka-chaos doctor` what this engine can do",
            ) from error

    def _state(self, number: int) -> dict[str, Any]:
        with self._engine(number, "the node's state cannot be had"):
            container = self._container(number)
            container.reload()
            state: dict[str, Any] = container.attrs["State"]
            return state

    def _container(self, number: int) -> Any:
        return self._containers[number].get_wrapped_container()

    def _save_log(self, number: int) -> None:
        if self._log_folder is None:
            return
        self._log_folder.mkdir(parents=True, exist_ok=True)
        try:
            text = self._container(number).logs()
        except Exception as error:  # a log that cannot be had must not keep the cluster from being removed
            text = f"the log could not be read: {error}\n".encode()
        (self._log_folder / f"{self.node(number).name}.log").write_bytes(text)

    def _memory_mib(self) -> float:
        with ThreadPoolExecutor(max_workers=len(self.nodes)) as pool:
            used = pool.map(lambda number: memory_mib(self._container(number)), self._containers)
            return round(sum(used), 1)
