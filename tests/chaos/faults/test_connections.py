"""Held and refused connections on real brokers: old ones and new ones fare differently."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from faults.hold_connections import HoldConnections
from faults.refuse_connections import RefuseConnections
from faults.shared.base import InjectionContext
from faults.targets import Leader
from harness.cluster.managed import ManagedCluster
from harness.host.ports import HOST
from harness.protocol.connection import BrokerConnection
from tests.chaos.conftest import Prove
from tests.chaos.support.cluster_queries import leader_of

pytestmark = pytest.mark.chaos

HOLD = HoldConnections(target=Leader(leader=0))
REFUSE = RefuseConnections.model_validate({"from": {"leader": 0}, "to": "controllers"})


def context(cluster: ManagedCluster, topic: str) -> InjectionContext:
    return InjectionContext(cluster, topic, session_seconds=4.0, tag=f"kafka-chaos-{topic[:30]}")


@contextmanager
def asking(cluster: ManagedCluster, broker: int, topic: str) -> Iterator[BrokerConnection]:
    """A client that asks a broker all the time, a connection after the other where one does not answer."""
    port = cluster.node(broker).host_port
    assert port is not None
    over = threading.Event()
    connection = BrokerConnection(broker, HOST, port, timeout=1.0)
    connection.metadata([topic])

    def ask() -> None:
        while not over.wait(0.05):
            try:
                connection.metadata([topic])
            except OSError:
                continue

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    try:
        yield connection
    finally:
        over.set()
        thread.join()
        connection.close()


def test_open_connections_are_held_and_new_ones_are_answered(
    cluster: ManagedCluster, topic: str, prove: Prove
) -> None:
    leader = leader_of(cluster, topic)
    with asking(cluster, leader, topic), prove(HOLD) as shown:
        saw = shown.facts[f"broker {leader}"]
        assert saw["held"]
        assert saw["dropped"]
        assert leader in {seen.broker for seen in cluster.view((topic,)).answered()}


def test_connections_over_which_nothing_is_sent_prove_nothing(
    cluster: ManagedCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faults.hold_connections.ConnectionsHeld.proof_seconds", 0.0)
    at = context(cluster, topic)
    leader = leader_of(cluster, topic)
    port = cluster.node(leader).host_port
    assert port is not None
    with BrokerConnection(leader, HOST, port) as idle:
        idle.metadata([topic])
        injection = HOLD.aim(at)
        injection.apply(at)
        injection.apply(at)
        try:
            evidence = injection.verify(at)
            assert not evidence.seen
            assert "no packet was dropped" in evidence.what
            with pytest.raises(OSError, match="timed out"):
                idle.metadata([topic])
            assert injection.verify(at).seen
        finally:
            injection.heal(at)
        # Over a new connection; the old one was given up.
        idle.metadata([topic])


def test_no_new_connection_is_made_and_the_broker_lives_on(
    cluster: ManagedCluster, topic: str, prove: Prove
) -> None:
    leader = leader_of(cluster, topic)
    with prove(REFUSE) as shown:
        assert shown.facts[f"broker {leader}"] == {"opened": []}
        # Its heartbeats go on: it is not fenced, though the session is over by now.
        threading.Event().wait(5.0)
        assert leader_of(cluster, topic) == leader


def test_a_connection_that_is_made_is_noticed(
    cluster: ManagedCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faults.refuse_connections.ConnectionsRefused.proof_seconds", 0.0)
    injection = REFUSE.aim(context(cluster, topic))
    evidence = injection.verify(context(cluster, topic))
    assert not evidence.seen
    assert "opened a connection to controller 101" in evidence.what
