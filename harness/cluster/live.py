"""A running cluster, started by this process or by another: queries and operations on it."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import cached_property
from typing import TypeVar

from docker import DockerClient
from docker.models.containers import Container

from harness.cluster import zookeeper
from harness.cluster.broker_settings import AdministeredNodes
from harness.cluster.cluster_proxies import ClusterProxies
from harness.cluster.protocol import admin
from harness.cluster.protocol.connection import BrokerConnection
from harness.cluster.topic_admin import TopicAdmin
from harness.model.broker_views import BrokerView, FeatureLevels, TopologyView
from harness.model.errors import ClusterError
from harness.model.host.ports import HOST
from harness.model.polling import poll_within
from harness.model.progress import report_progress
from harness.model.run import PartitionBounds
from harness.spec.cluster import ClusterSpec

_T = TypeVar("_T")


class LiveCluster(AdministeredNodes):
    """A running cluster. Nodes are named by their Kafka node id.

    A `ManagedCluster` or an `ExternalCluster`, or made by `harness.cluster.running_cluster.attach` for a
    cluster that another process has started. Requests that any broker may answer raise a ClusterError if none
    does.
    """

    client_address: str
    """The address that nodes see for clients on this machine: the network's gateway."""
    spec: ClusterSpec

    @property
    def bootstrap(self) -> str:
        """`host:port` of every broker, for clients."""
        return ",".join("{}:{}".format(*self.endpoint(node.id)) for node in self.nodes if node.broker)

    def use_containers(
        self,
        client: DockerClient,
        handles: dict[int, Container],
        addresses: dict[int, str],
        client_address: str,
        toolbox: str,
    ) -> None:
        """Use these containers, with their addresses, for faults."""
        self.client, self._handles, self._addresses = client, dict(handles), dict(addresses)
        self.client_address, self.toolbox = client_address, toolbox

    def note_run_resources(self, topics: Collection[str], groups: Collection[str]) -> None:  # noqa: ARG002
        """Record the topics and groups that a run will create, before it does. Here nothing is recorded,
        since nothing outlives a managed cluster, but groups with these names that an earlier run has left are
        deleted: its static or killed members would be in the way until their sessions end.

        Raises:
            ClusterError: a group could not be deleted.
        """
        if not groups:
            return
        topic_admin = self.admin()
        left = sorted(topic_admin.groups() & set(groups))
        if not left:
            return
        report_progress(f"deleting groups of an earlier run: {', '.join(left)}")
        if failed := topic_admin.delete_groups(left):
            raise ClusterError(
                "a consumer group of an earlier run could not be deleted",
                where=failed[0][0],
                found=failed[0][1],
                next_step="give the reader's group another name, or start a new cluster",
            )

    def delete_run_resources(self) -> list[str]:
        """Delete what runs have created, if the cluster outlives them; returns what could not be deleted."""
        return []

    def remarks(self) -> tuple[str, ...]:
        """What a reader of the result should know about the evidence from this cluster."""
        return ()

    def doubtful_ends(self, bounds: Collection[PartitionBounds]) -> list[str]:  # noqa: ARG002
        """One sentence for each partition whose end offset is in doubt. None on a managed cluster: Apache
        Kafka answers all requests about it from one value."""
        return []

    @cached_property
    def proxies(self) -> ClusterProxies | None:
        """The proxies before the listeners of its nodes, as one; None: it has none."""
        return ClusterProxies(self) if self.spec.proxy else None

    def endpoint(self, number: int) -> tuple[str, int]:
        """Host and port at which clients on this machine reach a broker."""
        port = self.node(number).host_port
        assert port is not None, "every broker has a listener for clients"
        return HOST, port

    def host_name(self, number: int) -> str:
        """The name at which other nodes reach a node of a cluster that kafka-chaos has started."""
        return self.node(number).name

    def connection(self, number: int, timeout: float) -> BrokerConnection:
        """A connection to one broker, not opened yet."""
        return BrokerConnection(number, *self.endpoint(number), timeout, self.access.login)

    def client_socket(self, number: int, timeout: float) -> socket.socket:
        """An open connection to a broker's listener for clients, logged in where that is required; raises
        OSError."""
        return self.connection(number, timeout).opened()

    def view(self, topics: Iterable[str], timeout: float = 1.0) -> TopologyView:
        """Query all brokers in parallel for their view of `topics`."""
        wanted = tuple(topics)
        at_ns = time.time_ns()
        with ThreadPoolExecutor(max_workers=len(self.broker_ids)) as pool:
            views = pool.map(lambda number: self._view_of(number, wanted, timeout), self.broker_ids)
            return TopologyView(at_ns=at_ns, views=tuple(views))

    def controller(self) -> int | None:
        """Node id of the active controller, as the first broker that knows it reports; None if none does. All
        brokers are queried in parallel, because none answers without an active controller. With
        ZooKeeper, that is queried instead, because a broker that is cut off from it may name a dead one."""
        for number in self.zookeeper_ids:
            with suppress(ClusterError):
                dump = self.in_node(number, zookeeper.DUMP)
                if dump.code == 0:
                    return zookeeper.controller_of(dump.text)
        pool = ThreadPoolExecutor(max_workers=len(self.broker_ids))
        try:
            pending = [pool.submit(self._controller_of, number) for number in self.broker_ids]
            answers = (answer.result() for answer in as_completed(pending))
            return next((active for active in answers if active is not None), None)
        finally:
            pool.shutdown(wait=False)

    def coordinator(self, key: str, *, transactional: bool, within: float = 10.0) -> int | None:
        """The broker that coordinates a group (or a transactional id), as the first broker that answers
        reports; None if there is no coordinator after `within` seconds."""
        broker: int | None = None

        def missing() -> str | None:
            nonlocal broker
            answer = self._first(
                "who coordinates?",
                lambda connection: admin.coordinator(connection, key, transactional=transactional),
            )
            broker = answer if isinstance(answer, int) else None
            return answer if isinstance(answer, str) else None

        poll_within(within, missing)
        return broker

    def share_coordinator(self, group: str, topic: str, partition: int) -> int | None:
        """The broker that stores the state of a share group in a partition (KIP-932), as the first broker
        that answers reports; None if there is none."""
        answer = self._first(
            "who stores the state of a share group?",
            lambda connection: admin.share_coordinator(connection, group, topic, partition),
        )
        return answer if isinstance(answer, int) else None

    def topic_id(self, topic: str) -> str | None:
        """The id (UUID) of a topic, as the first broker that answers reports it; None if it has none."""
        answer = self._first("what id has a topic?", lambda connection: admin.topic_id_of(connection, topic))
        return None if isinstance(answer, str) else str(answer)

    def elect(self, topic: str, partitions: Iterable[int], *, unclean: bool) -> dict[int, str | None]:
        """Elect leaders; returns partition -> name of the error, or None for success."""
        wanted = tuple(partitions)
        return self._first(
            "elect leaders", lambda connection: admin.elect(connection, topic, wanted, unclean=unclean)
        )

    def reassign(self, topic: str, replicas: dict[int, tuple[int, ...] | None]) -> dict[int, str | None]:
        """Reassign partitions to other replicas (None: cancel a reassignment); returns as `elect`."""
        return self._first("move replicas", lambda connection: admin.reassign(connection, topic, replicas))

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        """Delete the records of partitions below an offset each, or the end of a shorter one (KIP-107)."""
        self.admin().delete_records(topic, before)

    def create_partitions(self, topic: str, count: int) -> str | None:
        """Add partitions to a topic until it has this number; returns why it was refused (None: done)."""
        return self._first(
            "add partitions", lambda connection: admin.create_partitions(connection, topic, count)
        )

    def reassignments(self) -> tuple[str, ...]:
        """Every partition whose replicas are moving, in words. Not asked with ZooKeeper, nor of a cluster
        that we did not start, where others may move partitions."""
        if self.zookeeper_ids or self.spec.existing is not None:
            return ()
        return self._first("which partitions move?", admin.reassignments)

    def lagging_voters(self) -> tuple[int, ...]:
        """The controllers whose metadata log has not all of what a majority has, as the active one says."""
        return self._first("which controllers lag?", lambda connection: connection.lagging_voters())

    def features(self, number: int) -> FeatureLevels | None:
        """The features that a broker's version supports and those that are finalised; None: no answer."""
        with self.connection(number, 2.0) as connection, suppress(OSError):
            return admin.features(connection)
        return None

    def set_features(self, levels: Mapping[str, int]) -> dict[str, str]:
        """Finalise levels of features, in this order, up or down; returns the reason of each refusal by
        feature (empty: all are set)."""
        return self._first("set features", lambda connection: admin.set_features(connection, levels))

    def admin(self) -> TopicAdmin:
        """A new admin client. It is closed when it is garbage-collected."""
        return TopicAdmin(self.bootstrap, self.access.properties)

    def _view_of(self, number: int, topics: tuple[str, ...], timeout: float) -> BrokerView:
        with self.connection(number, timeout) as connection:
            return connection.view_or_silence(topics)

    def _controller_of(self, number: int) -> int | None:
        with self.connection(number, 2.0) as connection, suppress(OSError):
            return connection.controller() if self.zookeeper_ids else connection.quorum_leader()
        return None

    def _first(self, what: str, request: Callable[[BrokerConnection], _T]) -> _T:
        """The first answer that a broker gives. Brokers that answer quickly are tried first; with ZooKeeper
        the controller is, because brokers do not forward such requests."""
        awake = {seen.broker for seen in self.view(()).answered()}
        controller = self.controller() if self.zookeeper_ids else None
        turn = sorted(self.broker_ids, key=lambda number: (number != controller, number not in awake))
        connections = (self.connection(number, admin.ANSWER_SECONDS) for number in turn)
        return admin.first_answer(connections, request, what)
