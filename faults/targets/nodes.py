"""Targets that are nodes by what they are in the cluster, by id, or by the seed's choice."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pydantic import Field, model_validator

from faults.target_context import ClusterShape, TargetContext
from faults.targets.base import BaseTarget, no_match
from harness.model.frozen import Frozen
from harness.model.node_layout import CLIENT


def draw_nodes(snapshot: TargetContext, nodes: Collection[int], count: int) -> frozenset[int]:
    """So many of these nodes, by the seed; none, if they are fewer."""
    return frozenset(snapshot.rng().sample(sorted(nodes), count) if count <= len(nodes) else ())


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

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        of = self.coordinator
        found = snapshot.coordinator(of.group or of.transactional_id or "", transactional=of.group is None)
        return frozenset() if found is None else frozenset({found})

    def max_brokers(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return 1


class Controller(BaseTarget):
    """The active controller: the leader of the metadata quorum (KIP-595)."""

    controller: Literal[True]

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        active = snapshot.controller()
        return frozenset() if active is None else frozenset({active})

    def max_brokers(self, shape: ClusterShape) -> int:
        return 1 if shape.combined else 0


class Controllers(BaseTarget):
    """Every controller of the metadata quorum, active or not."""

    controllers: Literal[True]

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return frozenset(snapshot.controllers)

    def max_brokers(self, shape: ClusterShape) -> int:
        return shape.brokers if shape.combined else 0

    def min_brokers(self, shape: ClusterShape) -> int:
        return self.max_brokers(shape)


class ZooKeeper(BaseTarget):
    """The ZooKeeper server, in a cluster that has one (`metadata: zookeeper`)."""

    zookeeper: Literal[True]

    def check(self, shape: ClusterShape) -> None:
        if not shape.zookeepers:
            raise ValueError(f"target `{self}` matches nothing: the cluster has controllers (KRaft)")

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return frozenset(snapshot.zookeepers)

    def max_brokers(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return 0


class BrokerId(BaseTarget):
    """One broker by its id."""

    broker: int = Field(ge=1, description="broker id")

    def check(self, shape: ClusterShape) -> None:
        if self.broker not in shape.broker_ids:
            raise ValueError(f"target `{self}` matches nothing: the brokers are 1 to {shape.brokers}")

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        if self.broker not in snapshot.brokers:
            raise no_match(
                f"broker {self.broker}",
                f"one of {', '.join(map(str, snapshot.brokers))}",
                "",
                "name a broker that the cluster has",
            )
        return frozenset({self.broker})

    def max_brokers(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return 1

    def min_brokers(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return 1


class NodeIds(BaseTarget):
    """Nodes by id, brokers or controllers; what a replay writes in place of a choice."""

    nodes: tuple[int, ...] = Field(min_length=1, description="node ids; 0 stands for the client")

    def check(self, shape: ClusterShape) -> None:
        known = {CLIENT, *shape.broker_ids, *shape.controller_ids, *shape.zookeepers}
        if not set(self.nodes) <= known:
            raise ValueError(f"target `{self}` matches nothing: the nodes are {sorted(known - {CLIENT})}")

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return frozenset(self.nodes) & {
            CLIENT,
            *snapshot.brokers,
            *snapshot.controllers,
            *snapshot.zookeepers,
        }

    def max_brokers(self, shape: ClusterShape) -> int:
        return len(set(self.nodes) & set(shape.broker_ids))

    def min_brokers(self, shape: ClusterShape) -> int:
        return self.max_brokers(shape)

    def may_include_client(self) -> bool:
        return CLIENT in self.nodes


class RandomBrokers(BaseTarget):
    """Some brokers, chosen by the seed."""

    random: int = Field(ge=1, description="how many brokers")

    def check(self, shape: ClusterShape) -> None:
        if self.random > shape.brokers:
            raise ValueError(f"target `{self}` matches nothing: the cluster has {shape.brokers} broker(s)")

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return draw_nodes(snapshot, snapshot.brokers, self.random)

    def max_brokers(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return self.random

    def min_brokers(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return self.random


class Minority(BaseTarget):
    """As many brokers as can fail while a majority stays, chosen by the seed."""

    minority: Literal[True]

    def check(self, shape: ClusterShape) -> None:
        if shape.brokers < 3:
            raise ValueError(f"target `{self}` matches nothing: {shape.brokers} broker(s) have no minority")

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        size = (len(snapshot.brokers) - 1) // 2
        return frozenset(snapshot.rng().sample(sorted(snapshot.brokers), size))

    def max_brokers(self, shape: ClusterShape) -> int:
        return (shape.brokers - 1) // 2

    def min_brokers(self, shape: ClusterShape) -> int:
        return self.max_brokers(shape)


class Majority(BaseTarget):
    """More than half of the brokers, no more than needed; the minority of the same seed is the rest."""

    majority: Literal[True]

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return frozenset(snapshot.brokers) - Minority(minority=True).choose(snapshot)

    def max_brokers(self, shape: ClusterShape) -> int:
        return shape.brokers - (shape.brokers - 1) // 2

    def min_brokers(self, shape: ClusterShape) -> int:
        return self.max_brokers(shape)


class All(BaseTarget):
    """Every broker."""

    all: Literal[True]

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return frozenset(snapshot.brokers)

    def min_brokers(self, shape: ClusterShape) -> int:
        return shape.brokers


class Clients(BaseTarget):
    """The clients on the harness's machine, the harness's own questions to the brokers among them."""

    client: Literal[True]

    def choose(self, snapshot: TargetContext) -> frozenset[int]:  # noqa: ARG002
        return frozenset({CLIENT})

    def max_brokers(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return 0

    def may_include_client(self) -> bool:
        return True
