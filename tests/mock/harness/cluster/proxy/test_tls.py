"""TLS ends at a proxy and begins anew towards brokers behind a TLS listener: a real client writes."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer

from harness.cluster.credentials import Authority, Identity
from harness.cluster.external_proxies import ExternalProxies
from harness.cluster.protocol.client_security import ClientSecurity
from harness.cluster.protocol.connection import BrokerConnection
from harness.cluster.proxy.listeners import ListenerSpec
from harness.cluster.proxy.process import LocalProxy
from harness.cluster.proxy.server import ProxySpec
from harness.cluster.proxy.tls_ends import TlsEnds
from harness.model.host.ports import HOST, free_ports
from harness.model.request_rules import RequestRule
from harness.model.tls import Tls
from tests.support.proxies import addresses
from workloads.records.clients import client_logger

pytestmark = pytest.mark.mock

AUTHORITY = Authority("brokers")
BROKER = AUTHORITY.identity("broker", ("localhost", HOST))
TRUSTS = {"security.protocol": "SSL", "ssl.ca.pem": AUTHORITY.certificate}


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    writer.close()


@contextmanager
def behind_tls(broker: tuple[str, int], shown: Identity, clients: str | None = None) -> Iterator[int]:
    """The port of a TLS listener with this certificate in front of a broker without one. With `clients` (PEM)
    it asks for a certificate of this authority."""
    context = TlsEnds(shown.certificate, shown.key, Tls()).for_clients
    if clients is not None:
        context.load_verify_locations(cadata=clients)
        context.verify_mode = ssl.CERT_REQUIRED
    (port,) = free_ports(1)
    ready = threading.Event()
    ends: list[Callable[[], object]] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(*broker)
        await asyncio.gather(_pass_on(reader, back), _pass_on(there, writer), return_exceptions=True)

    async def serve() -> None:
        end = asyncio.Event()
        ends.append(partial(asyncio.get_running_loop().call_soon_threadsafe, end.set))
        async with await asyncio.start_server(accept, HOST, port, ssl=context):
            ready.set()
            await end.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(30)
    yield port
    ends[0]()
    thread.join(30)


@pytest.fixture(scope="module")
def brokers(mock_bootstrap: str) -> Iterator[dict[int, tuple[str, int]]]:
    """The TLS listeners of the mock cluster's brokers, by id."""
    with ExitStack() as stack:
        opened = (stack.enter_context(behind_tls(one, BROKER)) for one in addresses(mock_bootstrap))
        yield {number: (HOST, port) for number, port in enumerate(opened, start=1)}


@pytest.fixture
def proxies() -> Iterator[ExternalProxies]:
    made = ExternalProxies()
    yield made
    made.stop()


def written(bootstrap: str, security: ClientSecurity, topic: str, seconds: float = 60.0) -> bool:
    """Whether a record is acknowledged in this time."""
    given = {"bootstrap.servers": bootstrap, "client.id": "p", **security.properties}
    producer = Producer(given, logger=client_logger())
    producer.produce(topic, b"v", partition=0)
    done = producer.flush(seconds) == 0
    producer.purge()
    return done


def test_rules_act_on_what_was_encrypted(
    brokers: dict[int, tuple[str, int]], proxies: ExternalProxies, mock_topic: str
) -> None:
    for_clients = proxies.start(brokers, ClientSecurity(TRUSTS))
    assert for_clients.properties["ssl.ca.pem"] != AUTHORITY.certificate
    rule = RequestRule(id="r", action="error", error="NOT_ENOUGH_REPLICAS", api=("Produce",), first=1)
    told = [proxies.client(number) for number in brokers]
    for proxy in told:
        assert proxy is not None
        proxy.add(rule)
    assert written(proxies.bootstrap, for_clients, mock_topic)
    assert sorted(proxy.counters("r")["acted"] for proxy in told if proxy is not None) == [0, 0, 1]


def test_a_client_that_does_not_trust_the_proxy_writes_nothing(
    brokers: dict[int, tuple[str, int]], proxies: ExternalProxies, mock_topic: str
) -> None:
    proxies.start(brokers, ClientSecurity(TRUSTS))
    assert not written(proxies.bootstrap, ClientSecurity(TRUSTS), mock_topic, seconds=5)
    assert not written(proxies.bootstrap, ClientSecurity(), mock_topic, seconds=5)


def test_a_broker_that_the_proxy_does_not_trust_is_not_reached(
    brokers: dict[int, tuple[str, int]], proxies: ExternalProxies
) -> None:
    other = {**TRUSTS, "ssl.ca.pem": Authority("others").certificate}
    for_clients = proxies.start(brokers, ClientSecurity(other))
    ((host, port), *_) = addresses(proxies.bootstrap)
    with (
        BrokerConnection(1, host, port, 10.0, for_clients.login) as connection,
        pytest.raises(OSError, match="did not answer"),
    ):
        connection.metadata(())
    proxy = proxies.client(1)
    assert proxy is not None
    listener = proxy.status()["listeners"]["broker-1"]
    assert listener["unreachable"] == 1
    assert "certificate verify failed" in listener["last_refusal"]


def test_the_proxy_shows_the_clients_own_certificate(
    mock_bootstrap: str, proxies: ExternalProxies, tmp_path: Path
) -> None:
    user = AUTHORITY.identity("user", ("user.example",))
    (tmp_path / "user.pem").write_text(user.certificate)
    (tmp_path / "user.key").write_text(user.key)
    own = {"ssl.certificate.location": tmp_path / "user.pem", "ssl.key.location": tmp_path / "user.key"}
    with_own = {**TRUSTS, **{name: str(path) for name, path in own.items()}}
    with behind_tls(addresses(mock_bootstrap)[0], BROKER, clients=AUTHORITY.certificate) as port:
        with (
            BrokerConnection(1, HOST, port, 10.0, ClientSecurity(TRUSTS).login) as connection,
            pytest.raises(OSError, match="did not answer"),
        ):
            connection.metadata(())
        for_clients = proxies.start({1: (HOST, port)}, ClientSecurity(with_own))
        ((host, there),) = addresses(proxies.bootstrap)
        with BrokerConnection(1, host, there, 10.0, for_clients.login) as connection:
            assert len(connection.metadata(()).brokers) == 3


def test_a_proxys_key_is_not_on_its_command_line() -> None:
    front, control = free_ports(2)
    ends = TlsEnds(BROKER.certificate, BROKER.key, Tls(trusted=AUTHORITY.certificate))
    listener = ListenerSpec("one", HOST, front, (HOST, 1), 1, ends)
    assert BROKER.key not in repr(listener)
    spec = ProxySpec((listener,), f"{HOST}:{control}")
    assert ProxySpec.from_json(spec.to_json()) == spec
    with LocalProxy(spec) as proxy:
        assert b"PRIVATE" not in Path(f"/proc/{proxy.pid}/cmdline").read_bytes()
