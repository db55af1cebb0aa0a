"""A real client (librdkafka) writes and reads through the proxy, while rules act on its requests."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from harness.cluster.proxy.client import ProxyClient, SocketLine
from harness.cluster.proxy.listeners import ListenerSpec
from harness.cluster.proxy.process import LocalProxy
from harness.cluster.proxy.server import ProxySpec
from harness.model.errors import BadInput, ClusterError
from harness.model.host.ports import HOST, free_ports
from harness.model.request_rules import RequestRule
from tests.support.kafka_frames import answer, request
from tests.support.proxies import Proxied, addresses, proxied
from workloads.records.clients import client_logger

pytestmark = pytest.mark.mock

SECONDS = 30.0


@pytest.fixture(scope="module")
def proxy(mock_bootstrap: str) -> Iterator[Proxied]:
    with proxied(addresses(mock_bootstrap)) as found:
        yield found


@pytest.fixture
def ruled(proxy: Proxied) -> Iterator[Callable[..., None]]:
    """Adds a rule `r`, which is removed at the end of the test."""
    added: list[str] = []

    def add(identity: str = "r", **given: Any) -> None:
        proxy.control.add(RequestRule(**{"id": identity, "api": ("Produce",), "client": "p", **given}))
        added.append(identity)

    yield add
    known = proxy.control.status()["rules"]
    for identity in added:
        if identity in known:
            proxy.control.remove(identity)


class Written:
    """A producer that writes values into one partition; `reports` has its offset or error by value."""

    def __init__(self, proxy: Proxied, topic: str, **settings: Any) -> None:
        self.reports: dict[bytes, int | str] = {}
        self._topic = topic
        usual = {"bootstrap.servers": proxy.bootstrap, "client.id": "p", "linger.ms": 0}
        self._producer = Producer({**usual, **settings}, logger=client_logger())

    def send(self, *values: bytes) -> None:
        for value in values:
            self._producer.produce(self._topic, value, partition=0, on_delivery=self._reported)
        self._producer.poll(0)

    def _reported(self, error: Any, message: Any) -> None:
        self.reports[message.value()] = error.name() if error else message.offset()

    def done(self, *values: bytes) -> dict[bytes, int | str]:
        """Send, wait for all reports, and return them."""
        self.send(*values)
        assert self._producer.flush(SECONDS) == 0
        return self.reports


def read(bootstrap: str, topic: str, count: int) -> list[bytes]:
    """This number of values of partition 0, in order; fewer when nothing more comes."""
    settings = {"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest"}
    consumer = Consumer(settings, logger=client_logger())
    consumer.subscribe([topic])
    values: list[bytes] = []
    deadline = time.monotonic() + SECONDS
    while len(values) < count and time.monotonic() < deadline:
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            values.append(message.value())
    consumer.close()
    return values


def test_what_is_written_through_it_is_read_through_it(proxy: Proxied, mock_topic: str) -> None:
    values = [b"%d" % number for number in range(1000)]
    reports = Written(proxy, mock_topic, **{"enable.idempotence": True}).done(*values)
    assert reports == {value: number for number, value in enumerate(values)}
    assert read(proxy.bootstrap, mock_topic, 1000) == values
    traffic = proxy.control.status()["listeners"]
    assert sum(one["requests"].get("Produce", 0) for one in traffic.values()) > 0
    assert sum(one["requests"].get("OffsetCommit", 0) for one in traffic.values()) > 0
    assert proxy.control.status()["kept_bytes"] == 0


def test_without_acks_nothing_waits_for_an_answer(proxy: Proxied, mock_topic: str) -> None:
    Written(proxy, mock_topic, acks=0).done(b"a", b"b")
    assert read(proxy.bootstrap, mock_topic, 2) == [b"a", b"b"]


def test_requests_are_delayed(proxy: Proxied, ruled: Any, mock_topic: str) -> None:
    began = time.monotonic()
    Written(proxy, mock_topic).done(b"a")
    ruled(action="delay", delay_ms=1500)
    Written(proxy, mock_topic).done(b"b")
    assert time.monotonic() - began >= 1.5
    assert proxy.control.remove("r")["acted"] == 1


@pytest.mark.parametrize("direction", ["request", "response"])
def test_what_is_held_comes_when_the_rule_is_removed(
    proxy: Proxied, ruled: Any, mock_topic: str, mock_bootstrap: str, direction: str
) -> None:
    ruled(action="hold", direction=direction)
    writer = Written(proxy, mock_topic)
    writer.send(b"a")
    assert proxy.control.wait("r", "held", 1, SECONDS) == 1
    assert writer.reports == {}
    assert proxy.control.status()["kept_bytes"] > 0
    assert len(read(mock_bootstrap, mock_topic, 1)) == 1 if direction == "response" else True
    assert proxy.control.remove("r")["released"] == 1
    assert writer.done() == {b"a": 0}


def test_a_held_request_reaches_the_broker_though_its_client_has_gone(
    proxy: Proxied, ruled: Any, mock_topic: str
) -> None:
    Written(proxy, mock_topic).done(b"first")
    ruled(action="hold")
    writer = Written(proxy, mock_topic, **{"message.timeout.ms": 1000, "retries": 0})
    assert list(writer.done(b"late").values()) == ["_MSG_TIMED_OUT"]
    del writer
    assert proxy.control.remove("r")["released"] == 1
    assert read(proxy.bootstrap, mock_topic, 2) == [b"first", b"late"]


def test_what_is_held_can_be_dropped(proxy: Proxied, ruled: Any, mock_topic: str) -> None:
    ruled(action="hold")
    writer = Written(
        proxy, mock_topic, **{"message.timeout.ms": 3000, "socket.timeout.ms": 1000, "retries": 0}
    )
    writer.send(b"lost")
    proxy.control.wait("r", "held", 1, SECONDS)
    assert proxy.control.remove("r", drop=True)["dropped"] == 1
    assert isinstance(writer.done()[b"lost"], str)
    Written(proxy, mock_topic).done(b"later")
    assert read(proxy.bootstrap, mock_topic, 1) == [b"later"]


@pytest.mark.parametrize(("direction", "copies"), [("request", 1), ("response", 2)])
def test_a_dropped_request_is_not_written_and_a_dropped_answer_is_retried(
    proxy: Proxied, ruled: Any, mock_topic: str, direction: str, copies: int
) -> None:
    ruled(action="drop", direction=direction, first=1)
    Written(proxy, mock_topic, **{"socket.timeout.ms": 1000, "request.timeout.ms": 900}).done(b"a")
    assert proxy.control.remove("r")["dropped"] == 1
    Written(proxy, mock_topic).done(b"end")
    assert read(proxy.bootstrap, mock_topic, copies + 1) == [b"a"] * copies + [b"end"]


@pytest.mark.parametrize(
    ("action", "direction", "copies"),
    [
        ("disconnect_before", "request", 1),
        ("disconnect_after", "request", 2),
        ("disconnect_before", "response", 2),
        ("disconnect_after", "response", 1),
    ],
)
def test_disconnected_before_or_after(
    proxy: Proxied, ruled: Any, mock_topic: str, action: str, direction: str, copies: int
) -> None:
    """A client that is cut off without an answer writes again: twice if the broker had the first."""
    ruled(action=action, direction=direction, first=1)
    Written(proxy, mock_topic).done(b"a")
    Written(proxy, mock_topic).done(b"end")
    assert proxy.control.remove("r")["acted"] == 1
    assert read(proxy.bootstrap, mock_topic, copies + 1) == [b"a"] * copies + [b"end"]


@pytest.mark.parametrize(("direction", "written"), [("request", []), ("response", [b"a"])])
def test_an_error_in_place_of_the_brokers_answer(
    proxy: Proxied, ruled: Any, mock_topic: str, direction: str, written: list[bytes]
) -> None:
    ruled(action="error", error="MESSAGE_TOO_LARGE", direction=direction, topic=mock_topic, partition=0)
    assert Written(proxy, mock_topic).done(b"a") == {b"a": "MSG_SIZE_TOO_LARGE"}
    assert proxy.control.remove("r")["acted"] == 1
    Written(proxy, mock_topic).done(b"end")
    assert read(proxy.bootstrap, mock_topic, len(written) + 1) == [*written, b"end"]


def test_a_retriable_error_for_the_first_two(proxy: Proxied, ruled: Any, mock_topic: str) -> None:
    ruled(action="error", error="NOT_ENOUGH_REPLICAS", first=2)
    assert Written(proxy, mock_topic).done(b"a") == {b"a": 0}
    counters = proxy.control.remove("r")
    assert (counters["matched"], counters["acted"]) == (3, 2)


@pytest.mark.parametrize("condition", [{"topic": "another"}, {"client": "another"}, {"from_nodes": (2,)}])
def test_a_rule_for_something_else_does_nothing(
    proxy: Proxied, ruled: Any, mock_topic: str, condition: dict[str, Any]
) -> None:
    ruled(action="error", error="MESSAGE_TOO_LARGE", **condition)
    assert Written(proxy, mock_topic).done(b"a") == {b"a": 0}
    assert proxy.control.remove("r")["matched"] == 0


def test_a_duplicated_request_is_written_twice_and_answered_once(
    proxy: Proxied, ruled: Any, mock_topic: str
) -> None:
    ruled(action="duplicate", first=1)
    assert Written(proxy, mock_topic).done(b"a") == {b"a": 0}
    Written(proxy, mock_topic).done(b"end")
    assert read(proxy.bootstrap, mock_topic, 3) == [b"a", b"a", b"end"]


def test_the_next_request_overtakes(proxy: Proxied, ruled: Any, mock_topic: str) -> None:
    ruled(action="reorder_with_next", first=1)
    writer = Written(proxy, mock_topic)
    writer.send(b"a")
    proxy.control.wait("r", "held", 1, SECONDS)
    assert writer.done(b"b") == {b"a": 1, b"b": 0}
    assert read(proxy.bootstrap, mock_topic, 2) == [b"b", b"a"]


def test_bandwidth(proxy: Proxied, ruled: Any, mock_topic: str) -> None:
    ruled(action="bandwidth", bytes_per_second=10_000)
    began = time.monotonic()
    Written(proxy, mock_topic).done(bytes(20_000))
    assert time.monotonic() - began >= 2.0


def test_a_rule_that_only_counts(proxy: Proxied, ruled: Any, mock_topic: str) -> None:
    ruled(action="count", api=())
    Written(proxy, mock_topic).done(b"a")
    assert proxy.control.counters("r")["matched"] >= 2


def test_what_is_no_kafka_is_closed_and_said(mock_bootstrap: str) -> None:
    with proxied(addresses(mock_bootstrap)[:1], largest_frame=1000) as proxy:
        large = request("Metadata", 1, client="x" * 2000)
        for data, says in ((b"GET / HTTP/1.1\r\n\r\n", "it begins with"), (large, "above the limit of 1000")):
            with socket.create_connection(addresses(proxy.bootstrap)[0], timeout=SECONDS) as opened:
                opened.sendall(data)
                assert opened.recv(10) == b""
            assert says in proxy.control.status()["listeners"]["broker-1"]["last_refusal"]
        assert proxy.control.status()["listeners"]["broker-1"]["refused"] == 2


def test_a_version_that_the_proxy_cannot_read_is_passed_on_and_said(mock_bootstrap: str) -> None:
    with proxied(addresses(mock_bootstrap)[:1]) as proxy:
        proxy.control.add(RequestRule(id="r", action="hold", api=("Metadata",), topic="t"))
        frame = bytearray(request("Metadata", 1))
        frame[7] = 90
        with socket.create_connection(addresses(proxy.bootstrap)[0], timeout=SECONDS) as opened:
            opened.sendall(frame)
            assert proxy.control.wait("r", "unread", 1, SECONDS) == 1
        assert proxy.control.status()["listeners"]["broker-1"]["newer"] == {"Metadata 90": 1}


def test_a_broker_that_is_not_there() -> None:
    nobody = (HOST, free_ports(1)[0])
    with (
        proxied([nobody]) as proxy,
        socket.create_connection(addresses(proxy.bootstrap)[0], SECONDS) as opened,
    ):
        assert opened.recv(10) == b""
        assert proxy.control.status()["listeners"]["broker-1"]["unreachable"] == 1


def test_held_bytes_are_bounded(mock_bootstrap: str, mock_topic: str) -> None:
    """A client that goes on sending is read no further: what does not fit stays in its own socket."""
    limits = {"lane_bytes": 100_000, "budget_bytes": 150_000}
    with proxied(addresses(mock_bootstrap), **limits) as small:
        small.control.add(RequestRule(id="r", action="hold", api=("Produce",)))
        settings = {"batch.size": 40_000, "max.in.flight.requests.per.connection": 100}
        writer = Written(small, mock_topic, **settings)
        values = [b"%03d" % number + bytes(20_000) for number in range(100)]
        writer.send(*values)
        assert small.control.wait("r", "held", 2, SECONDS) >= 2
        time.sleep(1)
        assert small.control.status()["kept_bytes"] <= 150_000
        small.control.remove("r")
        assert writer.done() == {value: number for number, value in enumerate(values)}


def test_rules_that_the_proxy_refuses(proxy: Proxied, ruled: Any) -> None:
    ruled(action="hold")
    with pytest.raises(BadInput, match="of this id already"):
        ruled(action="drop")
    with pytest.raises(BadInput, match="no such rule"):
        proxy.control.remove("another")
    with pytest.raises(BadInput, match="no such counter"):
        proxy.control.wait("r", "colour", 1, 1)


def test_a_port_that_is_taken() -> None:
    port, control = free_ports(2)
    spec = ProxySpec((ListenerSpec("one", HOST, port, (HOST, 1), 1),), f"{HOST}:{control}")
    with socket.create_server((HOST, port)), pytest.raises(ClusterError) as refused:
        LocalProxy(spec).start()
    assert "address already in use" in str(refused.value)


def test_a_proxy_that_has_ended_is_an_error() -> None:
    port, control = free_ports(2)
    spec = ProxySpec((ListenerSpec("one", HOST, port, (HOST, 1), 1),), f"{HOST}:{control}")
    with LocalProxy(spec) as proxy:
        client = ProxyClient(lambda: SocketLine(spec.control), "the proxy of broker-1")
        assert client.status()["rules"] == {}
        proxy.stop()
        with pytest.raises(ClusterError, match="the proxy of broker-1 does not answer"):
            client.status()


def test_tokens_without_headers_pass_unread() -> None:
    """After SaslHandshake 0 the bytes of the mechanism follow, whatever they are (KIP-43)."""
    handshake = request("SaslHandshake", 0, correlation=3)
    answered = answer("SaslHandshake", 0, correlation=3)
    with socket.create_server((HOST, 0)) as broker, proxied([broker.getsockname()]) as proxy:
        with socket.create_connection(addresses(proxy.bootstrap)[0], SECONDS) as client:
            server, _ = broker.accept()
            with server:
                client.sendall(handshake)
                assert server.recv(1000) == handshake
                server.sendall(answered)
                assert client.recv(1000) == answered
                client.sendall(b"GET / token of the client")
                assert server.recv(1000) == b"GET / token of the client"
                server.sendall(b"\xff\xff\xff\xff token of the broker")
                assert client.recv(1000) == b"\xff\xff\xff\xff token of the broker"
        assert proxy.control.status()["listeners"]["broker-1"]["opaque"] == 1
