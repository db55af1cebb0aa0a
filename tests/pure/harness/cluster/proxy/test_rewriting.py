"""Addresses of brokers in answers become those of the proxy."""

from __future__ import annotations

from typing import Any

import pytest

from harness.cluster.proxy import bodies
from harness.cluster.proxy.frames import RequestHead
from harness.cluster.proxy.rewriting import Addresses
from harness.model.kafka_protocol import API_KEYS
from tests.support.kafka_frames import answer

pytestmark = pytest.mark.pure

PROXIED = Addresses({1: ("127.0.0.1", 21001), 2: ("127.0.0.1", 21002)})
BROKERS = ({"node_id": 1, "host": "kafka-1", "port": 9092}, {"node_id": 7, "host": "kafka-7", "port": 9092})
EXPECTED = [(1, "127.0.0.1", 21001), (7, "kafka-7", 9092)]


def rewritten(api: str, version: int, **fields: Any) -> Any:
    key = API_KEYS[api]
    frame = PROXIED.rewritten(
        RequestHead(0, key, version, 3, "c", True), answer(api, version, correlation=3, **fields)
    )
    assert frame[4:8] == bytes((0, 0, 0, 3))
    return bodies.read_answer(key, version, frame)


def addresses(nodes: Any, identity: str = "node_id") -> list[tuple[int, str, int]]:
    return [(getattr(one, identity), one.host, one.port) for one in nodes]


@pytest.mark.parametrize("version", [0, 7, 12])
def test_metadata(version: int) -> None:
    assert addresses(rewritten("Metadata", version, brokers=BROKERS).brokers) == EXPECTED


def test_coordinators() -> None:
    found = rewritten("FindCoordinator", 1, node_id=2, host="kafka-2", port=9092)
    assert (found.host, found.port) == ("127.0.0.1", 21002)
    assert addresses(rewritten("FindCoordinator", 4, coordinators=BROKERS).coordinators) == EXPECTED


def test_describe_cluster() -> None:
    brokers = tuple(
        {"broker_id": one["node_id"], "host": one["host"], "port": one["port"]} for one in BROKERS
    )
    assert addresses(rewritten("DescribeCluster", 1, brokers=brokers).brokers, "broker_id") == EXPECTED


@pytest.mark.parametrize(("api", "version"), [("Produce", 10), ("Fetch", 16)])
def test_new_leaders_in_answers_to_produce_and_fetch(api: str, version: int) -> None:
    assert addresses(rewritten(api, version, node_endpoints=BROKERS).node_endpoints) == EXPECTED


def test_no_version_is_offered_that_the_proxy_cannot_read() -> None:
    offered = (
        {"api_key": 3, "max_version": 99},
        {"api_key": 0, "max_version": 5},
        {"api_key": 12, "max_version": 99},
    )
    found = rewritten("ApiVersions", 3, api_keys=offered).api_keys
    assert [one.max_version for one in found] == [bodies.newest_version(3), 5, 99]


def test_what_has_no_address_or_cannot_be_read_is_left_alone() -> None:
    heartbeat = answer("Heartbeat", 4)
    assert PROXIED.rewritten(RequestHead(0, 12, 4, 1, "c", True), heartbeat) is heartbeat
    assert PROXIED.rewritten(RequestHead(0, 18, 99, 1, "c", True), heartbeat) is heartbeat
