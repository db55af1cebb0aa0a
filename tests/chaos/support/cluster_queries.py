"""Short questions that several tests ask of a live cluster, and of one that is slow to answer."""

from __future__ import annotations

from collections.abc import Collection

from harness.cluster.live import LiveCluster
from harness.model.broker_views import PartitionState
from harness.model.polling import wait_until

PATIENCE = 60.0
"""Seconds that a busy machine may need for what otherwise takes a moment."""


def partition_state(cluster: LiveCluster, topic: str, partition: int = 0) -> PartitionState:
    """The newest belief about a partition, as soon as a broker tells one: on a busy machine no broker may
    answer in time once."""
    found: list[PartitionState | None] = []

    def missing() -> str | None:
        found[:] = [cluster.view((topic,)).partition(topic, partition)]
        return "no broker tells" if found[0] is None else None

    wait_until(missing, what=f"a broker knows partition {partition} of {topic}", seconds=PATIENCE)
    assert found[0] is not None
    return found[0]


def leader_of(cluster: LiveCluster, topic: str, partition: int = 0) -> int:
    """The partition's leader; -1: none now."""
    return partition_state(cluster, topic, partition).leader


def await_another_leader(cluster: LiveCluster, topic: str, old: int) -> None:
    """Wait until partition 0 is led, and not by this broker."""
    wait_until(
        lambda: None if (now := leader_of(cluster, topic)) not in (old, -1) else f"leader {now}",
        what=f"another leader than broker {old}",
        seconds=PATIENCE,
    )


def await_answers(cluster: LiveCluster, brokers: Collection[int]) -> None:
    """Wait until each of these brokers answers a request."""
    wait_until(
        lambda: str(sorted(silent)) if (silent := set(brokers) - answering(cluster)) else None,
        what=f"answers of brokers {sorted(brokers)}",
        seconds=PATIENCE,
    )


def answering(cluster: LiveCluster) -> set[int]:
    """The brokers that answer a request now."""
    return {seen.broker for seen in cluster.view(()).answered()}
