"""Every fault on real brokers: effect proved, heal proved, healing again harmless."""

from __future__ import annotations

import pytest

from faults import Kill, Partition, Pause, Stop
from faults.base import Scene
from faults.targets import Followers, Leader
from harness.cluster import Cluster
from harness.settled import settle

pytestmark = pytest.mark.chaos


def scene(cluster: Cluster, topic: str) -> Scene:
    return Scene(cluster, topic, session_seconds=4.0, tag=f"kafka-chaos-{topic[:30]}")


def leader_of(cluster: Cluster, topic: str) -> int:
    state = cluster.view((topic,)).partition(topic, 0)
    assert state is not None
    return state.leader


def test_kill_the_leader(cluster: Cluster, topic: str) -> None:
    old = leader_of(cluster, topic)
    injection = Kill(target=Leader(leader=0)).inject(scene(cluster, topic))
    evidence = injection.verify()
    assert evidence.seen, evidence.what
    assert evidence.facts["exit_codes"] == {old: 137}
    assert leader_of(cluster, topic) not in (old, -1)
    injection.heal()
    assert cluster.is_running(old)
    settle(cluster, topic, 1, 3, 60)
    injection.heal()
    settle(cluster, topic, 1, 3, 60)


def test_stop_the_leader(cluster: Cluster, topic: str) -> None:
    old = leader_of(cluster, topic)
    injection = Stop(target=Leader(leader=0)).inject(scene(cluster, topic))
    evidence = injection.verify()
    assert evidence.seen, evidence
    assert evidence.facts["leaders_before_exit"] not in ({0: old}, {0: None})
    injection.heal()
    settle(cluster, topic, 1, 3, 60)
    injection.heal()
    settle(cluster, topic, 1, 3, 60)


def test_a_killed_broker_was_not_stopped(cluster: Cluster, topic: str) -> None:
    old = leader_of(cluster, topic)
    injection = Stop(target=Leader(leader=0)).inject(scene(cluster, topic))
    cluster.kill(old)
    evidence = injection.verify()
    assert not evidence.seen, "the proof of a controlled shutdown must fail for a kill"
    injection.heal()
    settle(cluster, topic, 1, 3, 60)


def test_pause_the_leader(cluster: Cluster, topic: str) -> None:
    old = leader_of(cluster, topic)
    injection = Pause(target=Leader(leader=0)).inject(scene(cluster, topic))
    try:
        evidence = injection.verify()
        assert evidence.seen, evidence.what
        assert cluster.is_running(old)
    finally:
        injection.heal()
    assert not cluster.is_paused(old)
    injection.heal()
    settle(cluster, topic, 1, 3, 60)


def test_partition_the_leader_from_its_followers(cluster: Cluster, topic: str) -> None:
    injection = Partition(side=Leader(leader=0), other=Followers(followers=0)).inject(scene(cluster, topic))
    leader = leader_of(cluster, topic)
    try:
        evidence = injection.verify()
        assert evidence.seen, evidence.what
    finally:
        injection.heal()
    rules = cluster.in_network(leader, "iptables-save")
    assert "DROP" not in rules.text
    healed = injection.verify()
    assert not healed.seen, "with the rules gone, the proof must fail"
    injection.heal()
    settle(cluster, topic, 1, 3, 60)


def test_healing_removes_only_the_rules_with_its_tag(cluster: Cluster, topic: str) -> None:
    leader = leader_of(cluster, topic)
    cluster.in_network(leader, "iptables -A INPUT -s 192.0.2.1 -m comment --comment theirs -j DROP")
    try:
        injection = Partition(side=Leader(leader=0), other=Followers(followers=0)).inject(
            scene(cluster, topic)
        )
        injection.heal()
        rules = cluster.in_network(leader, "iptables-save").text
        assert "theirs" in rules
        assert scene(cluster, topic).tag not in rules
    finally:
        cluster.in_network(leader, "iptables -F INPUT")
