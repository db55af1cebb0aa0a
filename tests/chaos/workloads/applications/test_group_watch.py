"""The ends of an application's input, asked of real brokers whose leaders move."""

from __future__ import annotations

import pytest

from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.model.polling import poll_within
from tests.chaos.support.cluster_queries import PATIENCE, partition_state
from workloads.applications.group_watch import GroupWatch

pytestmark = [pytest.mark.chaos, pytest.mark.soak]


def test_ends_are_known_again_when_a_leader_has_moved(cluster: ManagedCluster, topic: str) -> None:
    watch = GroupWatch("g", topic, 1, bootstrap=cluster.bootstrap, security={}, transactional=False)
    assert poll_within(PATIENCE, lambda: None if watch.ends() == {0: 0} else "no end") is None
    before = partition_state(cluster, topic)
    cluster.kill(before.leader)
    try:

        def moved() -> str | None:
            now = cluster.view((topic,)).partition(topic, 0)
            return None if now is not None and now.leader_epoch > before.leader_epoch else "not moved"

        assert poll_within(60, moved) is None
    finally:
        cluster.start_node(before.leader)
        settle(cluster, topic, 1, 3, 60)
    # The client was told of the leader before.
    assert poll_within(PATIENCE, lambda: None if watch.ends() == {0: 0} else "no end") is None
    assert watch.describe_lag(0) is None
