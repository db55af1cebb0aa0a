"""A running proxy: its listeners, its rules and its control socket."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.cluster.proxy.asked import Shared
from harness.cluster.proxy.connection import Connection
from harness.cluster.proxy.control import Control
from harness.cluster.proxy.lane import Budget
from harness.cluster.proxy.listeners import ListenerSpec, Traffic
from harness.cluster.proxy.rewriting import Addresses
from harness.cluster.proxy.rule_book import RuleBook

LARGEST_FRAME = 100 * 1024 * 1024
"""socket.request.max.bytes of Kafka."""


@dataclass(frozen=True, slots=True)
class ProxySpec:
    """What a proxy is started with.

    Args:
        control: where it takes commands: "host:port", or the path of a Unix socket.
        peers: node id by source address; whoever comes from another address is a client.
        largest_frame: bytes of the largest request or answer; the connection of a larger one is closed.
        lane_bytes: how much is kept back of one direction of a connection, before it is read no further.
        budget_bytes: how much is kept back of all connections together.
        brokers: where clients find each broker's proxy, by broker id, for clusters that advertise other
            addresses; None: they advertise the proxy's.
    """

    listeners: tuple[ListenerSpec, ...]
    control: str
    peers: dict[str, int] = field(default_factory=dict)
    largest_frame: int = LARGEST_FRAME
    lane_bytes: int = 8 * 1024 * 1024
    budget_bytes: int = 256 * 1024 * 1024
    brokers: dict[int, tuple[str, int]] | None = None
    ends_with_input: bool = False
    """Whether it ends when its standard input does: with the process that has started it."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> ProxySpec:
        brokers = given.get("brokers")
        read = {
            "listeners": tuple(map(ListenerSpec.from_json, given["listeners"])),
            "brokers": brokers and {int(number): (where[0], where[1]) for number, where in brokers.items()},
        }
        return cls(**{**given, **read})


async def run(spec: ProxySpec, started: Callable[[], None]) -> None:
    """Serve until it is told to stop; `started` is called when all ports are open.

    Raises:
        OSError: a port is taken.
    """
    loop = asyncio.get_running_loop()
    book = RuleBook()
    addresses = None if spec.brokers is None else Addresses(spec.brokers)
    budget = Budget(spec.budget_bytes)
    shared = Shared(book, budget, spec.largest_frame, spec.lane_bytes, spec.peers, addresses)
    traffic = {listener: Traffic() for listener in spec.listeners}

    def status() -> dict[str, Any]:
        return {
            "listeners": {
                listener.name: {"node": listener.node, **counts.status()}
                for listener, counts in traffic.items()
            },
            "rules": book.status(),
            "kept_bytes": budget.used,
            "produced": shared.produced.status(),
        }

    def accept(listener: ListenerSpec) -> Callable[[], asyncio.Protocol]:
        return lambda: Connection(shared, listener, traffic[listener]).client

    control = Control(book, status)
    servers = []
    try:
        for listener in spec.listeners:
            tls = listener.tls.for_clients if listener.tls else None
            servers.append(
                await loop.create_server(
                    accept(listener), listener.host, listener.port, backlog=1024, ssl=tls
                )
            )
        servers.append(await control.listen(spec.control))
        if spec.ends_with_input:
            loop.add_reader(0, lambda: None if os.read(0, 1024) else control.stopped.set())
        started()
        await control.stopped.wait()
    finally:
        for server in servers:
            server.close()
