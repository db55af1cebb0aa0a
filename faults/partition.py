"""Partition, ring and bridge: packets between nodes are lost."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from faults.network.partition_injection import Cuts, Lost, between, halves, injection_of_cuts, middle, ring
from faults.shared.fault_spec import FaultSpec, InjectionContext
from faults.shared.words import node_names
from faults.targets import All, Target, surely_within
from faults.targets.target_context import BaseTarget, ClusterShape
from harness.model.errors import FaultError
from harness.model.node_layout import CLIENT

BLIND = (
    "while the client is cut off from a broker the harness's own requests to it are not answered either: "
    "its samples are missing, and waits that need its answer do not end"
)
FENCED = (
    "a broker from which the active controller receives nothing for broker.session.timeout.ms is fenced: "
    "it leaves every ISR, and others lead its partitions; it does not know this, and what it acknowledges "
    "under acks=1 from then on is lost"
)
EXPIRED = (
    "a broker from which ZooKeeper receives nothing for zookeeper.session.timeout.ms loses its session: it "
    "leaves every ISR, and others lead its partitions; it goes on as leader, and what it acknowledges under "
    "acks=1 from then on is lost"
)
HEADLESS = (
    "no broker reaches a controller: there are no elections, no ISR changes and no new topics, while leaders "
    "continue to serve with the former ISR; a controller that receives nothing from any broker fences all, "
    "so after healing leaders move and ISRs shrink to one replica before they grow again"
)
_EVERY = All(all=True)


class Partition(FaultSpec):
    """Packets between two sets of nodes are lost: in both directions, or in one only. Either side may be
    brokers, controllers or the client; nodes that both targets mean belong to `from`.

    What Kafka does, leader and followers: the followers' fetch requests are not answered, in whichever
    direction packets are lost, so the leader's high watermark does not advance; after replica.lag.time.max.ms
    the leader asks the controller to remove them from the ISR. Until then acks=1 writes are acknowledged by
    the leader alone and acks=all writes wait. The leader does not change, since the controller receives its
    heartbeats. A partition without writes keeps its ISR: its followers are at the end of the log.

    Broker and controller: without heartbeats for broker.session.timeout.ms the controller fences the broker,
    removes it from every ISR and elects other leaders (KIP-500, KIP-631). One lost direction is enough, since
    a heartbeat is a request with a response. A leader that is cut off like this still considers itself
    leader. Clients with old metadata write to it: what it acknowledges under acks=1 after the election is
    lost when it learns of the new leader and truncates its log (KIP-101); under acks=all it acknowledges
    nothing, since its followers fetch from the new leader. When no broker reaches a controller, nothing is
    elected and no ISR changes, while leaders continue to serve with the former ISR, acks=all included; after
    healing they learn all at once what the controller decided meanwhile.

    Broker and client: requests time out or their responses are lost; what was written and not acknowledged is
    sent again. The harness's own requests to that broker are not answered either.

    Proof: in each lost direction the packet counter of the drop rule rises, and none of the UDP packets sent
    that way arrives; in a direction that is not lost they do arrive; and no TCP connection can be opened
    between the sides, which needs both directions. The client's packets are the harness's own requests.
    """

    kind: Literal["partition"] = "partition"
    needs = ("iptables",)
    external = "containers"
    applications = "containers"
    injection = Cuts
    side: Target = Field(alias="from", description="the nodes of one side")
    other: Target = Field(alias="to", description="the nodes of the other side")
    lost: Lost = Field(
        default="both",
        description="which packets are lost: in `both` directions, only `from_to` (sent by `from` to `to`), "
        "or only those `to_from`",
    )

    def aim(self, context: InjectionContext) -> Cuts:
        snapshot = context.snapshot()
        here = self.side.resolve(snapshot)
        there = tuple(node for node in self.other.resolve(snapshot) if node not in here)
        first, second = node_names(here), node_names(there)
        words = {
            "both": f"{first} | {second}",
            "from_to": f"{first} to {second}",
            "to_from": f"{second} to {first}",
        }
        return injection_of_cuts(context, between(here, there, self.lost), words[self.lost])

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        if surely_within(self.other, self.side, shape):
            raise ValueError(
                f"a partition needs two sides: every node of `to: {self.other}` is also one of "
                f"`from: {self.side}`"
            )
        sides = (self.side, self.other)
        if all(side.may_include_client() for side in sides):
            raise ValueError("the client can be on one side of a partition, not on both")
        here, there = (side.possible_nodes(shape) for side in sides)
        brokers, controllers = set(shape.broker_ids), set(shape.controller_ids)
        for near, far in ((here, there), (there, here)):
            if near == {CLIENT} and not far & brokers:
                raise ValueError("clients do not connect to separate controllers: there is nothing to cut")
        warnings = [BLIND] if CLIENT in here | there else []
        if shape.zookeepers:
            # A broker's heartbeats go to ZooKeeper, not to the controller.
            keepers = set(shape.zookeepers)
            expired = any(near & keepers and far & brokers for near, far in ((here, there), (there, here)))
            return (*warnings, *((EXPIRED,) if expired else ()))
        if any(near & controllers and far & brokers for near, far in ((here, there), (there, here))):
            warnings.append(HEADLESS if self._headless(shape) else FENCED)
        return tuple(warnings)

    def max_brokers_down(self, shape: ClusterShape) -> int:
        if any(side.may_include_application() for side in (self.side, self.other)):
            return 0
        sides = [side.max_brokers(shape) for side in (self.side, self.other)]
        # Where one side has no broker, the other's lose the controllers or the client.
        return min(most or shape.brokers for most in sides) if any(sides) else 0

    def taken_down(self, shape: ClusterShape) -> BaseTarget | None:
        here, there = (side.max_brokers(shape) or shape.brokers + 1 for side in (self.side, self.other))
        if here == there:
            return None
        return self.side if here < there else self.other

    def may_move_leaders(self, shape: ClusterShape, *, at_once: bool) -> bool:
        # A leader is replaced when the controller has not heard it for a while.
        if at_once:
            return False
        deciding = {*shape.controller_ids, *shape.zookeepers}
        return any(side.possible_nodes(shape) & deciding for side in (self.side, self.other))

    def _headless(self, shape: ClusterShape) -> bool:
        """Whether it is certain that no broker reaches any controller."""
        brokers, controllers = set(shape.broker_ids), set(shape.controller_ids)
        if shape.combined:
            return False
        sides = [side.fixed_nodes(shape) or frozenset() for side in (self.side, self.other)]
        return any(near >= controllers and far >= brokers for near, far in (sides, sides[::-1]))


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
    injection = Cuts
    target: Target = Field(default=_EVERY, description="the nodes of the ring, four or more")

    def aim(self, context: InjectionContext) -> Cuts:
        nodes = _without_client(self.target.resolve(context.snapshot()))
        return injection_of_cuts(context, ring(nodes), f"ring of {node_names(nodes)}")

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
    injection = Cuts
    target: Target = Field(default=_EVERY, description="all nodes, including the bridge")
    via: Target | None = Field(
        default=None, description="the node or nodes of the bridge; default: the middle one by id"
    )

    def aim(self, context: InjectionContext) -> Cuts:
        snapshot = context.snapshot()
        nodes = _without_client(self.target.resolve(snapshot))
        over = (middle(nodes),) if self.via is None else _without_client(self.via.resolve(snapshot))
        here, there = halves(nodes, over)
        if not here:
            raise FaultError(
                "a bridge needs a node on each side",
                where=f"{node_names(nodes)} over {node_names(over)}",
                expected="two nodes or more beside the bridge",
                found=node_names(there) or "none",
                next_step="choose more brokers, or a smaller bridge",
            )
        words = f"{node_names(here)} | {node_names(there)}, over {node_names(over)}"
        return injection_of_cuts(context, between(here, there), words)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        _check_size(self.target, shape, 3, "a bridge")
        if self.via is not None:
            if self.via.may_include_client():
                raise ValueError("a bridge is a node of the cluster, not the client")
            nodes, over = self.target.possible_nodes(shape), self.via.fixed_nodes(shape)
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
    possible = target.possible_nodes(shape)
    most = len(possible)
    if target.max_brokers(shape):
        most = min(most, target.max_brokers(shape) + len(possible - set(shape.broker_ids)))
    if most < least:
        raise ValueError(
            f"{what} needs {least} nodes or more: with fewer, nothing would be cut (`target: {target}` means "
            f"at most {most})"
        )
