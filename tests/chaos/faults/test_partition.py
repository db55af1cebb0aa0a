"""Network cuts on real brokers: which way nothing passes, which way it does, and what Kafka makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from faults.network.partition_injection import Lost, halves
from faults.partition import Bridge, Partition, Ring
from faults.shared.fault_spec import FaultSpec, InjectionContext
from faults.targets import BrokerId, Clients, Controller, Followers, Leader, NodeIds, Target
from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.model.broker_views import PartitionState
from harness.model.polling import wait_until
from harness.spec.cluster import ClusterSpec
from tests.chaos.support.cluster_queries import (
    PATIENCE,
    answering,
    await_answers,
    leader_of,
    partition_state,
)
from tests.chaos.support.evidence import FaultTable
from tests.chaos.support.proof import Prove, proved

pytestmark = pytest.mark.chaos

LEADER, FOLLOWERS = Leader(leader=0), Followers(followers=0)
# One direction is cut by the same rules as the other: on real brokers the long tests look at the second.
LONG_WAYS = [pytest.param(way, marks=pytest.mark.soak) for way in ("from_to", "to_from")]
WAYS = ["both", LONG_WAYS[0], "to_from"]


def cut(side: Target, other: Target, lost: Lost = "both") -> Partition:
    return Partition(side=side, other=other, lost=lost)


def context(cluster: ManagedCluster, topic: str) -> InjectionContext:
    return InjectionContext(cluster, topic, session_seconds=4.0, tag=f"kafka-chaos-{topic[:30]}")


def await_state(
    cluster: ManagedCluster, topic: str, seconds: float, what: str, wanted: Callable[[PartitionState], bool]
) -> None:
    """Wait until the newest belief about partition 0 is as wanted."""

    def missing() -> str | None:
        state = cluster.view((topic,)).partition(topic, 0)
        return None if state is not None and wanted(state) else f"{state}"

    wait_until(missing, what=what, seconds=seconds, every=0.1)


def write_one(cluster: ManagedCluster, topic: str) -> None:
    """One record that only the leader has to take: a partition that nobody writes to keeps its ISR, since
    its followers are at the end of the log however long they hear nothing."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "1", "log_level": 0})
    producer.produce(topic, b"alone")
    assert producer.flush(PATIENCE) == 0


def rules_on(cluster: ManagedCluster, node: int) -> list[str]:
    """Every rule of ours in a node's namespace."""
    lines = cluster.in_network(node, "iptables-save -t filter").text.splitlines()
    return [line for line in lines if "kafka-chaos-" in line]


def ways(facts: dict[str, Any], name: str) -> set[str]:
    return set(facts[name])


def brokers(numbers: set[int], leader: int, *, outward: bool) -> set[str]:
    pairs = {(leader, other) if outward else (other, leader) for other in numbers}
    return {f"broker {one} to broker {two}" for one, two in pairs}


@pytest.mark.parametrize("lost", WAYS)
def test_leader_and_followers(cluster: ManagedCluster, topic: str, prove: Prove, lost: Lost) -> None:
    leader = leader_of(cluster, topic)
    others = set(cluster.broker_ids) - {leader}
    forth, back = (brokers(others, leader, outward=outward) for outward in (True, False))
    with prove(cut(LEADER, FOLLOWERS, lost)) as shown:
        facts = shown.facts
        assert facts["rules_on"] == [leader]
        assert ways(facts, "cut") == {"both": forth | back, "from_to": forth, "to_from": back}[lost]
        assert ways(facts, "open") == (forth | back) - ways(facts, "cut")
        assert all(way["dropped"] and not way["arrived"] for way in facts["cut"].values())
        assert all(way["arrived"] for way in facts["open"].values())
        rules = rules_on(cluster, leader)
        assert len(rules) == len(facts["cut"]), "nothing that counted for the proof is left"
        assert all("-j DROP" in rule for rule in rules)
        write_one(cluster, topic)
        await_state(cluster, topic, PATIENCE, "a lone leader", lambda state: state.isr == (leader,))
        assert leader_of(cluster, topic) == leader, "the controller hears the leader"


@pytest.mark.parametrize("lost", ["both", *LONG_WAYS])
def test_leader_and_controller(cluster: ManagedCluster, topic: str, prove: Prove, lost: Lost) -> None:
    leader = leader_of(cluster, topic)
    with prove(cut(LEADER, Controller(controller=True), lost)) as shown:
        assert shown.nodes == [leader, cluster.controller_ids[0]]
        await_state(
            cluster,
            topic,
            PATIENCE,
            "another leader, and an ISR without the old one",
            lambda state: state.leader not in (leader, -1) and leader not in state.isr,
        )


def test_follower_and_controller(cluster: ManagedCluster, topic: str, prove: Prove) -> None:
    leader = leader_of(cluster, topic)
    follower = min(set(cluster.broker_ids) - {leader})
    with prove(cut(BrokerId(broker=follower), Controller(controller=True))):
        await_state(
            cluster,
            topic,
            PATIENCE,
            "the same leader, and an ISR without the follower",
            lambda state: state.leader == leader and follower not in state.isr,
        )


@pytest.mark.parametrize("lost", ["both", *LONG_WAYS])
def test_broker_and_client(cluster: ManagedCluster, topic: str, prove: Prove, lost: Lost) -> None:
    leader = leader_of(cluster, topic)
    with prove(cut(LEADER, Clients(client=True), lost)) as shown:
        forth, back = f"broker {leader} to the client", f"the client to broker {leader}"
        lost_ways = {"both": {forth, back}, "from_to": {forth}, "to_from": {back}}[lost]
        assert ways(shown.facts, "cut") == lost_ways
        assert ways(shown.facts, "open") == {forth, back} - lost_ways
        await_answers(cluster, set(cluster.broker_ids) - {leader})
        assert leader not in answering(cluster)
        state = partition_state(cluster, topic)
        assert (state.leader, len(state.isr)) == (leader, 3), "between the brokers nothing is lost"


@pytest.mark.parametrize("lost", ["both", "from_to"])
def test_what_was_healed_is_not_cut(
    cluster: ManagedCluster, topic: str, lost: Lost, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = context(cluster, topic)
    injection = cut(LEADER, FOLLOWERS, lost).aim(at)
    injection.apply(at)
    try:
        assert injection.verify(at).seen
    finally:
        injection.heal(at)
    monkeypatch.setattr("faults.network.partition_injection.Cuts.proof_seconds", 0.0)
    assert not injection.verify(at).seen, "with the rules gone, the proof must fail"
    settle(cluster, topic, 1, 3, 60)


def test_a_cut_both_ways_is_not_one_way(
    cluster: ManagedCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faults.network.partition_injection.Cuts.proof_seconds", 0.0)
    at = context(cluster, topic)
    both = cut(LEADER, FOLLOWERS).aim(at)
    asked = cut(LEADER, FOLLOWERS, "from_to").aim(at)
    both.apply(at)
    try:
        evidence = asked.verify(at)
        assert not evidence.seen
        assert "nothing arrives, though this direction is not cut" in evidence.what
    finally:
        both.heal(at)
    settle(cluster, topic, 1, 3, 60)


def test_one_missing_rule_is_noticed(
    cluster: ManagedCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faults.network.partition_injection.Cuts.proof_seconds", 0.0)
    at = context(cluster, topic)
    whole = cut(LEADER, FOLLOWERS).aim(at)
    partial = whole.model_copy(update={"placed": whole.placed[:-1]})
    partial.apply(at)
    try:
        assert not whole.verify(at).seen
    finally:
        whole.heal(at)
    settle(cluster, topic, 1, 3, 60)


def test_applied_twice_is_one_set_of_rules(cluster: ManagedCluster, topic: str) -> None:
    at = context(cluster, topic)
    leader = leader_of(cluster, topic)
    injection = cut(LEADER, FOLLOWERS).aim(at)
    try:
        injection.apply(at)
        injection.apply(at)
        assert len(rules_on(cluster, leader)) == 4
    finally:
        injection.heal(at)
        injection.heal(at)
    assert not rules_on(cluster, leader)
    settle(cluster, topic, 1, 3, 60)


def test_healing_removes_only_the_rules_with_its_tag(cluster: ManagedCluster, topic: str) -> None:
    leader = leader_of(cluster, topic)
    at = context(cluster, topic)
    longer = f"{at.tag}0"
    for comment in ("theirs", f"{longer}/cut-1-2"):
        cluster.in_network(leader, f"iptables -A INPUT -s 192.0.2.1 -m comment --comment {comment} -j DROP")
    try:
        injection = cut(LEADER, FOLLOWERS).aim(at)
        injection.apply(at)
        injection.heal(at)
        rules = cluster.in_network(leader, "iptables-save").text
        assert "theirs" in rules
        assert longer in rules, "a tag that begins alike is another's"
        assert f"{at.tag}/" not in rules
    finally:
        cluster.in_network(leader, "iptables -F INPUT")


def test_a_cut_outlives_the_restart_of_the_broker_that_holds_it(cluster: ManagedCluster, topic: str) -> None:
    leader = leader_of(cluster, topic)
    follower = min(set(cluster.broker_ids) - {leader})
    rest = tuple(set(cluster.broker_ids) - {follower})
    at = context(cluster, topic)
    injection = cut(BrokerId(broker=follower), NodeIds(nodes=rest)).aim(at)
    again: list[bool] = []
    forget = cluster.on_start(lambda node: again.append(injection.restarted(at, node)))
    injection.apply(at)
    try:
        assert {placed.holder for placed in injection.placed} == {follower}
        cluster.kill(follower)
        await_state(cluster, topic, PATIENCE, "it left the ISR", lambda state: follower not in state.isr)
        cluster.start_node(follower)
        assert again == [True], "its rules had died with its namespace"
        assert not injection.restarted(at, follower), "now they are there"
        assert injection.verify(at).seen
        wait_until(
            lambda: None if follower in registered(cluster) else "it does not answer yet",
            what="the restarted broker answers",
            seconds=60,
        )
        assert injection.verify(at).seen
        assert follower not in partition_state(cluster, topic).isr, "it cannot fetch"
    finally:
        forget()
        injection.undo(at)
        cluster.start_node(follower)
        injection.healed(at)
    settle(cluster, topic, 1, 3, 60)


def registered(cluster: ManagedCluster) -> set[int]:
    """Brokers that answer and know all others."""
    return {seen.broker for seen in cluster.view(()).answered() if len(seen.brokers) == 3}


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagedCluster]:
    """Five brokers: with three all are neighbours."""
    folder: Path = tmp_path_factory.mktemp("five")
    with ManagedCluster(ClusterSpec(brokers=5), log_folder=folder) as started:
        yield started


@pytest.fixture
def wide(five: ManagedCluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A topic of one partition on all five, settled."""
    name = request.node.name.replace("[", "-").replace("]", "")[:60] + "-wide"
    five.admin().create(name, partitions=1, replication_factor=5, config={"min.insync.replicas": "2"})
    settle(five, name, 1, 5, 60)
    yield name
    settle(five, name, 1, 5, 90)
    five.admin().delete(name)


@pytest.fixture
def prove_on_five(
    five: ManagedCluster, request: pytest.FixtureRequest, fault_table: FaultTable
) -> Iterator[Prove]:
    # Of each test its own: a broker may still know the one that was deleted just before.
    name = f"narrow-{request.node.name[:60]}"
    five.admin().create(name, partitions=1, replication_factor=3, config={})
    settle(five, name, 1, 3, 60)
    yield lambda spec: proved(five, name, spec, fault_table)
    five.admin().delete(name)


@pytest.mark.soak
def test_in_a_ring_the_leaders_neighbours_stay(five: ManagedCluster, wide: str, prove_on_five: Prove) -> None:
    leader = leader_of(five, wide)
    neighbours = {leader % 5 + 1, (leader - 2) % 5 + 1}
    with prove_on_five(Ring()) as shown:
        assert len(shown.facts["cut"]) == 10
        write_one(five, wide)
        await_state(
            five,
            wide,
            PATIENCE,
            "the leader and its two neighbours in the ISR",
            lambda state: state.leader == leader and set(state.isr) == {leader, *neighbours},
        )


@pytest.mark.soak
def test_a_leader_keeps_its_half_and_the_bridge(
    five: ManagedCluster, wide: str, prove_on_five: Prove
) -> None:
    leader = leader_of(five, wide)
    over = leader % 5 + 1
    own = next(half for half in halves(five.broker_ids, {over}) if leader in half)
    with prove_on_five(Bridge(via=BrokerId(broker=over))) as shown:
        assert len(shown.facts["cut"]) == 8
        write_one(five, wide)
        await_state(
            five,
            wide,
            PATIENCE,
            "the leader's half and the bridge in the ISR",
            lambda state: state.leader == leader and set(state.isr) == {*own, over},
        )


@pytest.mark.soak
@pytest.mark.parametrize("spec", [Ring(), Bridge()])
def test_shapes_that_were_healed_are_gone(
    five: ManagedCluster, wide: str, spec: FaultSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faults.network.partition_injection.Cuts.proof_seconds", 0.0)
    at = context(five, wide)
    injection = spec.aim(at)
    injection.apply(at)
    injection.heal(at)
    assert not injection.verify(at).seen
