"""Targets: which nodes a fault affects, as data, resolved when the fault is injected.

In an experiment file a target is one key with one value, or a bare word: `{leader: 0}`, `{broker: 2}`,
`controller`. Partitions are those of the experiment's topic. Targets can be combined: `{any: [...]}` (`|` in
Python) is their union, `{both: [...]}` (`&`) their intersection, `{not: ...}` (`~`) every broker except
those, and `{some: {of: ..., count: N}}` N of those. Random choices depend on the run's seed and the
injection's name.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, Discriminator, Field, Tag

from faults.targets.nodes import (
    All,
    Application,
    BrokerId,
    Clients,
    Controller,
    Controllers,
    Coordinator,
    Majority,
    Minority,
    NodeIds,
    RandomBrokers,
    ZooKeeper,
    draw_nodes,
)
from faults.targets.partitions import Followers, Isr, Leader, OutOfSync
from faults.targets.target_context import BaseTarget, Beside, ClusterShape, TargetContext
from harness.model.frozen import Frozen

__all__ = [
    "All",
    "AnyOf",
    "Application",
    "Both",
    "BrokerId",
    "Clients",
    "Controller",
    "Controllers",
    "Coordinator",
    "Followers",
    "Isr",
    "Leader",
    "Majority",
    "Minority",
    "NodeIds",
    "Not",
    "OutOfSync",
    "RandomBrokers",
    "Some",
    "Target",
    "ZooKeeper",
]


class AnyOf(BaseTarget):
    """The union of targets."""

    any_: tuple[Target, ...] = Field(alias="any", min_length=1)

    def refuse_impossible(self, shape: ClusterShape) -> None:
        for target in self.any_:
            target.refuse_impossible(shape)

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return frozenset().union(*(target.choose(snapshot) for target in self.any_))

    def fixed_nodes(self, shape: ClusterShape) -> frozenset[int] | None:
        fixed = [nodes for target in self.any_ if (nodes := target.fixed_nodes(shape)) is not None]
        return None if len(fixed) < len(self.any_) else frozenset().union(*fixed)

    def possible_nodes(self, shape: ClusterShape) -> frozenset[int]:
        return frozenset().union(*(target.possible_nodes(shape) for target in self.any_))

    def beside_brokers(self) -> frozenset[Beside]:
        return frozenset().union(*(target.beside_brokers() for target in self.any_))

    def broker_count(self, shape: ClusterShape) -> tuple[int, int]:
        counts = [target.broker_count(shape) for target in self.any_]
        return max(least for least, _ in counts), min(shape.brokers, sum(most for _, most in counts))


class Both(BaseTarget):
    """The intersection of targets; a `not` among others removes its nodes from theirs, so that
    `{both: [controllers, {not: controller}]}` is every controller except the active one."""

    both: tuple[Target, ...] = Field(min_length=1)

    def refuse_impossible(self, shape: ClusterShape) -> None:
        for target in self.both:
            target.refuse_impossible(shape)

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        wanted, excluded = ([target.choose(snapshot) for target in part] for part in self._parts())
        return frozenset.intersection(*wanted).difference(*excluded)

    def beside_brokers(self) -> frozenset[Beside]:
        return frozenset.intersection(*(target.beside_brokers() for target in self._parts()[0]))

    def fixed_nodes(self, shape: ClusterShape) -> frozenset[int] | None:
        wanted, excluded = ([target.fixed_nodes(shape) for target in part] for part in self._parts())
        known = [nodes for nodes in wanted if nodes is not None]
        removed = [nodes for nodes in excluded if nodes is not None]
        if len(known) + len(removed) < len(wanted) + len(excluded):
            return None
        return frozenset.intersection(*known).difference(*removed)

    def possible_nodes(self, shape: ClusterShape) -> frozenset[int]:
        return frozenset.intersection(*(target.possible_nodes(shape) for target in self._parts()[0]))

    def _parts(self) -> tuple[list[BaseTarget], list[BaseTarget]]:
        """The targets whose nodes must be common to all, and those whose nodes are removed from them."""
        wanted: list[BaseTarget] = [target for target in self.both if not isinstance(target, Not)]
        excluded: list[BaseTarget] = [target.not_ for target in self.both if isinstance(target, Not)]
        return (wanted, excluded) if wanted else ([*self.both], [])

    def broker_count(self, shape: ClusterShape) -> tuple[int, int]:
        return 0, min(target.max_brokers(shape) for target in self.both)


class Not(BaseTarget):
    """Every broker except those."""

    not_: Target = Field(alias="not")

    def refuse_impossible(self, shape: ClusterShape) -> None:
        self.not_.refuse_impossible(shape)
        if not self.max_brokers(shape):
            raise ValueError(f"target `{self}` matches nothing: `{self.not_}` is every broker")

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return frozenset(snapshot.cluster.broker_ids) - self.not_.choose(snapshot)

    def fixed_nodes(self, shape: ClusterShape) -> frozenset[int] | None:
        spared = self.not_.fixed_nodes(shape)
        return None if spared is None else frozenset(shape.broker_ids) - spared

    def broker_count(self, shape: ClusterShape) -> tuple[int, int]:
        least, most = self.not_.broker_count(shape)
        return shape.brokers - most, shape.brokers - least


class Chosen(Frozen):
    """A number of the nodes that a target means."""

    of: Target = Field(description="the nodes to choose from")
    count: int = Field(ge=1, description="the number of nodes to choose")


class Some(BaseTarget):
    """Some of the nodes that another target means, chosen by the seed; none, if there are fewer."""

    some: Chosen

    def refuse_impossible(self, shape: ClusterShape) -> None:
        self.some.of.refuse_impossible(shape)

    def choose(self, snapshot: TargetContext) -> frozenset[int]:
        return draw_nodes(snapshot, self.some.of.choose(snapshot), self.some.count)

    def beside_brokers(self) -> frozenset[Beside]:
        return self.some.of.beside_brokers()

    def possible_nodes(self, shape: ClusterShape) -> frozenset[int]:
        return self.some.of.possible_nodes(shape)

    def broker_count(self, shape: ClusterShape) -> tuple[int, int]:
        return 0, min(self.some.count, self.some.of.max_brokers(shape))


def named_brokers(value: Any) -> frozenset[int]:
    """The broker ids that the targets in a value name, such as a step or a fault of an experiment."""
    if isinstance(value, BrokerId):
        return frozenset({value.broker})
    if isinstance(value, NodeIds):
        return frozenset(node for node in value.nodes if node >= 0)
    if isinstance(value, BaseModel):
        return named_brokers([getattr(value, name) for name in type(value).model_fields])
    if isinstance(value, dict):
        return named_brokers(list(value.values()))
    return frozenset().union(*map(named_brokers, value)) if isinstance(value, list | tuple) else frozenset()


def surely_within(inner: BaseTarget, outer: BaseTarget, shape: ClusterShape) -> bool:
    """Whether every node that `inner` can mean is always one of `outer`."""
    if inner == outer or inner.possible_nodes(shape) <= (outer.fixed_nodes(shape) or frozenset()):
        return True
    if isinstance(outer, AnyOf):
        return any(surely_within(inner, each, shape) for each in outer.any_)
    if isinstance(inner, AnyOf):
        return all(surely_within(each, outer, shape) for each in inner.any_)
    return isinstance(inner, Leader) and isinstance(outer, Isr) and inner.leader == outer.isr


def _kind(value: Any) -> str | None:
    """The only key of a target."""
    if isinstance(value, BaseTarget):
        return next(key for key, model in KINDS.items() if type(value) is model)
    if isinstance(value, dict) and len(value) == 1:
        return str(next(iter(value)))
    return None


def _from_word(value: Any) -> Any:
    """`controller` -> `{controller: true}`."""
    return {value: True} if isinstance(value, str) and value in get_args(_Word) else value


_Word = Literal["controller", "controllers", "zookeeper", "minority", "majority", "all", "client"]
_Tagged = Annotated[
    Annotated[Leader, Tag("leader")]
    | Annotated[Followers, Tag("followers")]
    | Annotated[Isr, Tag("isr")]
    | Annotated[OutOfSync, Tag("out_of_sync")]
    | Annotated[Coordinator, Tag("coordinator")]
    | Annotated[Controller, Tag("controller")]
    | Annotated[Controllers, Tag("controllers")]
    | Annotated[ZooKeeper, Tag("zookeeper")]
    | Annotated[BrokerId, Tag("broker")]
    | Annotated[NodeIds, Tag("nodes")]
    | Annotated[RandomBrokers, Tag("random")]
    | Annotated[Some, Tag("some")]
    | Annotated[Minority, Tag("minority")]
    | Annotated[Majority, Tag("majority")]
    | Annotated[All, Tag("all")]
    | Annotated[Clients, Tag("client")]
    | Annotated[Application, Tag("application")]
    | Annotated[AnyOf, Tag("any")]
    | Annotated[Both, Tag("both")]
    | Annotated[Not, Tag("not")],
    Discriminator(_kind),
]
Target = Annotated[_Tagged, BeforeValidator(_from_word, json_schema_input_type=_Tagged | _Word)]
"""Any target, as files write it."""

KINDS: dict[str, type[BaseTarget]] = {
    tag.tag: model for model, tag in (get_args(member) for member in get_args(get_args(_Tagged)[0]))
}
"""Every target by the key that files know it by."""

for _model in (AnyOf, Both, Not, Chosen, Some):
    _model.model_rebuild()
