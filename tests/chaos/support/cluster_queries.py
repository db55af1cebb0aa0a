"""Short questions that several tests ask of a live cluster."""

from __future__ import annotations

from harness.cluster.live import LiveCluster


def leader_of(cluster: LiveCluster, topic: str, partition: int = 0) -> int:
    """The partition's leader; -1: none now."""
    state = cluster.view((topic,)).partition(topic, partition)
    assert state is not None
    return state.leader
