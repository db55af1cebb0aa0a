"""Host names that resolve wrongly in real containers: seen there, and by brokers that connect again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from faults.dns import NOBODY, Dns
from faults.shared.fault_spec import InjectionContext
from faults.targets import BrokerId, Followers, Leader
from harness.cluster.managed import ManagedCluster
from harness.model.polling import wait_until
from tests.chaos.support.cluster_queries import PATIENCE, await_answers, partition_state
from tests.chaos.support.proof import Prove

pytestmark = pytest.mark.chaos


def context(cluster: ManagedCluster, topic: str) -> InjectionContext:
    return InjectionContext(cluster, topic, session_seconds=4.0, tag=f"kafka-chaos-{topic[:30]}", seed="7")


def resolved(cluster: ManagedCluster, node: int, name: str) -> str:
    return cluster.in_node(node, f"timeout 3 getent hosts {name} | cut -d' ' -f1").text.strip()


def test_a_name_resolves_to_a_wrong_address(
    cluster: ManagedCluster, topic: str, prove: Prove, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, other, third = partition_state(cluster, topic).replicas
    fault = Dns(target=BrokerId(broker=other), of=Leader(leader=0))
    with monkeypatch.context() as short:
        short.setattr("faults.dns.NamesChanged.proof_seconds", 0.5)
        unasked = fault.aim(context(cluster, topic)).verify(context(cluster, topic))
    assert f"still resolves broker-{leader} to {cluster.address(leader)}" in unasked.what
    with prove(fault) as shown:
        assert f"resolves to {NOBODY}: broker-{leader}" in shown.what
        assert resolved(cluster, other, f"broker-{leader}") == NOBODY
        assert resolved(cluster, other, f"broker-{third}") == cluster.address(third)
        assert resolved(cluster, third, f"broker-{leader}") == cluster.address(leader)
    assert resolved(cluster, other, f"broker-{leader}") == cluster.address(leader)


def test_no_name_resolves(cluster: ManagedCluster, topic: str, prove: Prove) -> None:
    node = partition_state(cluster, topic).replicas[1]
    with prove(Dns(target=BrokerId(broker=node), answer="none")) as shown:
        assert "resolves no name" in shown.what
        assert resolved(cluster, node, "controller-101") == ""


@pytest.mark.soak
def test_a_follower_that_restarts_does_not_find_its_leader(cluster: ManagedCluster, topic: str) -> None:
    leader, node, spared = partition_state(cluster, topic).replicas
    at = context(cluster, topic)
    injection = Dns(target=Followers(followers=0), of=Leader(leader=0)).aim(at)
    injection = injection.model_copy(update={"numbers": (node,)})
    injection.apply(at)
    for number in (node, spared):
        cluster.kill(number)
    _until(cluster, topic, lambda isr: isr == {leader}, "the leader alone")
    cluster.start_node(node)
    assert injection.restarted(at, node), "Docker has written its hosts file anew"
    cluster.start_node(spared)
    # The control beside it: a broker that resolves names catches up.
    _until(cluster, topic, lambda isr: spared in isr, f"broker {spared} in the ISR")
    await_answers(cluster, {node})
    assert node not in partition_state(cluster, topic).isr
    assert injection.verify(at).seen
    injection.heal(at)
    _until(cluster, topic, lambda isr: isr == {leader, node, spared}, "the full ISR")


def _until(cluster: ManagedCluster, topic: str, true: Callable[[set[int]], bool], what: str) -> None:
    wait_until(
        lambda: None if true(isr := set(partition_state(cluster, topic).isr)) else f"ISR {sorted(isr)}",
        what=what,
        seconds=2 * PATIENCE,
    )
