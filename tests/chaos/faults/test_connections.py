"""Held and refused connections on real brokers: old ones and new ones fare differently."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from faults.client_traffic import HoldConnections
from faults.connections import RefuseConnections
from faults.shared.fault_spec import InjectionContext
from faults.targets import Leader
from harness.cluster.managed import ManagedCluster
from harness.cluster.protocol.connection import BrokerConnection
from harness.model.host.ports import HOST
from harness.model.polling import wait_until
from tests.chaos.support.cluster_queries import PATIENCE, await_answers, leader_of
from tests.chaos.support.proof import Prove

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
    connection = BrokerConnection(broker, HOST, port, timeout=5.0)
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
        await_answers(cluster, [leader])


def test_connections_over_which_nothing_is_sent_prove_nothing(
    cluster: ManagedCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = context(cluster, topic)
    leader = leader_of(cluster, topic)
    port = cluster.node(leader).host_port
    assert port is not None
    with BrokerConnection(leader, HOST, port, timeout=5.0) as idle:
        idle.metadata([topic])
        injection = HOLD.aim(at)
        injection.apply(at)
        injection.apply(at)
        try:
            with monkeypatch.context() as short:
                short.setattr("faults.client_traffic.ConnectionsHeld.proof_seconds", 0.0)
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
        # Its heartbeats go on: it is not fenced, though the session is over by now. A busy machine may have
        # stalled it for so long; then it is back as soon as its next heartbeat arrives.
        threading.Event().wait(5.0)
        wait_until(
            lambda: None if known_to_others(cluster, leader) else "it is fenced",
            what="the broker's heartbeats arrive",
            seconds=PATIENCE,
        )


def known_to_others(cluster: ManagedCluster, broker: int) -> bool:
    """Whether all others name it: a fenced broker is in nobody's metadata."""
    others = [seen.brokers for seen in cluster.view(()).answered() if seen.broker != broker]
    return bool(others) and all(broker in named for named in others)


def test_a_connection_that_is_made_is_noticed(
    cluster: ManagedCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faults.connections.ConnectionsRefused.proof_seconds", 0.0)
    injection = REFUSE.aim(context(cluster, topic))

    def unnoticed() -> str | None:
        evidence = injection.verify(context(cluster, topic))
        noticed = not evidence.seen and "opened a connection to controller 101" in evidence.what
        return None if noticed else evidence.what

    # One attempt is given up after 0.4 s, in which a busy machine may not have made the connection.
    wait_until(unnoticed, what="the connection is noticed", seconds=PATIENCE)
