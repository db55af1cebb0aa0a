"""Faults on the quality of links, on real brokers: what was asked is measured, and nothing of it is left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from faults.packets import Loss, PacketsLost, Reorder
from faults.shared.fault_spec import FaultSpec, Injection, InjectionContext
from faults.slow_links import Bandwidth, Jitter, Latency
from faults.targets import BrokerId, Clients, Controllers, Followers, Leader
from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.cluster.traces import traces
from harness.model.errors import FaultError
from harness.run.preflight import feasibility, kernel_probes
from tests.chaos.support.cluster_queries import leader_of
from tests.chaos.support.link_spoiler import spoilt
from tests.chaos.support.proof import Prove

pytestmark = pytest.mark.chaos

LEADER, FOLLOWERS = Leader(leader=0), Followers(followers=0)
NETEM = (
    Latency(target=LEADER, to=FOLLOWERS, delay_ms=100),
    Jitter(target=LEADER, to=FOLLOWERS, delay_ms=50, spread_ms=20),
    Reorder(target=LEADER, to=FOLLOWERS, percent=25),
)


def context(cluster: ManagedCluster, topic: str, name: str = "one") -> InjectionContext:
    return InjectionContext(cluster, topic, session_seconds=4.0, tag=f"kafka-chaos-{topic[:24]}-{name}")


@contextmanager
def opened(spec: FaultSpec, at: InjectionContext) -> Iterator[Injection]:
    """Applied for the body's time."""
    injection = spec.aim(at)
    try:
        injection.apply(at)
        yield injection
    finally:
        injection.heal(at)


def test_loss_from_the_leader_to_its_followers(cluster: ManagedCluster, topic: str, prove: Prove) -> None:
    with prove(Loss(target=LEADER, to=FOLLOWERS, percent=30)) as shown:
        assert len(shown.facts) == 1 + 2, "each round trip was measured"
        assert leader_of(cluster, topic) in shown.nodes


def test_loss_to_the_client_and_from_it(cluster: ManagedCluster, topic: str) -> None:
    at = context(cluster, topic)
    with opened(Loss(target=LEADER, to=Clients(client=True), percent=20, direction="both"), at) as injection:
        evidence = injection.verify(at)
        assert evidence.seen, evidence
        assert "36 % asked" in evidence.what


@pytest.mark.soak
def test_loss_is_put_in_again_after_a_restart(cluster: ManagedCluster, topic: str) -> None:
    at = context(cluster, topic)
    victim = next(one for one in cluster.broker_ids if one != leader_of(cluster, topic))
    with opened(Loss(target=LEADER, to=BrokerId(broker=victim), percent=40), at) as injection:
        cluster.kill(victim)
        cluster.start_node(victim)
        assert not injection.measure(at).seen  # type: ignore[attr-defined]
        assert injection.restarted(at, victim)
        assert not injection.restarted(at, victim)
        assert injection.verify(at).seen
    settle(cluster, topic, 1, 3, 60)


def test_a_network_that_loses_nothing_is_no_proof(cluster: ManagedCluster, topic: str) -> None:
    at = context(cluster, topic)
    asked = Loss(target=LEADER, percent=30).aim(at)
    evidence = asked.measure(at)
    assert not evidence.seen
    assert len(evidence.facts) == 4, "three nodes and the client"
    with opened(Loss(target=LEADER, percent=10), at):
        assert not asked.measure(at).seen, "less than asked is no proof either"
    asked.undo(at)
    assert traces(cluster) == []


def test_a_slow_link_from_the_leader_to_one_follower(
    cluster: ManagedCluster, topic: str, prove: Prove
) -> None:
    leader = leader_of(cluster, topic)
    follower = next(one for one in cluster.broker_ids if one != leader)
    with prove(Bandwidth(target=LEADER, to=BrokerId(broker=follower), rate="2mbit")) as shown:
        seen = shown.facts[f"broker {leader}"]
        assert seen["class_mbit"] == pytest.approx(2, rel=0.25)
        assert seen["spared_mbit"] > seen["class_mbit"]


def test_a_link_that_is_not_slow_is_no_proof(cluster: ManagedCluster, topic: str) -> None:
    at = context(cluster, topic)
    asked = Bandwidth(target=LEADER, to=FOLLOWERS, rate="2mbit").aim(at)
    evidence = asked.measure(at)
    assert not evidence.seen
    assert "2 asked" in evidence.what
    with opened(Bandwidth(target=LEADER, to=FOLLOWERS, rate="1mbit"), at):
        assert not asked.measure(at).seen, "slower than asked is no proof either"
    assert traces(cluster) == []


@pytest.mark.soak
def test_two_faults_shape_different_links_of_one_node(cluster: ManagedCluster, topic: str) -> None:
    one, two = context(cluster, topic, "one"), context(cluster, topic, "two")
    slow = Bandwidth(target=LEADER, to=FOLLOWERS, rate="2mbit")
    with opened(slow, one) as first:
        with opened(
            Bandwidth(target=LEADER, to=Controllers(controllers=True), rate="512kbit"), two
        ) as second:
            first.apply(one)
            for injection, at in ((first, one), (second, two)):
                evidence = injection.verify(at)
                assert evidence.seen, evidence
        assert first.verify(one).seen, "the other one has taken only its own away"
        with pytest.raises(FaultError, match="shaped by another fault"), opened(slow, two):
            pass
        assert first.verify(one).seen
    assert traces(cluster) == []
    first.undo(one)


@pytest.mark.soak
def test_a_slow_link_is_made_again_after_a_restart(cluster: ManagedCluster, topic: str) -> None:
    at = context(cluster, topic)
    victim = next(one for one in cluster.broker_ids if one != leader_of(cluster, topic))
    with opened(Bandwidth(target=BrokerId(broker=victim), rate="5mbit"), at) as injection:
        cluster.kill(victim)
        injection.undo(at)
        cluster.start_node(victim)
        assert injection.restarted(at, victim)
        assert not injection.restarted(at, victim)
        evidence = injection.verify(at)
        assert evidence.seen, evidence
    settle(cluster, topic, 1, 3, 60)


@pytest.mark.soak
def test_loss_and_a_slow_link_go_together(cluster: ManagedCluster, topic: str) -> None:
    one, two = context(cluster, topic, "one"), context(cluster, topic, "two")
    with (
        opened(Loss(target=LEADER, to=FOLLOWERS, percent=10), one) as lossy,
        opened(Bandwidth(target=LEADER, to=FOLLOWERS, rate="4mbit"), two) as slow,
    ):
        assert isinstance(lossy, PacketsLost)
        for injection, at in ((lossy, one), (slow, two)):
            evidence = injection.verify(at)
            assert evidence.seen, evidence
    assert traces(cluster) == []


@pytest.mark.parametrize("spec", NETEM, ids=lambda spec: spec.name())
def test_netem(cluster: ManagedCluster, topic: str, prove: Prove, spec: FaultSpec) -> None:  # noqa: ARG001
    missing = feasibility.unmet_needs(spec.needs, kernel_probes.kernel_capabilities())
    if missing:
        pytest.skip(f"not possible on this kernel: {'; '.join(missing)}")
    with prove(spec) as shown:
        assert len(shown.nodes) == 3


@pytest.mark.parametrize("spec", NETEM, ids=lambda spec: spec.name())
def test_an_untouched_link_is_not_what_netem_makes(
    cluster: ManagedCluster, topic: str, spec: FaultSpec
) -> None:
    at = context(cluster, topic)
    evidence = spec.aim(at).measure(at)  # type: ignore[attr-defined]
    assert not evidence.seen, evidence


@pytest.mark.soak
def test_proofs_of_netem_pass_where_echoes_are_spoilt(cluster: ManagedCluster, topic: str) -> None:
    here = leader_of(cluster, topic)
    there = next(one for one in cluster.broker_ids if one != here)
    at, to = context(cluster, topic), BrokerId(broker=there)
    late = Latency(target=LEADER, to=to, delay_ms=100).aim(at)
    mixed = Reorder(target=LEADER, to=to, percent=25, delay_ms=30).aim(at)
    with spoilt(cluster, here, there, delay_ms=100):
        assert late.verify(at).seen
        assert not mixed.measure(at).seen
    with spoilt(cluster, here, there, delay_ms=30, reorder=25):
        assert mixed.verify(at).seen
    with spoilt(cluster, here, there, copies=20):
        assert not late.measure(at).seen
    assert traces(cluster) == []
