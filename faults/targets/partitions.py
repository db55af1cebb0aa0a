"""Targets that are the nodes of one partition of the experiment's topic."""

from __future__ import annotations

from pydantic import Field

from faults.targets.target_context import BaseTarget, ClusterShape, TargetContext, no_match
from harness.model.broker_views import PartitionState


class _OfPartition(BaseTarget):
    """Nodes of one partition of the topic under test."""

    @property
    def partition(self) -> int:
        """The value of the only field."""
        return int(getattr(self, next(iter(type(self).model_fields))))

    def refuse_impossible(self, shape: ClusterShape) -> None:
        if self.partition >= shape.partitions:
            raise ValueError(
                f"target `{self}` matches nothing: the topic has partitions 0 to {shape.partitions - 1}"
            )

    def state(self, snapshot: TargetContext) -> PartitionState:
        state = snapshot.view.partition(snapshot.topic, self.partition)
        if state is None or state.leader < 0:
            unknown = "no such partition" if snapshot.view.answered() else "no broker answered"
            raise no_match(
                f"leader of {snapshot.topic}-{self.partition}",
                "a partition with a leader",
                unknown if state is None else "no leader now",
                "inject the fault while the partition has a leader, or correct the partition number",
            )
        return state


class Leader(_OfPartition):
    """The leader of a partition."""

    fixed_count = (1, 1)
    leader: int = Field(ge=0, description="partition number")

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return frozenset({self.state(snapshot).leader})

    def fixed_nodes(self, shape: ClusterShape) -> frozenset[int] | None:
        return frozenset(shape.broker_ids) if shape.brokers == 1 else None


class Followers(_OfPartition):
    """Every replica of a partition except its leader, in the ISR or not."""

    followers: int = Field(ge=0, description="partition number")

    def refuse_impossible(self, shape: ClusterShape) -> None:
        super().refuse_impossible(shape)
        if shape.replication_factor == 1:
            raise ValueError(f"target `{self}` matches nothing: topic.replication_factor is 1")

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        state = self.state(snapshot)
        return frozenset(state.replicas) - {state.leader}

    def broker_count(self, shape: ClusterShape) -> tuple[int, int]:
        return 0, shape.replication_factor - 1


class Isr(_OfPartition):
    """The in-sync replicas of a partition, including its leader."""

    isr: int = Field(ge=0, description="partition number")

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return frozenset(self.state(snapshot).isr)

    def fixed_nodes(self, shape: ClusterShape) -> frozenset[int] | None:
        return frozenset(shape.broker_ids) if shape.brokers == 1 else None

    def broker_count(self, shape: ClusterShape) -> tuple[int, int]:
        return 1, shape.replication_factor


class OutOfSync(_OfPartition):
    """The replicas of a partition that are not in its ISR."""

    out_of_sync: int = Field(ge=0, description="partition number")

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        state = self.state(snapshot)
        return frozenset(state.replicas) - frozenset(state.isr)

    def broker_count(self, shape: ClusterShape) -> tuple[int, int]:
        return 0, shape.replication_factor - 1
