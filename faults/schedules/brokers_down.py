"""How many brokers are down at once while several faults are open, each broker counted once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from faults.shared.fault_spec import FaultSpec
from faults.targets import Followers, Leader, Target
from faults.targets.target_context import ClusterShape

_LASTING = (Leader, Followers)
"""Targets that mean the same nodes as long as no partition's leader changes."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A fault that is open. `moment` tells moments apart at which targets are resolved. `steady`: since the
    first fault began, no leader can have changed but by these faults."""

    fault: FaultSpec
    moment: object
    steady: bool = False


def most_brokers_down(begun: Sequence[Begun], shape: ClusterShape) -> int:
    """The greatest number of brokers that do not serve while these faults are open, in the order in which
    they began. A broker that two of them surely mean is counted once; where it is not sure, twice."""
    fixed: set[int] = set()
    chosen: list[tuple[Target, Begun, int]] = []
    others = 0
    for number, current in enumerate(begun):
        downs, target = current.fault.max_brokers_down(shape), current.fault.taken_down(shape)
        nodes = None if target is None else target.fixed_nodes(shape)
        if not downs:
            continue
        if nodes is not None:
            fixed |= nodes & set(shape.broker_ids)
        elif isinstance(target, _LASTING):
            same = [
                before
                for other, before, position in chosen
                if other == target and _means_the_same(before, current, begun[position:number], shape)
            ]
            others += 0 if same else downs
            chosen.append((target, current, number))
        else:
            others += downs
    return min(shape.brokers, len(fixed) + others)


def _means_the_same(before: Begun, one: Begun, between: Sequence[Begun], shape: ClusterShape) -> bool:
    """Whether a target of `one` means the nodes that it meant when the fault `before` began; `between` are
    the faults from that one on."""
    at_once = before.moment == one.moment
    if not (at_once or one.steady):
        return False
    return not any(other.fault.may_move_leaders(shape, at_once=at_once) for other in between)
