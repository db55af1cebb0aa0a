"""Proxies on this machine in front of the brokers of an existing cluster, a process each. Clients that begin
at their addresses stay with them: they rewrite the addresses in what brokers answer."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from harness.cluster.credentials import Authority
from harness.cluster.protocol.client_security import ClientSecurity
from harness.cluster.proxy.client import ProxyClient
from harness.cluster.proxy.listeners import ListenerSpec
from harness.cluster.proxy.process import LocalProxy
from harness.cluster.proxy.server import ProxySpec
from harness.cluster.proxy.tls_ends import TlsEnds
from harness.model.errors import BadInput
from harness.model.host.ports import HOST, free_ports
from harness.spec.cluster import MOST_BROKERS

_TRUST = ("ssl.ca.pem", "ssl.ca.location")


class ExternalProxies:
    """The proxies of an existing cluster, by broker id; none before `start`."""

    def __init__(self) -> None:
        self._proxies: dict[int, LocalProxy] = {}
        self._ports: dict[int, int] = {}
        self._stack = ExitStack()

    def start(self, brokers: Mapping[int, tuple[str, int]], security: ClientSecurity) -> ClientSecurity:
        """Start one before each broker: id -> host and port. `security` is what the brokers require; returns
        what clients of the proxies must use. TLS ends at a proxy, which has a certificate for 127.0.0.1 of an
        authority of its own, and connects to the broker with the trust and the certificate of `security`.

        Raises:
            BadInput: there are more than nine brokers.
            ClusterError: a proxy could not be started.
        """
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
        tls, for_clients = _ends(security)
        for number, address in brokers.items():
            listener = ListenerSpec(f"broker-{number}", HOST, self._ports[number], address, number, tls)
            spec = ProxySpec((listener,), str(folder / str(number)), brokers=places)
            self._proxies[number] = self._stack.enter_context(
                LocalProxy(spec, f"the proxy of {listener.name}")
            )
        return for_clients

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
        proxy = self._proxies.get(number)
        return None if proxy is None else proxy.client

    @property
    def broker_ids(self) -> tuple[int, ...]:
        return tuple(self._proxies)


def _ends(security: ClientSecurity) -> tuple[TlsEnds | None, ClientSecurity]:
    """TLS of the proxies, and the security settings of their clients."""
    if security.login is None or security.login.tls is None:
        return None, security
    authority = Authority("proxies")
    shown = authority.identity("proxy", ("localhost", HOST))
    kept = {name: value for name, value in security.properties.items() if name not in _TRUST}
    for_clients = ClientSecurity({**kept, "ssl.ca.pem": authority.certificate})
    return TlsEnds(shown.certificate, shown.key, security.login.tls), for_clients
