"""Targets that are nodes by their role in the cluster, by id, or chosen by the seed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import Field, model_validator

from faults.targets.target_context import BaseTarget, Beside, ClusterShape, TargetContext, no_match
from harness.model.frozen import Frozen
from harness.model.node_layout import CLIENT, FIRST_APPLICATION_ID
from harness.model.polling import poll_within


def draw_nodes(snapshot: TargetContext, nodes: Collection[int], count: int) -> frozenset[int]:
    """`count` of these nodes, chosen by the seed; none, if there are fewer."""
    return frozenset(snapshot.rng().sample(sorted(nodes), count) if count <= len(nodes) else ())


class Coordinates(Frozen):
    """A consumer group or share group, a transactional id, or the state of a share group in a partition."""

    group: str | None = Field(default=None, min_length=1)
    transactional_id: str | None = Field(default=None, min_length=1)
    share_state: str | None = Field(
        default=None, min_length=1, description="a share group: who stores its state (KIP-932)"
    )
    partition: int | None = Field(
        default=None, ge=0, description="of the topic, for `share_state`; default: 0"
    )

    @model_validator(mode="after")
    def _one(self) -> Coordinates:
        if sum(name is not None for name in (self.group, self.transactional_id, self.share_state)) != 1:
            raise ValueError("name either `group` or `transactional_id` or `share_state`")
        if self.partition is not None and self.share_state is None:
            raise ValueError("`partition` is for `share_state` alone")
        return self


class Coordinator(BaseTarget):
    """The coordinator of a group or of a transactional id, or the share coordinator of a share group."""

    fixed_count = (0, 1)
    coordinator: Coordinates = Field(description="the group or transactional id")

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        of, cluster = self.coordinator, snapshot.cluster
        group = of.share_state or of.group or ""
        named = snapshot.groups.get(group, group)
        if of.share_state is not None:
            coordinator = cluster.share_coordinator(named, snapshot.topic, of.partition or 0)
        else:
            key = of.transactional_id or named
            coordinator = cluster.coordinator(key, transactional=of.transactional_id is not None)
        return frozenset() if coordinator is None else frozenset({coordinator})


ELECTION_SECONDS = 10.0
"""How long a target waits for an active controller."""


class Controller(BaseTarget):
    """The active controller: the leader of the metadata quorum (KIP-595). While one is elected, or has just
    been resumed, nobody is; a target waits for it."""

    controller: Literal[True]

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        controllers: list[int] = []

        def missing() -> str | None:
            if (active := snapshot.cluster.controller()) is not None:
                controllers.append(active)
            return None if controllers else "an active controller"

        poll_within(ELECTION_SECONDS, missing)
        return frozenset(controllers)

    def fixed_nodes(self, shape: ClusterShape) -> frozenset[int] | None:
        return frozenset(shape.controller_ids) if len(shape.controller_ids) == 1 else None

    def possible_nodes(self, shape: ClusterShape) -> frozenset[int]:
        return frozenset(shape.controller_ids)

    def broker_count(self, shape: ClusterShape) -> tuple[int, int]:
        return 0, (1 if set(shape.controller_ids) & set(shape.broker_ids) else 0)


class Controllers(BaseTarget):
    """Every controller of the metadata quorum, active or not."""

    controllers: Literal[True]

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return frozenset(snapshot.cluster.controller_ids)

    def fixed_nodes(self, shape: ClusterShape) -> frozenset[int]:
        return frozenset(shape.controller_ids)


class ZooKeeper(BaseTarget):
    """The ZooKeeper server, in a cluster that has one (`metadata: zookeeper`)."""

    fixed_count = (0, 0)
    zookeeper: Literal[True]

    def refuse_impossible(self, shape: ClusterShape) -> None:
        if not shape.zookeepers:
            raise ValueError(f"target `{self}` matches nothing: the cluster has controllers (KRaft)")

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return frozenset(snapshot.cluster.zookeeper_ids)

    def fixed_nodes(self, shape: ClusterShape) -> frozenset[int]:
        return frozenset(shape.zookeepers)


class BrokerId(BaseTarget):
    """One broker by its id."""

    fixed_count = (1, 1)
    broker: int = Field(ge=0, description="broker id")

    def refuse_impossible(self, shape: ClusterShape) -> None:
        if self.broker not in shape.broker_ids:
            own = "" if self.broker or shape.own_ids else " (0 is for `existing` clusters)"
            raise ValueError(f"target `{self}` matches nothing: the brokers are {shape.id_words}{own}")

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        if self.broker not in snapshot.cluster.broker_ids:
            raise no_match(
                f"broker {self.broker}",
                f"one of {', '.join(map(str, snapshot.cluster.broker_ids))}",
                "",
                "name a broker that the cluster has",
            )
        return frozenset({self.broker})

    def fixed_nodes(self, shape: ClusterShape) -> frozenset[int]:  # noqa: ARG002
        return frozenset({self.broker})


class NodeIds(BaseTarget):
    """Nodes by id, brokers or controllers; a replay writes these in place of a choice."""

    nodes: tuple[int, ...] = Field(min_length=1, description="node ids; -1 means the client")

    def refuse_impossible(self, shape: ClusterShape) -> None:
        known = {CLIENT, *shape.broker_ids, *shape.controller_ids, *shape.zookeepers, *shape.application_ids}
        if not set(self.nodes) <= known:
            raise ValueError(f"target `{self}` matches nothing: the nodes are {sorted(known - {CLIENT})}")

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        cluster = snapshot.cluster
        ours = {CLIENT, *cluster.broker_ids, *cluster.controller_ids, *cluster.zookeeper_ids}
        return frozenset(self.nodes) & {*ours, *cluster.application_ids}

    def beside_brokers(self) -> frozenset[Beside]:
        client: set[Beside] = {"client"} if CLIENT in self.nodes else set()
        return frozenset(client | ({"application"} if min(self.nodes) < CLIENT else set()))

    def fixed_nodes(self, shape: ClusterShape) -> frozenset[int]:  # noqa: ARG002
        return frozenset(self.nodes)


class RandomBrokers(BaseTarget):
    """Some brokers, chosen by the seed."""

    random: int = Field(ge=1, description="number of brokers")

    def refuse_impossible(self, shape: ClusterShape) -> None:
        if self.random > shape.brokers:
            raise ValueError(f"target `{self}` matches nothing: the cluster has {shape.brokers} broker(s)")

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return draw_nodes(snapshot, snapshot.cluster.broker_ids, self.random)

    def fixed_nodes(self, shape: ClusterShape) -> frozenset[int] | None:
        return frozenset(shape.broker_ids) if self.random == shape.brokers else None

    def broker_count(self, shape: ClusterShape) -> tuple[int, int]:  # noqa: ARG002
        return self.random, self.random


class Minority(BaseTarget):
    """The greatest number of brokers that can fail while a majority remains, chosen by the seed."""

    minority: Literal[True]

    def refuse_impossible(self, shape: ClusterShape) -> None:
        if shape.brokers < 3:
            raise ValueError(f"target `{self}` matches nothing: {shape.brokers} broker(s) have no minority")

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return draw_nodes(snapshot, snapshot.cluster.broker_ids, (len(snapshot.cluster.broker_ids) - 1) // 2)

    def broker_count(self, shape: ClusterShape) -> tuple[int, int]:
        count = (shape.brokers - 1) // 2
        return count, count


class Majority(BaseTarget):
    """The smallest number of brokers that is more than half; the others are the minority of the same seed."""

    majority: Literal[True]

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return frozenset(snapshot.cluster.broker_ids) - Minority(minority=True).choose(snapshot)

    def broker_count(self, shape: ClusterShape) -> tuple[int, int]:
        count = shape.brokers - (shape.brokers - 1) // 2
        return count, count


class All(BaseTarget):
    """Every broker."""

    all: Literal[True]

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return frozenset(snapshot.cluster.broker_ids)

    def fixed_nodes(self, shape: ClusterShape) -> frozenset[int]:
        return frozenset(shape.broker_ids)


class Clients(BaseTarget):
    """The clients on the harness's machine, including the harness's own requests to the brokers."""

    client: Literal[True]

    def choose(self, snapshot: TargetContext) -> frozenset[int]:  # noqa: ARG002
        return frozenset({CLIENT})

    def fixed_nodes(self, shape: ClusterShape) -> frozenset[int]:  # noqa: ARG002
        return frozenset({CLIENT})

    def beside_brokers(self) -> frozenset[Beside]:
        return frozenset({"client"})


class Application(BaseTarget):
    """The application under test: all of its instances, or one by its number, from 0."""

    application: Literal["all"] | Annotated[int, Field(ge=0)] = Field(description="`all`, or an instance")

    def refuse_impossible(self, shape: ClusterShape) -> None:
        if not shape.applications:
            raise ValueError(f"target `{self}` matches nothing: an arm has no `application`")
        if self.application != "all" and self.application >= shape.applications:
            last = shape.applications - 1
            raise ValueError(f"target `{self}` matches nothing: the instances are 0 to {last}")

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        every = frozenset(snapshot.cluster.application_ids)
        return every if self.application == "all" else every & {FIRST_APPLICATION_ID + self.application}

    def fixed_nodes(self, shape: ClusterShape) -> frozenset[int]:
        number = self.application
        return frozenset(shape.application_ids if number == "all" else {FIRST_APPLICATION_ID + number})

    def beside_brokers(self) -> frozenset[Beside]:
        return frozenset({"application"})
