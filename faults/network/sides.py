"""What is known about the nodes of a target before the cluster runs."""

from __future__ import annotations

from faults.targets import (  # fmt: skip
    All,
    AnyOf,
    Application,
    Both,
    BrokerId,
    Clients,
    Controller,
    Controllers,
    Isr,
    Leader,
    NodeIds,
    Not,
    RandomBrokers,
)
from faults.targets.base_target import BaseTarget
from faults.targets.target_context import ClusterShape
from harness.model.node_layout import CLIENT, FIRST_APPLICATION_ID


def fixed_nodes(target: BaseTarget, shape: ClusterShape) -> frozenset[int] | None:
    """The nodes that a target always means; None: that depends on the live cluster or the seed."""
    brokers, controllers = frozenset(shape.broker_ids), frozenset(shape.controller_ids)
    match target:
        case Clients():
            return frozenset({CLIENT})
        case BrokerId():
            return frozenset({target.broker})
        case NodeIds():
            return frozenset(target.nodes)
        case All():
            return brokers
        case Application():
            every = frozenset(shape.application_ids)
            number = target.application
            return every if number == "all" else frozenset({FIRST_APPLICATION_ID + number})
        case RandomBrokers() if target.random == shape.brokers:
            return brokers
        case Controllers():
            return controllers
        case Controller() if len(controllers) == 1:
            return controllers
        case Leader() | Isr() if shape.brokers == 1:
            return brokers
        case AnyOf():
            sets = [fixed_nodes(each, shape) for each in target.any_]
            return None if None in sets else frozenset().union(*(each for each in sets if each is not None))
        case Both():
            sets = [fixed_nodes(each, shape) for each in target.both]
            found = [each for each in sets if each is not None]
            return None if len(found) < len(sets) else frozenset.intersection(*found)
        case Not():
            rest = fixed_nodes(target.not_, shape)
            return None if rest is None else brokers - rest
        case _:
            return None


def possible_nodes(target: BaseTarget, shape: ClusterShape) -> frozenset[int]:
    """All nodes that a target can mean."""
    surely = fixed_nodes(target, shape)
    if surely is not None:
        return surely
    match target:
        case Controller():
            return frozenset(shape.controller_ids)
        case AnyOf():
            return frozenset().union(*(possible_nodes(each, shape) for each in target.any_))
        case Both():
            return frozenset.intersection(*(possible_nodes(each, shape) for each in target.both))
        case _:
            return frozenset(shape.broker_ids)


def surely_within(inner: BaseTarget, outer: BaseTarget, shape: ClusterShape) -> bool:
    """Whether every node that `inner` can mean is always one of `outer`."""
    if inner == outer or possible_nodes(inner, shape) <= (fixed_nodes(outer, shape) or frozenset()):
        return True
    if isinstance(outer, AnyOf):
        return any(surely_within(inner, each, shape) for each in outer.any_)
    if isinstance(inner, AnyOf):
        return all(surely_within(each, outer, shape) for each in inner.any_)
    return isinstance(inner, Leader) and isinstance(outer, Isr) and inner.leader == outer.isr
