"""Connections that are held or refused: what is dropped, and what counts as proof."""

from __future__ import annotations

import pytest

from faults.client_traffic import (
    ConnectionsHeld,
    HoldConnections,
    client_ports,
    dropped_packets,
    judge_held,
)
from faults.connections import ConnectionsRefused, RefuseConnections, judge_opened, parse_opened
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeCluster, FakeCommandResult, context

pytestmark = pytest.mark.pure

SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3)
HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid"
# 2384 is 9092: two established connections, one that listens, one in TIME_WAIT, one to another listener.
TABLE = f"""{HEADER}
   0: 0100007F:2384 FE00000A:9C40 01 00000000:00000000 00:00000000 00000000  1000
   1: 00000000:2384 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000
   2: 0100007F:2384 FE00000A:9C41 06 00000000:00000000 00:00000000 00000000  1000
   3: 0100007F:2386 FE00000A:9C42 01 00000000:00000000 00:00000000 00000000  1000
{HEADER}
   0: 0000000000000000FFFF00000100007F:2384 0000000000000000FFFF0000FE00000A:9C43 01 00000000:00000000
"""


def hold(target: object = "all") -> HoldConnections:
    return HoldConnections.model_validate({"target": target})


def test_only_connections_that_are_open_now_are_meant() -> None:
    assert client_ports(TABLE) == (40000, 40003)
    assert client_ports(HEADER) == ()


def test_held_are_just_the_clients_ports_and_new_ones_pass() -> None:
    cluster = FakeCluster([quiet()], says=[FakeCommandResult(0, TABLE)])
    injection = hold({"leader": 0}).aim(context(cluster))
    assert injection.ports == {1: (40000, 40003)}
    cluster.scripts.clear()
    injection.apply(context(cluster))
    ((number, script),) = cluster.scripts
    assert number == 1
    assert script.splitlines()[-2:] == [
        f"put INPUT -p tcp -s 10.0.0.254 --sport {port} --dport 9092 "
        f"-m comment --comment tag-1/hold-{port} -j DROP"
        for port in (40000, 40003)
    ]
    assert ConnectionsHeld.model_validate_json(injection.model_dump_json()) == injection


def test_there_must_be_a_connection_to_hold() -> None:
    with pytest.raises(FaultError, match="there is no connection to hold"):
        hold({"leader": 0}).aim(context(FakeCluster([quiet()], says=[FakeCommandResult(0, HEADER)])))


def test_packets_are_counted_of_this_injection_alone() -> None:
    text = (
        '[7:400] -A INPUT -s 10.0.0.254/32 -m comment --comment "tag-1/hold-40000" -j DROP\n'
        '[5:300] -A INPUT -s 10.0.0.254/32 -m comment --comment "tag-1/hold-40003" -j DROP\n'
        '[9:300] -A INPUT -s 10.0.0.254/32 -m comment --comment "tag-12/hold-40003" -j DROP\n'
    )
    assert dropped_packets(text, "tag-1") == 12
    assert dropped_packets("", "tag-1") == 0


@pytest.mark.parametrize(
    ("counted", "answering", "why"),
    [
        ({1: 12}, {1, 2, 3}, ""),
        ({1: 0}, {1, 2, 3}, "no packet was dropped"),
        ({}, {1, 2, 3}, "no packet was dropped"),
        ({1: 12}, {2, 3}, "broker 1 answers no new connection"),
    ],
)
def test_old_ones_are_dropped_and_new_ones_answered(
    counted: dict[int, int], answering: set[int], why: str
) -> None:
    evidence = judge_held({1: (40000,)}, counted, answering)
    assert evidence.seen is not bool(why)
    assert why in evidence.what


@pytest.mark.parametrize("target", ["controller", "client"])
def test_only_brokers_have_connections_with_clients(target: str) -> None:
    with pytest.raises(ValueError, match="only brokers"):
        hold(target).warnings(SHAPE)
    assert hold().warnings(SHAPE)


def refuse(side: object, other: object) -> RefuseConnections:
    return RefuseConnections.model_validate({"from": side, "to": other})


def test_only_the_packet_that_opens_a_connection_is_dropped() -> None:
    cluster = FakeCluster([quiet()])
    injection = refuse({"broker": 1}, {"nodes": [1, 101]}).aim(context(cluster))
    assert (injection.side, injection.others) == ((1,), (101,))
    injection.apply(context(cluster))
    ((number, script),) = cluster.scripts
    assert number == 1
    assert script.splitlines()[-1] == (
        "put OUTPUT -p tcp -d 10.0.0.101 --syn -m comment --comment tag-1/cut-101 -j DROP"
    )
    assert ConnectionsRefused.model_validate_json(injection.model_dump_json()) == injection


def test_a_connection_that_is_made_refutes_it() -> None:
    assert parse_opened("listening 1.5\nopened 101\nread 2.0\n") == {101}
    assert judge_opened({1: set()}).seen
    evidence = judge_opened({1: set(), 2: {101}})
    assert not evidence.seen
    assert "broker 2 opened a connection to controller 101" in evidence.what
    assert not judge_opened({}).seen


def test_it_takes_two_sides_of_nodes() -> None:
    with pytest.raises(FaultError, match="two sides"):
        refuse({"broker": 1}, {"broker": 1}).aim(context(FakeCluster([quiet()])))
    with pytest.raises(ValueError, match="not the client"):
        refuse({"broker": 1}, "client").warnings(SHAPE)
    assert refuse({"broker": 1}, "controllers").warnings(SHAPE) == ()
