"""Partition: packets between two sets of nodes are lost."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from faults.network.grudge import Lost, between
from faults.network.partition_injection import Cuts, injection_of_cuts
from faults.network.sides import fixed_nodes, possible_nodes, surely_within
from faults.shared.fault_spec import FaultSpec, InjectionContext, node_names
from faults.targets import Target
from faults.targets.target_context import ClusterShape
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
HEADLESS = (
    "no broker reaches a controller: there are no elections, no ISR changes and no new topics, while leaders "
    "continue to serve with the former ISR; a controller that receives nothing from any broker fences all, "
    "so after healing leaders move and ISRs shrink to one replica before they grow again"
)


class PartitionCuts(Cuts):
    """Two sides cut off from each other, in one direction or both."""

    kind: Literal["partition"] = "partition"


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
    injection = PartitionCuts
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
        return injection_of_cuts(PartitionCuts, context, between(here, there, self.lost), words[self.lost])

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
        here, there = (possible_nodes(side, shape) for side in sides)
        brokers, controllers = set(shape.broker_ids), set(shape.controller_ids)
        for one, two in ((here, there), (there, here)):
            if one == {CLIENT} and not two & brokers:
                raise ValueError("clients do not connect to separate controllers: there is nothing to cut")
        warnings = [BLIND] if CLIENT in here | there else []
        if any(one & controllers and two & brokers for one, two in ((here, there), (there, here))):
            warnings.append(HEADLESS if self._headless(shape) else FENCED)
        return tuple(warnings)

    def max_brokers_down(self, shape: ClusterShape) -> int:
        if any(side.may_include_application() for side in (self.side, self.other)):
            return 0
        return min(
            self.side.max_brokers(shape) or shape.brokers, self.other.max_brokers(shape) or shape.brokers
        )

    def _headless(self, shape: ClusterShape) -> bool:
        """Whether it is certain that no broker reaches any controller."""
        brokers, controllers = set(shape.broker_ids), set(shape.controller_ids)
        if shape.combined:
            return False
        sides = [fixed_nodes(side, shape) or frozenset() for side in (self.side, self.other)]
        return any(one >= controllers and two >= brokers for one, two in (sides, sides[::-1]))
