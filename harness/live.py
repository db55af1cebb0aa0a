"""A cluster that runs, started by this process or by another: what can be asked of it and done to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from docker import DockerClient
from docker.errors import DockerException
from docker.models.containers import Container
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from harness import engine, rights, wire_admin, zookeeper
from harness.access import PLAIN_TEXT, Access
from harness.containers import files_in, run_in
from harness.model.errors import ClusterError
from harness.model.topology import BrokerView, TopologyView
from harness.model.waiting import seen_within
from harness.nodes import DATA_DIR, Node
from harness.ports import HOST
from harness.sidecar import Output, cgroups_of, run_sidecar
from harness.spec import ClusterSpec
from harness.topics import TopicAdmin
from harness.wire import BrokerConnection

_T = TypeVar("_T")
_FREEZE_SECONDS = 5.0


class LiveCluster:
    """A running cluster. Nodes are named by their Kafka node id.

    Made by `Cluster`, or by `harness.records.attach` for one that another process has started.
    """

    name: str
    client: DockerClient
    nodes: list[Node]
    client_address: str
    """Where clients on this machine seem to come from, seen from a node: the network's gateway."""
    access: Access = PLAIN_TEXT
    """What clients must come with."""
    spec: ClusterSpec

    def __init__(self) -> None:
        self._toolbox = ""
        self._addresses: dict[int, str] = {}
        self._handles: dict[int, Container] = {}
        self._on_start: list[Callable[[int], None]] = []

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
    def bootstrap(self) -> str:
        """`host:port` of every broker, for clients."""
        return ",".join("{}:{}".format(*self.endpoint(node.id)) for node in self.nodes if node.broker)

    @property
    def handled(self) -> tuple[int, ...]:
        """The nodes whose containers are at hand."""
        return tuple(node.id for node in self.nodes)

    def borrow(self, topics: Collection[str], groups: Collection[str]) -> None:
        """Note what a run is going to make here. Of a cluster of ours nothing outlives it, so there is
        nothing to note."""

    def give_back(self) -> list[str]:
        """Delete what runs have made, where the cluster outlives them; returns what could not be deleted."""
        return []

    def remarks(self) -> tuple[str, ...]:
        """What a reader of the result should know about proofs on this cluster."""
        return ()

    @property
    def client_settings(self) -> dict[str, str]:
        """All that a client of librdkafka needs to get in, by its names; holds secrets."""
        return {"bootstrap.servers": self.bootstrap, **self.access.properties}

    def endpoint(self, number: int) -> tuple[str, int]:
        """Where clients on this machine reach a broker."""
        port = self.node(number).host_port
        assert port is not None, "every broker has a listener for clients"
        return HOST, port

    def connection(self, number: int, timeout: float) -> BrokerConnection:
        """A connection to one broker, not opened yet."""
        return BrokerConnection(number, *self.endpoint(number), timeout, self.access.login)

    def node(self, number: int) -> Node:
        return next(node for node in self.nodes if node.id == number)

    def address(self, number: int) -> str:
        """The node's address on the cluster's network; the same for its whole life."""
        return self._addresses[number]

    def view(self, topics: Iterable[str], timeout: float = 1.0) -> TopologyView:
        """Ask every broker at once what it believes about `topics`."""
        wanted = tuple(topics)
        at_ns = time.time_ns()
        with ThreadPoolExecutor(max_workers=len(self.broker_ids)) as pool:
            views = pool.map(lambda number: self._view_of(number, wanted, timeout), self.broker_ids)
            return TopologyView(at_ns=at_ns, views=tuple(views))

    def controller(self) -> int | None:
        """Node id of the active controller, as the first broker that can tell says; all are asked at once,
        since without an active controller none of them answers. With ZooKeeper it is asked itself: a broker
        that is cut off from it goes on naming one that is dead."""
        for number in self.zookeeper_ids:
            with suppress(ClusterError):
                told = self.in_node(number, zookeeper.DUMP)
                if told.code == 0:
                    return zookeeper.controller_of(told.text)
        pool = ThreadPoolExecutor(max_workers=len(self.broker_ids))
        try:
            asked = [pool.submit(self._controller_of, number) for number in self.broker_ids]
            answers = (answer.result() for answer in as_completed(asked))
            return next((active for active in answers if active is not None), None)
        finally:
            pool.shutdown(wait=False)

    def coordinator(self, key: str, *, transactional: bool, within: float = 10.0) -> int | None:
        """The broker that coordinates a group (or a transactional id), as the first broker that answers
        says; None: nobody does after `within` seconds.

        Raises:
            ClusterError: no broker answers.
        """
        found: list[int | str] = []

        def missing() -> str | None:
            found[:] = [
                self._first(
                    "who coordinates?",
                    lambda one: wire_admin.coordinator(one, key, transactional=transactional),
                )
            ]
            return found[0] if isinstance(found[0], str) else None

        seen_within(within, missing)
        return found[0] if isinstance(found[0], int) else None

    def elect(self, topic: str, partitions: Iterable[int], *, unclean: bool) -> dict[int, str | None]:
        """Have leaders elected: by partition the error's name, None where it was done.

        Raises:
            ClusterError: no broker answers.
        """
        wanted = tuple(partitions)
        return self._first("elect leaders", lambda one: wire_admin.elect(one, topic, wanted, unclean=unclean))

    def reassign(self, topic: str, replicas: dict[int, tuple[int, ...] | None]) -> dict[int, str | None]:
        """Give partitions other replicas (None: cancel what is under way); errors as in `elect`.

        Raises:
            ClusterError: no broker answers.
        """
        return self._first("move replicas", lambda one: wire_admin.reassign(one, topic, replicas))

    def admin(self) -> TopicAdmin:
        """Topic administration; one client per call, to be closed by dropping it."""
        return TopicAdmin(self.bootstrap, self.access.properties)

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
        # On a busy machine runc gives up when the kernel has not frozen all tasks at once.
        again = Retrying(
            retry=retry_if_exception(lambda error: "unable to freeze" in str(error)),
            stop=stop_after_delay(_FREEZE_SECONDS),
            wait=wait_fixed(0.2),
            reraise=True,
        )
        with self._engine(number, "the node could not be paused"):
            again(self._container(number).pause)

    def unpause(self, number: int) -> None:
        """Thaw a paused node."""
        with self._engine(number, "the node could not be resumed"):
            self._container(number).unpause()

    def is_paused(self, number: int) -> bool:
        return bool(self._state(number)["Paused"])

    def start_node(self, number: int) -> None:
        """Start a stopped node again, then tell those who asked to know; nothing happens if it runs."""
        if self.is_running(number):
            return
        with self._engine(number, "the node could not be started"):
            self._container(number).start()
        for told in tuple(self._on_start):
            told(number)

    def on_start(self, told: Callable[[int], None]) -> Callable[[], None]:
        """Call `told` with the node's id whenever a node has been started again; returns what ends that."""
        self._on_start.append(told)
        return partial(self._on_start.remove, told)

    def is_running(self, number: int) -> bool:
        return bool(self._state(number)["Running"])

    def exit_code(self, number: int) -> int | None:
        """Exit code of a stopped node; None while it runs."""
        state = self._state(number)
        return None if state["Running"] else int(state["ExitCode"])

    def started_ns(self, number: int) -> int:
        """When the node's process was last started, nanoseconds since the epoch by the engine's clock."""
        text = str(self._state(number)["StartedAt"]).rstrip("Z")
        whole, _, fraction = text.partition(".")
        seconds = int(datetime.fromisoformat(f"{whole}+00:00").timestamp())
        return seconds * 10**9 + int(fraction.ljust(9, "0")[:9] or 0)

    def in_network(self, number: int, script: str) -> Output:
        """Run a shell script from the toolbox image inside the network namespace of a running node.

        Raises:
            ClusterError: the sidecar could not be started (the node is not running, for instance).
        """
        with self._engine(number, "a sidecar could not run in the node's network namespace"):
            network = f"container:{self._container(number).id}"
            labels = engine.labels(self.name)
            return run_sidecar(
                self.client, self._toolbox, script, labels, rights.NETWORK, network_mode=network
            )

    def in_files(self, number: int, script: str) -> Output:
        """Run a shell script from the toolbox image, as root, with the volumes of a node that may be stopped.

        Raises:
            ClusterError: the sidecar could not be started.
        """
        with self._engine(number, "a sidecar could not run with the node's volumes"):
            volumes = [self._container(number).id]
            labels = engine.labels(self.name)
            return run_sidecar(
                self.client,
                self._toolbox,
                script,
                labels,
                rights.FILES,
                network_mode="none",
                volumes_from=volumes,
            )

    def in_node(self, number: int, script: str) -> Output:
        """Run a shell script inside the container of a running node, as root.

        Raises:
            ClusterError: the node is not running, or is paused.
        """
        with self._engine(number, "a command could not run in the node's container"):
            return run_in(self._container(number), script)

    def in_cgroups(self, number: int, script: str) -> Output:
        """Run a shell script from the toolbox image, as root, that sees a running node's process as PID 1 and
        the engine's control groups, writable, in /cgroup.

        Raises:
            ClusterError: the sidecar could not be started (the node is not running, for instance).
        """
        with self._engine(number, "a sidecar could not run beside the node's control groups"):
            beside = cgroups_of(str(self._container(number).id))
            labels = engine.labels(self.name)
            return run_sidecar(self.client, self._toolbox, script, labels, rights.NONE, **beside)

    def inspect(self, number: int) -> dict[str, Any]:
        """What the engine tells of the node's container, now (`docker inspect`)."""
        with self._engine(number, "the node cannot be inspected"):
            container = self._container(number)
            container.reload()
            return dict(container.attrs)

    def limit(self, number: int, **limits: int) -> None:
        """Change limits of the node's container, by docker-py's names (`cpu_quota`, `mem_limit`, ...)."""
        with self._engine(number, "the node's limits could not be changed"):
            self._container(number).update(**limits)

    def stats(self, number: int) -> dict[str, Any]:
        """One sample of the node's resource use, as the engine gives it (`docker stats`)."""
        with self._engine(number, "the node's resource use cannot be had"):
            return dict(self._container(number).stats(stream=False, one_shot=True))

    def log_files(self, number: int, topic: str, partition: int) -> dict[str, bytes]:
        """The files of one replica's log folder by name, from a running or stopped node (none: no such
        folder).

        Raises:
            ClusterError: they cannot be copied.
        """
        with self._engine(number, f"the files of {topic}-{partition} cannot be copied"):
            return files_in(self._container(number), f"{DATA_DIR}/{topic}-{partition}")

    def log_dir_file(self, number: int, name: str) -> bytes:
        """One file of the node's log dir, from a running or stopped node (none: empty).

        Raises:
            ClusterError: it cannot be copied.
        """
        with self._engine(number, f"{name} cannot be copied"):
            return files_in(self._container(number), f"{DATA_DIR}/{name}").get(name, b"")

    def log_tail(self, number: int, lines: int = 20) -> str:
        """The last lines that the node's process printed."""
        return engine.tail(self._container(number), lines)

    def log_since(self, number: int, since_ns: int) -> str:
        """What the node's process has printed since a moment (nanoseconds since the epoch)."""
        with self._engine(number, "the node's log cannot be read"):
            text: bytes = self._container(number).logs(since=since_ns / 1e9)
            return text.decode(errors="replace")

    def _view_of(self, number: int, topics: tuple[str, ...], timeout: float) -> BrokerView:
        with self.connection(number, timeout) as connection:
            try:
                return connection.view(topics)
            except OSError:
                return BrokerView(broker=number, answered=False)

    def _controller_of(self, number: int) -> int | None:
        with self.connection(number, 2.0) as connection, suppress(OSError):
            if self.zookeeper_ids:
                return connection.controller()
            return connection.quorum_leader()
        return None

    def _first(self, what: str, asked: Callable[[BrokerConnection], _T]) -> _T:
        """The answer of the first broker that gives one; those that answer quickly are asked first. With
        ZooKeeper it is the controller, which refers no such request on."""
        awake = {seen.broker for seen in self.view(()).answered()}
        controller = self.controller() if self.zookeeper_ids else None
        turn = sorted(self.broker_ids, key=lambda number: (number != controller, number not in awake))
        connections = (self.connection(number, wire_admin.ANSWER_SECONDS) for number in turn)
        return wire_admin.first_answer(connections, asked, what)

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

    def _container(self, number: int) -> Container:
        return self._handles[number]
