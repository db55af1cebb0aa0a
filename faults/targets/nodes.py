"""Targets that are nodes by what they are in the cluster, by id, or by the seed's choice."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pydantic import Field, model_validator

from faults.target_context import ClusterShape, TargetContext
from faults.targets.base import BaseTarget, nothing
from harness.model.frozen import Frozen
from harness.model.node_layout import CLIENT


def drawn(sight: TargetContext, nodes: Collection[int], count: int) -> frozenset[int]:
    """So many of these nodes, by the seed; none, if they are fewer."""
    return frozenset(sight.rng().sample(sorted(nodes), count) if count <= len(nodes) else ())


class Coordinates(Frozen):
    """What is coordinated: a consumer group or a transactional id."""

    group: str | None = Field(default=None, min_length=1)
    transactional_id: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _one(self) -> Coordinates:
        if (self.group is None) == (self.transactional_id is None):
            raise ValueError("a coordinator is that of either `group` or `transactional_id`")
        return self


class Coordinator(BaseTarget):
    """The coordinator of a consumer group or of a transactional id."""

    coordinator: Coordinates = Field(description="whose coordinator is meant")

    def choose(self, sight: TargetContext) -> frozenset[int]:
        of = self.coordinator
        found = sight.coordinator(of.group or of.transactional_id or "", transactional=of.group is None)
        return frozenset() if found is None else frozenset({found})

    def at_most(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return 1


class Controller(BaseTarget):
    """The active controller: the leader of the metadata quorum (KIP-595)."""

    controller: Literal[True]

    def choose(self, sight: TargetContext) -> frozenset[int]:
        active = sight.controller()
        return frozenset() if active is None else frozenset({active})

    def at_most(self, shape: ClusterShape) -> int:
        return 1 if shape.combined else 0


class Controllers(BaseTarget):
    """Every controller of the metadata quorum, active or not."""

    controllers: Literal[True]

    def choose(self, sight: TargetContext) -> frozenset[int]:
        return frozenset(sight.controllers)

    def at_most(self, shape: ClusterShape) -> int:
        return shape.brokers if shape.combined else 0

    def at_least(self, shape: ClusterShape) -> int:
        return self.at_most(shape)


class ZooKeeper(BaseTarget):
    """The ZooKeeper server, in a cluster that has one (`metadata: zookeeper`)."""

    zookeeper: Literal[True]

    def check(self, shape: ClusterShape) -> None:
        if not shape.zookeepers:
            raise ValueError(f"target `{self}` matches nothing: the cluster has controllers (KRaft)")

    def choose(self, sight: TargetContext) -> frozenset[int]:
        return frozenset(sight.zookeepers)

    def at_most(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return 0


class BrokerId(BaseTarget):
    """One broker by its id."""

    broker: int = Field(ge=1, description="broker id")

    def check(self, shape: ClusterShape) -> None:
        if self.broker not in shape.broker_ids:
            raise ValueError(f"target `{self}` matches nothing: the brokers are 1 to {shape.brokers}")

    def choose(self, sight: TargetContext) -> frozenset[int]:
        if self.broker not in sight.brokers:
            raise nothing(
                f"broker {self.broker}",
                f"one of {', '.join(map(str, sight.brokers))}",
                "",
                "name a broker that the cluster has",
            )
        return frozenset({self.broker})

    def at_most(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return 1

    def at_least(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return 1


class NodeIds(BaseTarget):
    """Nodes by id, brokers or controllers; what a replay writes in place of a choice."""

    nodes: tuple[int, ...] = Field(min_length=1, description="node ids; 0 stands for the client")

    def check(self, shape: ClusterShape) -> None:
        known = {CLIENT, *shape.broker_ids, *shape.controller_ids, *shape.zookeepers}
        if not set(self.nodes) <= known:
            raise ValueError(f"target `{self}` matches nothing: the nodes are {sorted(known - {CLIENT})}")

    def choose(self, sight: TargetContext) -> frozenset[int]:
        return frozenset(self.nodes) & {CLIENT, *sight.brokers, *sight.controllers, *sight.zookeepers}

    def at_most(self, shape: ClusterShape) -> int:
        return len(set(self.nodes) & set(shape.broker_ids))

    def at_least(self, shape: ClusterShape) -> int:
        return self.at_most(shape)

    def means_client(self) -> bool:
        return CLIENT in self.nodes


class RandomBrokers(BaseTarget):
    """Some brokers, chosen by the seed."""

    random: int = Field(ge=1, description="how many brokers")

    def check(self, shape: ClusterShape) -> None:
        if self.random > shape.brokers:
            raise ValueError(f"target `{self}` matches nothing: the cluster has {shape.brokers} broker(s)")

    def choose(self, sight: TargetContext) -> frozenset[int]:
        return drawn(sight, sight.brokers, self.random)

    def at_most(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return self.random

    def at_least(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return self.random


class Minority(BaseTarget):
    """As many brokers as can fail while a majority stays, chosen by the seed."""

    minority: Literal[True]

    def check(self, shape: ClusterShape) -> None:
        if shape.brokers < 3:
            raise ValueError(f"target `{self}` matches nothing: {shape.brokers} broker(s) have no minority")

    def choose(self, sight: TargetContext) -> frozenset[int]:
        size = (len(sight.brokers) - 1) // 2
        return frozenset(sight.rng().sample(sorted(sight.brokers), size))

    def at_most(self, shape: ClusterShape) -> int:
        return (shape.brokers - 1) // 2

    def at_least(self, shape: ClusterShape) -> int:
        return self.at_most(shape)


class Majority(BaseTarget):
    """More than half of the brokers, no more than needed; the minority of the same seed is the rest."""

    majority: Literal[True]

    def choose(self, sight: TargetContext) -> frozenset[int]:
        return frozenset(sight.brokers) - Minority(minority=True).choose(sight)

    def at_most(self, shape: ClusterShape) -> int:
        return shape.brokers - (shape.brokers - 1) // 2

    def at_least(self, shape: ClusterShape) -> int:
        return self.at_most(shape)


class All(BaseTarget):
    """Every broker."""

    all: Literal[True]

    def choose(self, sight: TargetContext) -> frozenset[int]:
        return frozenset(sight.brokers)

    def at_least(self, shape: ClusterShape) -> int:
        return shape.brokers


class Clients(BaseTarget):
    """The clients on the harness's machine, the harness's own questions to the brokers among them."""

    client: Literal[True]

    def choose(self, sight: TargetContext) -> frozenset[int]:  # noqa: ARG002
        return frozenset({CLIENT})

    def at_most(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return 0

    def means_client(self) -> bool:
        return True
