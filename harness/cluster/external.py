"""An existing cluster, one that kafka-chaos has not started: used over the Kafka protocol, broker by broker.

Its brokers' disks cannot be read, so the logs of replicas are fetched from each broker. Containers are
touched only if the user has named them.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Self

from docker.models.containers import Container

from harness.cluster import external_containers, fetched_logs, state_records, traces
from harness.cluster.containers import docker_engine
from harness.cluster.external_brokers import advertised_addresses, client_security_of
from harness.cluster.external_proxies import ExternalProxies
from harness.cluster.live import LiveCluster
from harness.cluster.node_plan import Node
from harness.cluster.protocol.client_security import PLAIN_TEXT, ClientSecurity
from harness.cluster.protocol.connection import BrokerConnection, Offered, missing_version
from harness.cluster.proxy.client import ProxyClient
from harness.model.errors import BadInput, ClusterError
from harness.model.kafka_protocol import API_KEYS
from harness.model.run import UNKNOWN_CLUSTER, ClusterInfo, PartitionBounds
from harness.spec.cluster import ClusterSpec, ExternalClusterSpec

_SECONDS = 5.0
_OWN_REQUESTS = {"Metadata": 7, "ListOffsets": 5, "Fetch": 11}
"""The versions in which kafka-chaos asks single brokers; without them no read can be proved."""


class ExternalCluster(LiveCluster):
    """An existing cluster; use it as a context manager. Its nodes are its brokers, by their own ids.

    Raises (from `start`):
        BadInput: the client configuration cannot be used, or the brokers differ from those of the spec.
        ClusterError: a broker does not answer from this machine.
    """

    def __init__(self, spec: ClusterSpec) -> None:
        super().__init__()
        assert spec.existing is not None
        self.spec = spec
        self.existing: ExternalClusterSpec = spec.existing
        self.name = "kc-" + uuid.uuid4().hex[:8]
        self.nodes = []
        self.client_address = ""
        self.topics: tuple[str, ...] = ()
        self.groups: tuple[str, ...] = ()
        self._endpoints: dict[int, tuple[str, int]] = {}
        self.offered: dict[int, Offered] = {}
        """What each broker offers, by its id; empty before `start`."""
        self._broker_proxies = ExternalProxies()
        self._direct = PLAIN_TEXT
        """What the brokers require; `access` is what clients must use, who may go through proxies."""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> Self:
        """Find the brokers, and check that each answers on the address that it advertises."""
        began = time.monotonic()
        self.use_security(client_security_of(self.existing))
        self.set_brokers(advertised_addresses(self.existing, self.access.login))
        if len(self.nodes) != self.spec.brokers:
            raise BadInput(
                "the cluster has another number of brokers",
                where="cluster.brokers",
                expected=f"{self.spec.brokers}, as in the experiment",
                found=f"{len(self.nodes)}: {', '.join(str(node.id) for node in self.nodes)}",
                next_step="correct `brokers`, or use --bootstrap-servers, which counts them",
            )
        ids = tuple(self._endpoints)
        if self.existing.broker_ids not in (None, ids):
            raise BadInput(
                "the cluster has other brokers",
                where="cluster.existing.broker_ids",
                expected=f"{', '.join(map(str, self.existing.broker_ids or ()))}, as in the experiment",
                found=", ".join(map(str, ids)),
                next_step="correct `broker_ids`, or leave it out",
            )
        silent = self._ask_what_is_offered()
        if silent:
            host, port = self.endpoint(silent[0])
            raise ClusterError(
                f"broker {silent[0]} does not answer from this machine",
                where=f"{host}:{port}",
                expected="an answer from every broker on the address that it advertises",
                found=f"{len(silent)} of {len(self.nodes)} silent: {', '.join(map(str, silent))}",
                next_step="run where these addresses can be reached, or correct advertised.listeners",
            )
        self._require_own_requests()
        if self.existing.containers is not None:
            external_containers.attach(self, self.existing.containers)
            self.baseline = traces.baseline(self)
        if self.spec.proxy:
            self.access = self._broker_proxies.start(self._endpoints, self._direct)
        state_records.remember(self)
        self.start_seconds = time.monotonic() - began
        return self

    def use_security(self, settings: ClientSecurity) -> None:
        """Use these settings for all connections to the brokers."""
        self.access = self._direct = settings

    def set_brokers(self, brokers: dict[int, tuple[str, int]]) -> None:
        """Use these brokers: id -> host and port."""
        self._endpoints = dict(sorted(brokers.items()))
        self.nodes = [
            Node(number, f"broker-{number}", broker=True, host_port=port)
            for number, (_, port) in self._endpoints.items()
        ]

    def stop(self) -> None:
        """Release the cluster. Its record stays while a fault is open or a topic of ours is left."""
        self._broker_proxies.stop()
        if not self.topics and not state_records.open_faults(self.name):
            state_records.forget(self.name)
        if self._handles:
            self.close_shells()
            # Only our own sidecars, found by our label, not the user's containers.
            docker_engine.sweep(self.client, cluster=self.name)

    @property
    def bootstrap(self) -> str:
        return self._broker_proxies.bootstrap or self.existing.bootstrap_servers

    @property
    def proxied_ids(self) -> tuple[int, ...]:
        return self._broker_proxies.broker_ids

    def proxy(self, number: int) -> ProxyClient:
        """Commands to the proxy of a broker, on this machine. ClusterError: it has none."""
        return self._broker_proxies.client(number) or super().proxy(number)

    @property
    def nodes_with_containers(self) -> tuple[int, ...]:
        return tuple(sorted(self._handles))

    def endpoint(self, number: int) -> tuple[str, int]:
        return self._endpoints[number]

    def connection(self, number: int, timeout: float) -> BrokerConnection:
        connection = BrokerConnection(number, *self.endpoint(number), timeout, self._direct.login)
        connection.offered = self.offered.get(number)
        return connection

    def _require_own_requests(self) -> None:
        """Refuse a cluster that cannot be read to its end with the requests that kafka-chaos knows."""
        for number, offered in self.offered.items():
            for api, version in _OWN_REQUESTS.items():
                has = missing_version(offered, API_KEYS[api], version)
                if has is not None:
                    raise ClusterError(
                        "a broker cannot be asked for what is in a topic",
                        where=f"broker {number}",
                        expected=f"{api} in version {version} among what it offers (ApiVersions)",
                        found=has,
                        next_step="complete reads cannot be proved there: docs/how-to/kafka-compatible.md",
                    )

    def _ask_what_is_offered(self) -> list[int]:
        """Ask all brokers in parallel which requests they offer; returns those that do not answer."""

        def ask(number: int) -> Offered | None:
            with suppress(OSError), self.connection(number, _SECONDS) as connection:
                return connection.api_versions()
            return None

        with ThreadPoolExecutor(max_workers=len(self.broker_ids)) as pool:
            answers = dict(zip(self.broker_ids, pool.map(ask, self.broker_ids), strict=True))
        self.offered = {number: offered for number, offered in answers.items() if offered is not None}
        return [number for number, offered in answers.items() if offered is None]

    def note_run_resources(self, topics: Collection[str], groups: Collection[str]) -> None:
        """Record the topics and groups that a run will create, before it does.

        Raises:
            BadInput: a group of that name exists already, and its members would be assigned our partitions.
        """
        there = self.admin().groups() & set(groups) if groups else set()
        if there:
            raise BadInput(
                f"the cluster already has a consumer group {min(there)!r}",
                where="readers",
                expected="names of groups that do not exist yet",
                found="a group that our readers would rebalance",
                next_step="give the reader's group another name",
            )
        self.topics, self.groups = tuple(topics), tuple(groups)
        state_records.remember(self)

    def delete_run_resources(self) -> list[str]:
        """Delete the topics and groups of the run; returns what could not be deleted."""
        admin, failures = self.admin(), []
        for topic in self.topics:
            try:
                admin.delete(topic)
            except ClusterError as error:
                failures.append(f"the topic {topic} is left on the cluster: {error.found}")
        left = admin.delete_groups(self.groups)
        failures += [f"the group {name} is left on the cluster: {why}" for name, why in left]
        if not failures:
            self.topics, self.groups = (), ()
            with suppress(OSError):
                state_records.remember(self)
        return failures

    def remarks(self) -> tuple[str, ...]:
        """What a reader of the result should know about the evidence from this cluster."""
        files = "replicas' logs were fetched from each broker, not read from its files"
        servers = self.existing.bootstrap_servers
        return (f"the cluster was not started by kafka-chaos ({servers}): {files}",)

    def memory_mib(self) -> None:
        """Not measured on an existing cluster."""

    def info(self) -> ClusterInfo:
        """The few facts that are known about it, for a run's metadata."""
        image = UNKNOWN_CLUSTER.image.model_copy(update={"reference": "not ours"})
        known = {"brokers": len(self.nodes), "start_seconds": round(self.start_seconds, 2)}
        return UNKNOWN_CLUSTER.model_copy(update={"image": image, **known})

    def log_files(self, number: int, topic: str, partition: int) -> dict[str, bytes]:
        """One replica's log as one segment, as that broker returns it to a debugging consumer (ListOffsets
        and Fetch with replica id -2: every replica answers, up to its log end offset).

        Raises:
            ClusterError: it does not give it.
        """
        where = f"{topic}-{partition} on broker {number}"
        try:
            with self.connection(number, _SECONDS) as connection:
                return {f"{0:020}.log": fetched_logs.whole_log(connection, topic, partition)}
        except (OSError, ValueError) as error:
            raise ClusterError("a replica's log cannot be fetched", where=where, found=str(error)) from error

    def doubtful_ends(self, bounds: Collection[PartitionBounds]) -> list[str]:
        """One sentence for each partition whose leader tells of another end when it is fetched from."""
        sentences: list[str] = []
        for bound in bounds:
            with self.connection(bound.leader, _SECONDS) as connection:
                sentences += fetched_logs.doubtful_end(connection, bound)
        return sentences

    def log_dir_file(self, number: int, name: str) -> bytes:  # noqa: ARG002
        """Empty: checkpoints are only on the broker's disk."""
        return b""

    def _container(self, number: int) -> Container:
        if number not in self._handles:
            raise ClusterError(
                "the broker's container is not known",
                where=f"broker {number}",
                expected="a container that was named",
                found="an existing cluster without named containers",
                next_step="use a `command`, or name the containers: docs/how-to/own-cluster.md",
            )
        return self._handles[number]
