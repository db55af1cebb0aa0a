"""Partition: two sets of nodes do not hear each other."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from faults.base import FaultSpec, Injection, InjectionContext, node_names
from faults.network.grudge import Lost, between
from faults.network.partition_injection import Cuts, place_cuts
from faults.network.sides import fixed_nodes, possible_nodes, surely_within
from faults.target_context import ClusterShape
from faults.targets import Target
from harness.model.node_layout import CLIENT

BLIND = (
    "while the client is cut from a broker the harness's own questions to that broker go unanswered too: "
    "samples of it are missing, and waits that need its word do not end"
)
FENCED = (
    "a broker that the active controller does not hear for broker.session.timeout.ms is fenced: it leaves "
    "every ISR, and others lead what it led; it does not know, and what it acknowledges under acks=1 from "
    "then on is lost"
)
HEADLESS = (
    "no broker reaches a controller: there are no elections, no ISR changes and no new topics, while leaders "
    "go on serving with the ISR as it was; a controller that hears no broker fences them all, so after "
    "healing leaders move and ISRs shrink to one replica before they grow again"
)


class PartitionCuts(Cuts):
    """Two sides cut from each other, in one direction or both."""

    kind: Literal["partition"] = "partition"


class Partition(FaultSpec):
    """Packets between two sets of nodes are lost: both ways, or in one direction only. Either side may be
    brokers, controllers or the client; nodes that both targets mean belong to `from`.

    What Kafka does, leader and followers: the followers' fetches get no answer, in whichever direction
    packets are lost, so the leader's high watermark stands still; after replica.lag.time.max.ms the leader
    asks the controller to take them out of the ISR. Until then acks=1 writes are acknowledged by the leader
    alone and acks=all writes wait. The leader stays: the controller hears it. A partition that nobody writes
    to keeps its ISR: its followers are at the end of the log.

    Broker and controller: without heartbeats for broker.session.timeout.ms the controller fences the broker,
    takes it out of every ISR and elects other leaders (KIP-500, KIP-631). One lost direction is enough, for a
    heartbeat is a request with an answer. A leader that is cut so still believes that it leads. Clients
    that know no better write to it: what it acknowledges under acks=1 after the election is lost once it
    hears of the new leader and truncates its log (KIP-101); under acks=all it acknowledges nothing, for its
    followers fetch elsewhere. When no broker reaches a controller, nothing is elected and no ISR changes,
    while leaders go on serving with the ISR as it was, acks=all included; what the controller decided
    meanwhile they learn all at once when it is healed.

    Broker and client: requests time out or their answers are lost; what was written and not acknowledged
    is sent again. The harness's own questions to that broker go unanswered too.

    Proof: in each lost direction the packet counter of the rule that drops rises, and of UDP packets sent
    that way none arrives; in a direction that is not lost they do arrive; and no TCP connection is made
    between the sides, which needs both directions. The client's packets are the harness's own requests.
    """

    kind: Literal["partition"] = "partition"
    needs: ClassVar[tuple[str, ...]] = ("iptables",)
    injection: ClassVar[type[Injection]] = PartitionCuts
    side: Target = Field(alias="from", description="which nodes are the one side")
    other: Target = Field(alias="to", description="which nodes are the other side")
    lost: Lost = Field(
        default="both",
        description="which packets are lost: `both` ways, only those `from_to` (sent by `from`, so that `to` "
        "does not hear it), or only those `to_from`",
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
        return place_cuts(PartitionCuts, context, between(here, there, self.lost), words[self.lost])

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        if surely_within(self.other, self.side, shape):
            raise ValueError(
                f"a partition needs two sides: `to: {self.other}` means no node that "
                f"`from: {self.side}` does not mean as well"
            )
        sides = (self.side, self.other)
        if all(side.may_include_client() for side in sides):
            raise ValueError("a partition has the client on one side, not on both")
        here, there = (possible_nodes(side, shape) for side in sides)
        brokers, controllers = set(shape.broker_ids), set(shape.controller_ids)
        for one, two in ((here, there), (there, here)):
            if one == {CLIENT} and not two & brokers:
                raise ValueError("clients do not talk to separate controllers: there is nothing to cut")
        told = [BLIND] if CLIENT in here | there else []
        if any(one & controllers and two & brokers for one, two in ((here, there), (there, here))):
            told.append(HEADLESS if self._headless(shape) else FENCED)
        return tuple(told)

    def max_brokers_down(self, shape: ClusterShape) -> int:
        return min(
            self.side.max_brokers(shape) or shape.brokers, self.other.max_brokers(shape) or shape.brokers
        )

    def _headless(self, shape: ClusterShape) -> bool:
        """Whether surely no broker reaches any controller."""
        brokers, controllers = set(shape.broker_ids), set(shape.controller_ids)
        if shape.combined:
            return False
        sides = [fixed_nodes(side, shape) or frozenset() for side in (self.side, self.other)]
        return any(one >= controllers and two >= brokers for one, two in (sides, sides[::-1]))
