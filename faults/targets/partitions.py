"""Targets that are the nodes of one partition of the experiment's topic."""

from __future__ import annotations

from abc import abstractmethod

from pydantic import Field

from faults.target_context import ClusterShape, TargetContext
from faults.targets.base import BaseTarget, nothing
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

    def state(self, sight: TargetContext) -> PartitionState:
        state = sight.view.partition(sight.topic, self.partition)
        if state is None or state.leader < 0:
            raise nothing(
                f"leader of {sight.topic}-{self.partition}",
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

    def choose(self, sight: TargetContext) -> frozenset[int]:
        return frozenset({self.state(sight).leader})

    def at_most(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return 1

    def at_least(self, shape: ClusterShape) -> int:  # noqa: ARG002
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

    def choose(self, sight: TargetContext) -> frozenset[int]:
        state = self.state(sight)
        return frozenset(state.replicas) - {state.leader}

    def at_most(self, shape: ClusterShape) -> int:
        return shape.replication_factor - 1


class Isr(_OfPartition):
    """The in-sync replicas of a partition, its leader among them."""

    isr: int = Field(ge=0, description="partition whose ISR is meant")

    @property
    def partition(self) -> int:
        return self.isr

    def choose(self, sight: TargetContext) -> frozenset[int]:
        return frozenset(self.state(sight).isr)

    def at_most(self, shape: ClusterShape) -> int:
        return shape.replication_factor

    def at_least(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return 1


class OutOfSync(_OfPartition):
    """The replicas of a partition that are not in its ISR."""

    out_of_sync: int = Field(ge=0, description="partition whose lagging replicas are meant")

    @property
    def partition(self) -> int:
        return self.out_of_sync

    def choose(self, sight: TargetContext) -> frozenset[int]:
        state = self.state(sight)
        return frozenset(state.replicas) - frozenset(state.isr)

    def at_most(self, shape: ClusterShape) -> int:
        return shape.replication_factor - 1
