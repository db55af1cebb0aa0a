"""A real Kafka cluster in containers, started with Testcontainers."""

from __future__ import annotations

import base64
import logging
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

from docker.errors import APIError
from docker.types import EndpointConfig
from testcontainers.core.container import DockerContainer

from harness.cluster import credentials, state_records, traces
from harness.cluster.containers import docker_engine, images
from harness.cluster.containers.exec import memory_mib
from harness.cluster.containers.network import create_network
from harness.cluster.containers.node_volumes import CLOCK_ENVIRONMENT
from harness.cluster.convergence import START_SECONDS, await_ready
from harness.cluster.live import LiveCluster
from harness.cluster.node_container import create_volumes, new_container
from harness.cluster.node_plan import Node, plan
from harness.cluster.node_replacement import replacement
from harness.model.errors import ClusterError
from harness.model.host.ports import free_ports, require_free_ports
from harness.model.node_layout import INTERNAL_PORT
from harness.model.polling import wait_until
from harness.model.run import ClusterInfo, ImageInfo, VersionChange
from harness.model.secrets import without_secret_values
from harness.spec.cluster import ClusterSpec

_log = logging.getLogger("kafka_chaos.cluster")


class ManagedCluster(LiveCluster):
    """A running cluster; use it as a context manager.

    It is described by a `ClusterSpec`, or by the fields of one: `ManagedCluster(brokers=3, version="4.4.0")`.
    Each node's log is written to `log_folder` at the end. `ports` on 127.0.0.1, one per broker, are chosen if
    not given.

    Every container, network and volume has our labels, so that `kafka-chaos clean` finds what a killed
    harness left behind. Nodes are named by their Kafka node id.
    """

    def __init__(
        self,
        spec: ClusterSpec | None = None,
        *,
        log_folder: Path | None = None,
        ports: list[int] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        self.spec: ClusterSpec = ClusterSpec.model_validate(settings) if spec is None else spec
        self.name = "kc-" + uuid.uuid4().hex[:8]
        self._log_folder = log_folder
        self._given_ports = ports
        self._containers: dict[int, DockerContainer] = {}
        self._spare_addresses: list[str] = []
        self._versions: dict[int, str] = {}
        self._starts = 0
        self.changes: list[VersionChange] = []
        """The versions and levels of features that the cluster has got since it was started."""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> Self:
        """Start all nodes and wait until the cluster is ready: every broker is registered and unfenced, and a
        new topic gets a full ISR.

        Raises:
            PrerequisiteMissing: there is no container engine, or no image.
            ClusterError: a node ended, or the cluster was not ready in time; has the nodes' last log lines.
        """
        began = time.monotonic()
        self._starts += 1
        self.changes = []
        self.client = docker_engine.connect()
        self.image: ImageInfo = images.resolve(self.client, self.spec.version, self.spec.image)
        self.toolbox = images.toolbox(self.client)
        if self.spec.proxy:
            self._prepare_proxies()
        docker_engine.configure_testcontainers(self.client)
        try:
            self._create()
            state_records.remember(self)
            self._add_user()
            with ThreadPoolExecutor(max_workers=1) as pool:
                # Not before the brokers are registered: the engine gives a container its routes a moment
                # after it has begun to run.
                futures: list[Future[dict[int, traces.Things]]] = []
                await_ready(self, lambda: futures.append(pool.submit(traces.baseline, self)))
                self.baseline = futures[0].result()
            self._set_first_features(self.spec.features)
            state_records.remember(self)
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
        self._handles.clear()
        self._replaced.clear()
        self.close_shells()
        docker_engine.sweep(self.client, cluster=self.name)
        state_records.forget(self.name)
        self.client.close()

    def renew(self) -> None:
        """Remove the cluster and start it anew, as its spec says, without the versions and levels of features
        that it has got.

        Raises:
            PrerequisiteMissing, ClusterError: as `start`.
        """
        self.stop()
        self.start()

    def replace_node(self, number: int, version: str) -> None:
        """Replace the container of a stopped node by one of another Kafka version, not started yet. Name,
        address, port, labels and volumes stay; its settings are those that `plan` gives this version.

        Raises:
            PrerequisiteMissing: there is no image of this version, and none can be made.
            ClusterError: the engine refuses.
        """
        before = self._versions[number]
        if before == version:
            return
        image = images.resolve(self.client, version)
        ports = [node.host_port for node in self.nodes if node.host_port is not None]
        spec = self.spec.model_copy(update={"version": version})
        nodes = {node.id: node for node in plan(spec, ports, self.cluster_id, secured=self._secured)}
        environment = {**nodes[number].environment, **self._clock_environment}
        with self._engine(number, "the node's container could not be replaced") as old:
            new = replacement(old, nodes[number], environment, image.reference, self._endpoint(nodes[number]))
            old.reload()
        self._replaced.setdefault(number, []).append(old)
        self._handles[number], self._versions[number] = new, version
        self.nodes = [nodes[number] if node.id == number else node for node in self.nodes]
        name = nodes[number].name
        self.changes.append(VersionChange(at_ns=time.time_ns(), what=name, before=before, after=version))

    def set_features(self, levels: Mapping[str, int]) -> dict[str, str]:
        features = self.features(next(iter(self.broker_ids)))
        refused = super().set_features(levels)
        for name, level in levels.items():
            before = features.finalized.get(name, 0) if features is not None else None
            if name not in refused and before != level:
                words = "not known" if before is None else str(before)
                change = VersionChange(at_ns=time.time_ns(), what=name, before=words, after=str(level))
                self.changes.append(change)
        return refused

    def info(self) -> ClusterInfo:
        """Facts about this cluster for a run's metadata."""
        return ClusterInfo(
            brokers=self.spec.brokers,
            controllers=self.spec.controllers,
            combined=self.spec.combined,
            profile=self.spec.profile,
            properties=without_secret_values(self.spec.properties),
            image=self.image,
            start_seconds=round(self.start_seconds, 2),
            changes=tuple(self.changes),
        )

    @property
    def inside_bootstrap(self) -> str:
        """`host:port` of every broker for containers on the cluster's network."""
        return ",".join(f"{node.name}:{INTERNAL_PORT}" for node in self.nodes if node.broker)

    def spare_address(self, number: int) -> str:
        """A fixed address for the container `number`, from 0, beside the nodes. The engine itself gives the
        lowest free addresses to containers without a fixed one, so these are the highest."""
        return self._spare_addresses[-1 - number]

    def _add_user(self) -> None:
        """Create the user of the clients, if it is stored in the cluster's metadata (SCRAM)."""
        node = next(node for node in self.nodes if node.broker)
        script = self._secured and self._secured.add_user(node.name, INTERNAL_PORT)
        if not script:
            return

        def missing() -> str | None:
            done = self.in_node(node.id, script)
            return None if done.code == 0 else docker_engine.one_line(self.access.redact(done.text))

        wait_until(missing, what="a SCRAM user", seconds=START_SECONDS, every=1.0)

    def _set_first_features(self, levels: dict[str, int]) -> None:
        """Set levels of a new cluster's features; ClusterError: one is refused."""
        if not levels:
            return
        refused = super().set_features(levels)
        if refused:
            raise ClusterError(
                "a feature could not be set",
                expected=", ".join(f"{name} {level}" for name, level in levels.items()),
                found="; ".join(f"{name}: {why}" for name, why in refused.items()),
                next_step="check that this Kafka version has the feature and the level",
            )

    def _create(self) -> None:
        self.client_address, addresses = create_network(
            self.client, self.name, docker_engine.labels(self.name)
        )
        self.cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if self._given_ports is not None:
            require_free_ports(self._given_ports)
        ports = self._given_ports or free_ports(self.spec.brokers)
        if self.spec.security is not None:
            brokers = [node.name for node in plan(self.spec, ports, self.cluster_id) if node.broker]
            self._secured = credentials.make(self.spec.security, self.name, brokers)
            self.access = self._secured.access
        self.nodes = plan(self.spec, ports, self.cluster_id, secured=self._secured)
        self._addresses = {node.id: address for node, address in zip(self.nodes, addresses, strict=False)}
        self._spare_addresses = addresses[len(self.nodes) :]
        self._versions = {node.id: self.image.kafka_version for node in self.nodes}
        image = self.image.reference
        volumes = create_volumes(self.client, self.name, self.spec, self.nodes, image, self.toolbox)
        for node in self.nodes:
            environment = {**node.environment, **self._clock_environment}
            self._containers[node.id] = new_container(
                node, self.name, image, environment, self._endpoint(node), volumes[node.id]
            )
        with ThreadPoolExecutor(max_workers=len(self.nodes)) as pool:
            for started in [pool.submit(self._start_container, node) for node in self.nodes]:
                started.result()

    @property
    def _clock_environment(self) -> dict[str, str]:
        return CLOCK_ENVIRONMENT if self.spec.skewable_clocks else {}

    def _endpoint(self, node: Node) -> dict[str, EndpointConfig]:
        """The node's fixed address, by network."""
        address, version = self._addresses[node.id], self.client.api._version
        return {self.name: EndpointConfig(version, aliases=[node.name], ipv4_address=address)}

    def _start_container(self, node: Node) -> None:
        try:
            started = self._containers[node.id].start().get_wrapped_container()
            # Of our own client, which reads the output of commands whole.
            self._handles[node.id] = self.client.containers.get(started.id)
            with self._engine(node.id, "the node's proxy could not be started"):
                self._start_proxy(node.id)
        except APIError as error:
            raise ClusterError(
                "a node could not be started",
                where=node.name,
                found=str(error.explanation),
                next_step="if a port is taken, end the program that uses it, or do not choose the ports",
            ) from error

    def _save_log(self, number: int) -> None:
        if self._log_folder is None:
            return
        # A log that cannot be read or written must not prevent the removal of the cluster.
        name = self.node(number).name
        again = f"-{self._starts}" if self._starts > 1 else ""
        for logged in (name, f"{name}-proxy") if self.node(number).proxied else (name,):
            try:
                last = self.client.containers.get(f"{self.name}-{logged}")
                earlier = self._replaced.get(number, ()) if logged == name else ()
                text = b"".join(container.logs() for container in (*earlier, last))
            except Exception as error:
                text = f"the log could not be read: {error}\n".encode()
            path = self._log_folder / f"{logged}{again}.log"
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text)
            except OSError as error:
                _log.warning("%s could not be written: %s", path, error.strerror)

    def memory_mib(self) -> float:
        """Memory that all nodes use now, in MiB. The engine takes about a second to answer."""
        with ThreadPoolExecutor(max_workers=len(self.nodes)) as pool:
            used = pool.map(memory_mib, self._handles.values())
            return round(sum(used), 1)
