"""Ring and bridge: partitions in which each broker hears only some of the others."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from faults.network.grudge import bridge, halves, middle, ring
from faults.network.partition_injection import Cuts, injection_of_cuts
from faults.network.sides import fixed_nodes, possible_nodes
from faults.shared.fault_spec import FaultSpec, InjectionContext, node_names
from faults.targets import All, Target
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from harness.model.node_layout import CLIENT

_EVERY = All(all=True)


class RingCuts(Cuts):
    """Nodes that hear only their neighbours."""

    kind: Literal["ring"] = "ring"


class BridgeCuts(Cuts):
    """Two halves that are connected only through the nodes of the bridge."""

    kind: Literal["bridge"] = "bridge"


class Ring(FaultSpec):
    """Each broker hears only its two neighbours by id (the first and the last are neighbours), both ways.
    Controllers and clients reach all of them. With five brokers each still hears a majority, and no two
    the same one: Jepsen's majorities ring.

    What Kafka does: the controller hears all brokers, so every leader stays. Followers that are not
    neighbours of a partition's leader cannot fetch from it and leave its ISR after replica.lag.time.max.ms;
    its neighbours stay. So the leader determines which replicas are in sync (KIP-500: only the controller
    decides, brokers do not vote).

    Proof: as for `partition`, for every two brokers that are not neighbours: dropped packets are counted,
    none arrives, and no connection can be opened.
    """

    kind: Literal["ring"] = "ring"
    needs = ("iptables",)
    external = "containers"
    injection = RingCuts
    target: Target = Field(default=_EVERY, description="the nodes of the ring, four or more")

    def aim(self, context: InjectionContext) -> Cuts:
        nodes = _without_client(self.target.resolve(context.snapshot()))
        return injection_of_cuts(RingCuts, context, ring(nodes), f"ring of {node_names(nodes)}")

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        _check_size(self.target, shape, 4, "a ring")
        return ()


class Bridge(FaultSpec):
    """Two halves of the brokers do not hear each other, but both hear, and are heard by, the broker or
    brokers of the bridge between them. Controllers and clients reach all of them: Jepsen's bridge.

    What Kafka does: a leader in one half loses the followers of the other half from its ISR after
    replica.lag.time.max.ms; a leader that is the bridge keeps them all. The controller hears all brokers, so
    no leader moves. acks=all writes wait until the ISR has shrunk, and then continue if min.insync.replicas
    are left.

    Proof: as for `partition`, for every two brokers of different halves: dropped packets are counted, none
    arrives, and no connection can be opened.
    """

    kind: Literal["bridge"] = "bridge"
    needs = ("iptables",)
    external = "containers"
    injection = BridgeCuts
    target: Target = Field(default=_EVERY, description="all nodes, including the bridge")
    via: Target | None = Field(
        default=None, description="the node or nodes of the bridge; default: the middle one by id"
    )

    def aim(self, context: InjectionContext) -> Cuts:
        snapshot = context.snapshot()
        nodes = _without_client(self.target.resolve(snapshot))
        between = (middle(nodes),) if self.via is None else _without_client(self.via.resolve(snapshot))
        here, there = halves(nodes, between)
        if not here:
            raise FaultError(
                "a bridge needs a node on each side",
                where=f"{node_names(nodes)} over {node_names(between)}",
                expected="two nodes or more beside the bridge",
                found=node_names(there) or "none",
                next_step="choose more brokers, or a smaller bridge",
            )
        words = f"{node_names(here)} | {node_names(there)}, over {node_names(between)}"
        return injection_of_cuts(BridgeCuts, context, bridge(nodes, between), words)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        _check_size(self.target, shape, 3, "a bridge")
        if self.via is not None:
            if self.via.may_include_client():
                raise ValueError("a bridge is a node of the cluster, not the client")
            nodes, over = possible_nodes(self.target, shape), fixed_nodes(self.via, shape)
            if over is not None and len(nodes - over) < 2:
                raise ValueError(
                    f"a bridge needs a node on each side: `via: {self.via}` leaves fewer than two"
                )
        return ()

    def max_brokers_down(self, shape: ClusterShape) -> int:
        return self.target.max_brokers(shape) // 2


def _without_client(nodes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(node for node in nodes if node != CLIENT)


def _check_size(target: Target, shape: ClusterShape, least: int, what: str) -> None:
    """Refuse a target that may include the client, or cannot mean at least this number of nodes."""
    if target.may_include_client():
        raise ValueError(f"{what} is made of nodes of the cluster, not of the client")
    most = len(possible_nodes(target, shape))
    if target.max_brokers(shape):
        most = min(
            most, target.max_brokers(shape) + len(possible_nodes(target, shape) - set(shape.broker_ids))
        )
    if most < least:
        raise ValueError(
            f"{what} needs {least} nodes or more: with fewer, nothing would be cut (`target: {target}` means "
            f"at most {most})"
        )
