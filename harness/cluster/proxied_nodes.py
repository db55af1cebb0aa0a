"""The proxies before the listeners of a cluster's nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from docker import DockerClient
from docker.models.containers import Container

from harness.cluster.containers import docker_engine
from harness.cluster.containers.node_proxies import NodeProxies
from harness.cluster.containers.proxy_image import proxy_image
from harness.cluster.credentials import Credentials
from harness.cluster.node_plan import FOR_CLIENTS, Node
from harness.cluster.proxy.client import ProxyClient
from harness.cluster.proxy.listeners import ListenerSpec
from harness.cluster.proxy.server import ProxySpec
from harness.cluster.proxy.tls_ends import TlsEnds
from harness.model.errors import ClusterError
from harness.model.host.ports import HOST
from harness.model.node_layout import BEHIND_PROXY, PROXY_CONTROL_PORT
from harness.model.tls import Tls


class ProxiedNodes(ABC):
    """Nodes of which some have a proxy: those with `proxied` listeners."""

    name: str
    client: DockerClient
    nodes: list[Node]
    _addresses: dict[int, str]
    _handles: dict[int, Container]

    def __init__(self) -> None:
        self._proxies = NodeProxies()
        self._secured: Credentials | None = None
        """Of its listeners; None: they have none, or another process has started the cluster."""
        self._proxy_image = ""

    @abstractmethod
    def node(self, number: int) -> Node: ...

    @abstractmethod
    def is_running(self, number: int) -> bool: ...

    @abstractmethod
    def _container(self, number: int) -> Any: ...

    @property
    def proxied_ids(self) -> tuple[int, ...]:
        """The nodes with a proxy before their listeners."""
        return tuple(node.id for node in self.nodes if node.proxied)

    def proxy(self, number: int) -> ProxyClient:
        """Commands to a node's proxy. A node that is started again has a new proxy, without rules.

        Raises:
            ClusterError: it has none.
        """
        if not self.node(number).proxied:
            raise ClusterError(
                "the node has no proxy",
                where=self.node(number).name,
                expected="a broker or controller of a cluster with `proxy: true`",
                next_step="set `proxy: true` below `cluster`",
            )
        return self._proxies.client(self._container(number), self._proxy_spec(number))

    def proxy_problems(self) -> list[str]:
        """In words, what is wrong with the proxies of nodes that run."""
        problems = []
        for number in self.proxied_ids:
            if number in self._handles and not self.is_running(number):
                continue
            try:
                self.proxy(number).status()
            except ClusterError as error:
                problems.append(f"{error.what}: {error.found}")
        return problems

    def _prepare_proxies(self) -> None:
        """Get the image, if any node needs it. PrerequisiteMissing: it cannot be built."""
        self._proxy_image = proxy_image(self.client)

    def _start_proxy(self, number: int) -> None:
        """Start the proxy of a node that was started, if it has one. DockerException: the engine refuses."""
        if not self.node(number).proxied:
            return
        if not self._proxy_image:
            self._prepare_proxies()
        spec, labels = self._proxy_spec(number), docker_engine.labels(self.name)
        self._proxies.start(self.client, self._proxy_image, self._container(number), labels, spec)

    def _proxy_spec(self, number: int) -> ProxySpec:
        return ProxySpec(
            listeners=tuple(
                ListenerSpec(
                    name, "0.0.0.0", port, (HOST, port + BEHIND_PROXY), number, self._tls(number, name)
                )
                for name, port in self.node(number).proxied
            ),
            control=f"{HOST}:{PROXY_CONTROL_PORT}",
            peers={address: node for node, address in self._addresses.items()},
        )

    def _tls(self, number: int, listener: str) -> TlsEnds | None:
        if self._secured is None or not self._secured.security.tls or listener not in FOR_CLIENTS:
            return None
        identity = self._secured.identities[self.node(number).name]
        return TlsEnds(identity.certificate, identity.key, Tls(trusted=self._secured.trusted))
