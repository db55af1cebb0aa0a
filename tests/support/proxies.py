"""A proxy in front of brokers on this machine, as clients see it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from harness.cluster.proxy.client import ProxyClient
from harness.cluster.proxy.listeners import ListenerSpec
from harness.cluster.proxy.process import LocalProxy
from harness.cluster.proxy.server import ProxySpec
from harness.model.host.ports import HOST, free_ports


@dataclass(frozen=True)
class Proxied:
    """`bootstrap` is for clients that shall go through the proxy, `control` commands it."""

    bootstrap: str
    control: ProxyClient


@contextmanager
def proxied(brokers: list[tuple[str, int]], **settings: Any) -> Iterator[Proxied]:
    """One proxy in front of all of these brokers, with ids from 1, whose addresses it rewrites."""
    *ports, control = free_ports(len(brokers) + 1)
    numbered = list(enumerate(zip(brokers, ports, strict=True), start=1))
    listeners = (ListenerSpec(f"broker-{one}", HOST, port, address, one) for one, (address, port) in numbered)
    places = {one: (HOST, port) for one, (_, port) in numbered}
    spec = ProxySpec(tuple(listeners), f"{HOST}:{control}", brokers=places, **settings)
    with LocalProxy(spec) as proxy:
        yield Proxied(",".join(f"{HOST}:{port}" for port in ports), proxy.client)


def addresses(bootstrap: str) -> list[tuple[str, int]]:
    """Host and port of each server."""
    pairs = (one.rpartition(":") for one in bootstrap.split(","))
    return [(host, int(port)) for host, _, port in pairs]
