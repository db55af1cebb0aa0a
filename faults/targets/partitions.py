"""Targets that are the nodes of one partition of the experiment's topic."""

from __future__ import annotations

from abc import abstractmethod

from pydantic import Field

from faults.target_context import ClusterShape, TargetContext
from faults.targets.base import BaseTarget, no_match
from harness.model.broker_views import PartitionState


class _OfPartition(BaseTarget):
    """Nodes of one partition of the topic under test."""

    @property
    @abstractmethod
    def partition(self) -> int: ...

    def check(self, shape: ClusterShape) -> None:
        if self.partition >= shape.partitions:
            raise ValueError(
                f"target `{self}` matches nothing: the topic has partitions 0 to {shape.partitions - 1}"
            )

    def state(self, snapshot: TargetContext) -> PartitionState:
        state = snapshot.view.partition(snapshot.topic, self.partition)
        if state is None or state.leader < 0:
            raise no_match(
                f"leader of {snapshot.topic}-{self.partition}",
                "a partition with a leader",
                "no such partition" if state is None else "no leader now",
                "inject this fault when the partition has a leader, or correct the partition's number",
            )
        return state


class Leader(_OfPartition):
    """The leader of a partition."""

    leader: int = Field(ge=0, description="partition whose leader is meant")

    @property
    def partition(self) -> int:
        return self.leader

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return frozenset({self.state(snapshot).leader})

    def max_brokers(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return 1

    def min_brokers(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return 1


class Followers(_OfPartition):
    """Every replica of a partition but its leader, in the ISR or not."""

    followers: int = Field(ge=0, description="partition whose followers are meant")

    @property
    def partition(self) -> int:
        return self.followers

    def check(self, shape: ClusterShape) -> None:
        super().check(shape)
        if shape.replication_factor == 1:
            raise ValueError(f"target `{self}` matches nothing: topic.replication_factor is 1")

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        state = self.state(snapshot)
        return frozenset(state.replicas) - {state.leader}

    def max_brokers(self, shape: ClusterShape) -> int:
        return shape.replication_factor - 1


class Isr(_OfPartition):
    """The in-sync replicas of a partition, its leader among them."""

    isr: int = Field(ge=0, description="partition whose ISR is meant")

    @property
    def partition(self) -> int:
        return self.isr

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return frozenset(self.state(snapshot).isr)

    def max_brokers(self, shape: ClusterShape) -> int:
        return shape.replication_factor

    def min_brokers(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return 1


class OutOfSync(_OfPartition):
    """The replicas of a partition that are not in its ISR."""

    out_of_sync: int = Field(ge=0, description="partition whose lagging replicas are meant")

    @property
    def partition(self) -> int:
        return self.out_of_sync

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        state = self.state(snapshot)
        return frozenset(state.replicas) - frozenset(state.isr)

    def max_brokers(self, shape: ClusterShape) -> int:
        return shape.replication_factor - 1
