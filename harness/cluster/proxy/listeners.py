"""Where a proxy listens, and what has gone through each listener."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, fields
from typing import Any

from harness.cluster.proxy import bodies
from harness.cluster.proxy.frames import RequestHead
from harness.cluster.proxy.tls_ends import TlsEnds
from harness.model.kafka_protocol import api_name

_MOST_CLIENTS = 50
"""The number of clients that are counted by themselves, for each API."""


@dataclass(frozen=True, slots=True)
class ListenerSpec:
    """A port that the proxy listens on, and the broker's listener behind it. `node` is the broker's id.
    `tls`: how both ends of a connection are encrypted; None: they are not."""

    name: str
    host: str
    port: int
    upstream: tuple[str, int]
    node: int
    tls: TlsEnds | None = None

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> ListenerSpec:
        tls = given["tls"] and TlsEnds.from_json(given["tls"])
        return cls(**{**given, "upstream": tuple(given["upstream"]), "tls": tls})


@dataclass(slots=True)
class Traffic:
    """Counters of one listener. `open` connections are open now; `refused` sent something else than Kafka's
    protocol, `last_refusal` says what; `unreachable` found no broker behind; `opaque` authenticate in a way
    that has no frames; `unasked` answers fit no request; `requests` are counted by API, `clients` by API and
    client.id; `newer` ones have versions that the proxy cannot read, and were passed on."""

    connections: int = 0
    open: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    refused: int = 0
    last_refusal: str | None = None
    unreachable: int = 0
    opaque: int = 0
    unasked: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    clients: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    newer: Counter[str] = field(default_factory=Counter)

    def status(self) -> dict[str, Any]:
        """The counters as JSON has them."""
        values = {counter.name: getattr(self, counter.name) for counter in fields(self)}
        return {name: dict(value) if isinstance(value, Counter) else value for name, value in values.items()}

    def count(self, head: RequestHead) -> None:
        """Count a request."""
        name = api_name(head.key)
        self.requests[name] += 1
        by_client, client = self.clients[name], head.client or ""
        by_client[client if client in by_client or len(by_client) < _MOST_CLIENTS else "(others)"] += 1
        if head.version > bodies.newest_version(head.key):
            self.newer[f"{name} {head.version}"] += 1
