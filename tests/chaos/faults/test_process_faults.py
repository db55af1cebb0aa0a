"""Faults on a broker's process: effect proved, healed by another process, healing again harmless."""

from __future__ import annotations

import pytest

from faults import Kill, Pause, Stop
from faults.shared.fault_spec import InjectionContext
from faults.targets import Leader
from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from tests.chaos.support.cluster_queries import await_another_leader, leader_of
from tests.chaos.support.proof import Prove

pytestmark = pytest.mark.chaos

LEADER = Leader(leader=0)


def context(cluster: ManagedCluster, topic: str) -> InjectionContext:
    return InjectionContext(cluster, topic, session_seconds=4.0, tag=f"kafka-chaos-{topic[:30]}")


def test_kill_the_leader(cluster: ManagedCluster, topic: str, prove: Prove) -> None:
    old = leader_of(cluster, topic)
    with prove(Kill(target=LEADER)) as shown:
        assert shown.nodes == [old]
        assert shown.facts["exit_codes"] == {str(old): 137}
        await_another_leader(cluster, topic, old)
    assert cluster.is_running(old)


def test_stop_the_leader(cluster: ManagedCluster, topic: str, prove: Prove) -> None:
    old = leader_of(cluster, topic)
    with prove(Stop(target=LEADER)) as shown:
        assert shown.facts["leaders_before_exit"]["0"] not in (old, None)


def test_a_killed_broker_was_not_stopped(cluster: ManagedCluster, topic: str) -> None:
    old = leader_of(cluster, topic)
    at = context(cluster, topic)
    injection = Stop(target=LEADER).aim(at)
    cluster.kill(old)
    assert not injection.verify(at).seen, "the proof of a controlled shutdown must fail for a kill"
    injection.heal(at)
    settle(cluster, topic, 1, 3, 60)


def test_pause_the_leader(cluster: ManagedCluster, topic: str, prove: Prove) -> None:
    old = leader_of(cluster, topic)
    with prove(Pause(target=LEADER)) as shown:
        assert shown.nodes == [old]
        assert cluster.is_running(old)
        assert cluster.is_paused(old)
    assert not cluster.is_paused(old)


def test_a_broker_that_was_thawed_is_not_paused(cluster: ManagedCluster, topic: str) -> None:
    at = context(cluster, topic)
    injection = Pause(target=LEADER).aim(at)
    injection.apply(at)
    injection.heal(at)
    assert not injection.verify(at).seen
