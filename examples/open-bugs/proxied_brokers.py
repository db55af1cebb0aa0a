"""Proxies of kafka-chaos in front of real brokers without TLS, for scripts whose bug needs one message of
Kafka's protocol to be late or lost. kafka-chaos has to be installed, with any version of confluent-kafka."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Producer

from harness.cluster.external_proxies import ExternalProxies
from harness.cluster.protocol.client_security import PLAIN_TEXT
from harness.cluster.proxy.client import ProxyClient
from harness.model.request_rules import RequestRule


class Proxied:
    """Clients that begin at `bootstrap` stay with the proxies."""

    def __init__(self, proxies: ExternalProxies) -> None:
        self._proxies = proxies
        self.bootstrap = proxies.bootstrap

    def _clients(self) -> Iterator[ProxyClient]:
        for one in self._proxies.broker_ids:
            client = self._proxies.client(one)
            assert client is not None
            yield client

    def rule(self, name: str, **what: Any) -> None:
        """Every proxy acts on what this `RequestRule` describes."""
        for client in self._clients():
            client.add(RequestRule(id=name, **what))

    def heal(self, name: str) -> None:
        """End a rule; what it holds goes on."""
        for client in self._clients():
            client.remove(name)

    def count(self, name: str, counter: str = "acted") -> int:
        """How many messages the rule has `acted` on, or `matched`, in all proxies."""
        return sum(int(client.counters(name)[counter]) for client in self._clients())


@contextmanager
def proxied_brokers(bootstrap: str) -> Iterator[Proxied]:
    """Start a proxy before each broker, and end them."""
    known = Producer({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics(timeout=30)
    proxies = ExternalProxies()
    proxies.start({one.id: (one.host, one.port) for one in known.brokers.values()}, PLAIN_TEXT)
    try:
        yield Proxied(proxies)
    finally:
        proxies.stop()
