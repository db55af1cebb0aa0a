"""Proxies on this machine in front of the brokers of an existing cluster, a process each. Clients that begin
at their addresses stay with them: they rewrite the addresses in what brokers answer."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from harness.host.ports import HOST, free_ports
from harness.model.errors import BadInput
from harness.proxy.client import ProxyClient
from harness.proxy.listeners import ListenerSpec
from harness.proxy.process import LocalProxy
from harness.proxy.server import ProxySpec
from harness.spec.cluster import MOST_BROKERS

_READABLE = ("PLAINTEXT", "SASL_PLAINTEXT")


class ExternalProxies:
    """The proxies of an existing cluster, by broker id; none before `start`."""

    def __init__(self) -> None:
        self._proxies: dict[int, LocalProxy] = {}
        self._ports: dict[int, int] = {}
        self._stack = ExitStack()

    def start(self, brokers: Mapping[int, tuple[str, int]], protocol: str) -> None:
        """Start one before each broker: id -> host and port. `protocol` is the clients' security.protocol.

        Raises:
            BadInput: what the brokers speak is encrypted, or there are more than nine.
            ClusterError: a proxy could not be started.
        """
        if protocol not in _READABLE:
            raise BadInput(
                "a proxy cannot read what is encrypted",
                where="security.protocol of the client configuration",
                expected=f"{' or '.join(_READABLE)}, with `proxy: true`",
                found=protocol,
                next_step="use a listener without TLS, or leave `proxy` out of `cluster`",
            )
        if len(brokers) > MOST_BROKERS:
            raise BadInput(
                "the cluster has too many brokers for proxies on this machine",
                where="cluster.proxy",
                expected=f"at most {MOST_BROKERS}",
                found=str(len(brokers)),
                next_step="leave `proxy` out of `cluster`",
            )
        self._ports = dict(zip(brokers, free_ports(len(brokers)), strict=True))
        places = {number: (HOST, port) for number, port in self._ports.items()}
        # Whoever may open the control sockets may drop requests: this user alone.
        folder = Path(tempfile.mkdtemp(prefix="kafka-chaos-proxy-"))
        self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        for number, address in brokers.items():
            listener = ListenerSpec(f"broker-{number}", HOST, self._ports[number], address, number)
            spec = ProxySpec((listener,), str(folder / str(number)), brokers=places)
            self._proxies[number] = self._stack.enter_context(
                LocalProxy(spec, f"the proxy of {listener.name}")
            )

    def stop(self) -> None:
        """End all of them."""
        self._proxies.clear()
        self._ports.clear()
        self._stack.close()

    @property
    def bootstrap(self) -> str:
        """`host:port` of every proxy, for clients; empty: there is none."""
        return ",".join(f"{HOST}:{port}" for port in self._ports.values())

    def client(self, number: int) -> ProxyClient | None:
        """Commands to the proxy of a broker; None: it has none."""
        found = self._proxies.get(number)
        return None if found is None else found.client

    @property
    def broker_ids(self) -> tuple[int, ...]:
        return tuple(self._proxies)
