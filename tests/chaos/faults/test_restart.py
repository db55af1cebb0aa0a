"""A rolling restart on real brokers: each process anew, one at a time, and no half of one left behind."""

from __future__ import annotations

import threading
import time

import pytest

from faults.restart import _EXIT_SECONDS, Restart, _times
from faults.shared.fault_spec import InjectionContext
from faults.targets import AnyOf, BrokerId, Leader
from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.model.errors import FaultError
from harness.model.polling import wait_until
from tests.chaos.support.cluster_queries import PATIENCE, leader_of
from tests.chaos.support.proof import Prove

pytestmark = pytest.mark.chaos


def context(cluster: ManagedCluster, topic: str) -> InjectionContext:
    return InjectionContext(cluster, topic, session_seconds=4.0, tag=f"kafka-chaos-{topic[:30]}")


def test_restart_every_broker(cluster: ManagedCluster, topic: str, prove: Prove) -> None:
    before = {node: cluster.started_ns(node) for node in cluster.broker_ids}
    with prove(Restart()) as shown:
        after = {node: cluster.started_ns(node) for node in cluster.broker_ids}
        assert all(after[node] > before[node] for node in before)
        assert sorted(after, key=lambda node: after[node]) == [1, 2, 3]
        # Who led at first may lead again by now; the epoch tells.
        assert leader_of(cluster, topic) != -1
        epochs = shown.facts["leader_epochs"]
        assert epochs["now"]["0"] > epochs["before"]["0"]


def test_restart_by_kill(cluster: ManagedCluster, topic: str) -> None:
    at = context(cluster, topic)
    leader = leader_of(cluster, topic)
    injection = Restart(target=Leader(leader=0), how="kill").aim(at)
    assert "has not been restarted" in injection.verify(at).what
    injection.apply(at)
    evidence = injection.verify(at)
    assert evidence.seen, evidence.what
    assert leader_of(cluster, topic) != leader
    started = cluster.started_ns(leader)
    injection.apply(at)
    assert cluster.started_ns(leader) == started, "who was restarted is not restarted again"
    injection.heal(at)
    settle(cluster, topic, 1, 3, 60)


def test_brokers_that_are_down_together_are_no_rolling_restart(cluster: ManagedCluster, topic: str) -> None:
    at = context(cluster, topic)
    followers = sorted({1, 2, 3} - {leader_of(cluster, topic)})
    two = AnyOf.model_validate({"any": [{"broker": node} for node in followers]})
    injection = Restart(target=two).aim(at)
    for node in followers:
        cluster.kill(node)
    for node in followers:
        cluster.start_node(node)
    assert "had started again" in injection.verify(at).what
    injection.heal(at)
    settle(cluster, topic, 1, 3, 60)


def test_a_restart_is_taken_back_half_way(cluster: ManagedCluster, topic: str) -> None:
    at = context(cluster, topic)
    first, second, third = (cluster.started_ns(node) for node in (1, 2, 3))
    injection = Restart().aim(at)
    raised: list[FaultError] = []

    def apply() -> None:
        try:
            injection.apply(at)
        except FaultError as error:
            raised.append(error)

    thread = threading.Thread(target=apply)
    thread.start()
    wait_until(
        lambda: None if cluster.started_ns(1) > first else "not yet",
        what="broker 1 restarts",
        seconds=3 * PATIENCE,
    )
    injection.heal(at)
    thread.join(2 * PATIENCE)
    assert not thread.is_alive()
    assert "undone" in str(raised[0])
    assert (cluster.started_ns(2), cluster.started_ns(3)) == (second, third)
    assert not injection.verify(at).seen
    settle(cluster, topic, 1, 3, 60)


def test_a_node_on_its_way_down_is_started_once_it_is_gone(cluster: ManagedCluster, topic: str) -> None:
    """What a harness leaves that was killed just after the SIGTERM: another process, with the JSON alone."""
    at = context(cluster, topic)
    injection = Restart(target=BrokerId(broker=2)).aim(at)
    started = cluster.started_ns(2)
    cluster.terminate(2)
    time.sleep(0.05)
    type(injection).model_validate_json(injection.model_dump_json()).heal(at)
    ended, started_again = _times(at, 2)
    assert started < ended <= started_again
    assert started_again - ended < _EXIT_SECONDS * 1e9, "its end was noticed before the wait timed out"
    settle(cluster, topic, 1, 3, 60)
