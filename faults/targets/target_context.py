"""What a target is, and what it is resolved against: the live cluster at one moment, or its mere shape."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from faults.targets.fault_cluster import FaultCluster
from harness.model.broker_views import TopologyView
from harness.model.errors import FaultError
from harness.model.frozen import Frozen
from harness.model.node_layout import FIRST_APPLICATION_ID, FIRST_CONTROLLER_ID

if TYPE_CHECKING:
    from faults.targets import AnyOf, Both, Not


@dataclass(frozen=True, slots=True)
class TargetContext:
    """The live cluster, and its brokers' `view` of the topic at one moment.

    `groups` are the names of groups in this run, by those in the experiment. `resolved` records every target
    that is resolved, with its nodes.
    """

    cluster: FaultCluster
    view: TopologyView
    topic: str
    seed: str
    groups: Mapping[str, str] = field(default_factory=dict)
    resolved: dict[Any, tuple[int, ...]] = field(default_factory=dict, compare=False)

    def rng(self) -> random.Random:
        """Random choices that depend on the seed alone."""
        return random.Random(self.seed)


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """A cluster and topic before they start, as the experiment describes them.

    `zookeepers` are the servers of a ZooKeeper cluster, where any broker may be the controller (`combined`).
    `disk_mib` is the size of each broker's log dir volume (None: not limited); `skewable` says whether the
    brokers' clocks can be shifted. `applications` is the number of instances of the application under test.
    `own_ids` are the broker ids of a cluster that kafka-chaos does not start; else they are 1, 2, ...
    """

    brokers: int
    controllers: int
    combined: bool
    partitions: int
    replication_factor: int
    zookeepers: tuple[int, ...] = ()
    disk_mib: int | None = None
    skewable: bool = False
    applications: int = 0
    application_in_container: bool = False
    own_ids: tuple[int, ...] = ()
    acls: bool = False

    @property
    def broker_ids(self) -> tuple[int, ...]:
        return self.own_ids or tuple(range(1, self.brokers + 1))

    @property
    def id_words(self) -> str:
        """The broker ids in words: "1 to 3" or "0, 1, 7"."""
        return listed_ids(self.broker_ids)

    @property
    def controller_ids(self) -> tuple[int, ...]:
        # Of an existing cluster it is not known which nodes are controllers; any broker may be.
        if self.combined or self.own_ids:
            return self.broker_ids
        return tuple(range(FIRST_CONTROLLER_ID, FIRST_CONTROLLER_ID + self.controllers))

    @property
    def application_ids(self) -> tuple[int, ...]:
        return tuple(range(FIRST_APPLICATION_ID, FIRST_APPLICATION_ID + self.applications))


def listed_ids(ids: Sequence[int]) -> str:
    """Ascending ids in words: "1 to 3", or "0, 1, 7" where numbers between them are missing."""
    gapless = len(ids) > 1 and ids[-1] - ids[0] == len(ids) - 1
    return f"{ids[0]} to {ids[-1]}" if gapless else ", ".join(map(str, ids))


Beside = Literal["client", "application"]


class BaseTarget(Frozen, ABC):
    """A set of nodes, not resolved yet."""

    fixed_count: ClassVar[tuple[int, int] | None] = None
    """`broker_count` in every cluster; None: that depends on its shape."""

    @abstractmethod
    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        """The nodes that this means now; may be empty.

        Raises:
            FaultError: the partition, or its leader, does not exist now.
        """

    def resolve(self, snapshot: TargetContext) -> tuple[int, ...]:
        """The nodes that this means now, ascending.

        Raises:
            FaultError: it matches nothing.
        """
        chosen = self.choose(snapshot)
        if not chosen:
            raise no_match(str(self), "at least one node", "none", "choose another target or time")
        snapshot.resolved[self] = tuple(sorted(chosen))
        return snapshot.resolved[self]

    def refuse_impossible(self, shape: ClusterShape) -> None:
        """Refuse a target that a cluster of this shape can never match.

        Raises:
            ValueError: it matches nothing there.
        """

    def fixed_nodes(self, shape: ClusterShape) -> frozenset[int] | None:  # noqa: ARG002
        """The nodes that this always means; None: that depends on the live cluster or the seed."""
        return None

    def possible_nodes(self, shape: ClusterShape) -> frozenset[int]:
        """All nodes that this can mean."""
        fixed = self.fixed_nodes(shape)
        return frozenset(shape.broker_ids) if fixed is None else fixed

    def broker_count(self, shape: ClusterShape) -> tuple[int, int]:
        """The least number of brokers that this means whenever it resolves, and the greatest."""
        if self.fixed_count is not None:
            return self.fixed_count
        fixed = self.fixed_nodes(shape)
        most = len(self.possible_nodes(shape) & set(shape.broker_ids))
        return 0 if fixed is None else most, most

    def max_brokers(self, shape: ClusterShape) -> int:
        return self.broker_count(shape)[1]

    def beside_brokers(self) -> frozenset[Beside]:
        """The kinds of nodes outside the cluster that may be among the target's nodes."""
        return frozenset()

    def may_include_client(self) -> bool:
        """Whether the client can be among the nodes."""
        return "client" in self.beside_brokers()

    def may_include_application(self) -> bool:
        """Whether an instance of an application under test can be among the nodes."""
        return "application" in self.beside_brokers()

    def __or__(self, other: BaseTarget) -> AnyOf:
        from faults.targets import AnyOf

        return AnyOf.model_validate({"any": (self, other)})

    def __and__(self, other: BaseTarget) -> Both:
        from faults.targets import Both

        return Both.model_validate({"both": (self, other)})

    def __invert__(self) -> Not:
        from faults.targets import Not

        return Not.model_validate({"not": self})

    def __str__(self) -> str:
        """As an experiment file holds it."""
        return (
            _as_yaml(self.model_dump(mode="json", by_alias=True, exclude_none=True))
            .removeprefix("{")
            .removesuffix("}")
        )


def no_match(where: str, expected: str, found: str, next_step: str) -> FaultError:
    """The error of a target that matches no node."""
    return FaultError(
        "the target matches no node", where=where, expected=expected, found=found, next_step=next_step
    )


def _as_yaml(value: Any) -> str:
    """A JSON value as YAML on one line; `{controller: true}` as the bare word."""
    if isinstance(value, dict):
        if list(map(type, value.values())) == [bool]:
            return str(next(iter(value)))
        return "{" + ", ".join(f"{key}: {_as_yaml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_as_yaml, value)) + "]"
    return str(value)
