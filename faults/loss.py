"""Loss: a share of the packets between nodes vanishes."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from faults.base import Evidence, Injection, InjectionContext
from faults.network.link_fault import LinkFault, OnLinks
from faults.network.link_probe import Echoes, bounds, enough_for
from faults.network.links import Link, ways
from faults.network.namespace_scripts import address, in_parallel, insert_rules, remove_rules, running
from faults.network.rules import IptablesRule, insert_script
from faults.target_context import ClusterShape
from harness.model.node_layout import CLIENT

_STALLS = (
    "where half of all packets are lost or more, connections stall for many seconds: brokers may be fenced "
    "and leave the ISR as if they were cut off"
)


def holder(link: Link) -> int:
    """In whose namespace packets of a link are dropped: where they arrive. What goes to the client is dropped
    where it leaves."""
    return link.sender if link.receiver == CLIENT else link.receiver


def loss_rule(link: Link, percent: float, other_end: str) -> IptablesRule:
    """The rule for one link, in its holder's namespace."""
    chain, side = ("OUTPUT", "-d") if link.receiver == CLIENT else ("INPUT", "-s")
    draw = f"-m statistic --mode random --probability {percent / 100:.6f}"
    return IptablesRule(chain, f"{side} {other_end} {draw}", f"loss-{link.sender}-{link.receiver}")


class PacketsLost(OnLinks):
    """Rules that drop `percent` of the packets of these links, each packet by a draw of its own."""

    kind: Literal["loss"] = "loss"
    percent: float

    def apply(self, context: InjectionContext) -> None:
        holders = {holder(link) for link in self.links}
        in_parallel(running(context, holders), lambda node: self._put(context, node))

    def look(self, context: InjectionContext) -> Evidence:
        share = self.percent / 100
        shares = {1: share, 2: 1 - (1 - share) ** 2}
        count = max(enough_for(each) for each in shares.values())

        def say(link: Link, echoes: Echoes) -> tuple[bool, str]:
            asked = shares[ways(self.links, link)]
            low, high = bounds(echoes.sent, asked)
            seen = 100 * echoes.lost / echoes.sent
            what = f"{seen:.1f} % of {echoes.sent} lost, {100 * asked:.3g} % asked"
            return low <= echoes.lost <= high, what

        return self.judged(context, self.ping(context, count=count, seconds=0.8, size=64, wait=0.3), say)

    def undo(self, context: InjectionContext) -> None:
        # A namespace dies with its container, and its rules with it.
        in_parallel(running(context, self.nodes), lambda node: remove_rules(context, node))

    def restarted(self, context: InjectionContext, node: int) -> bool:
        if all(holder(link) != node for link in self.links):
            return False
        return "put" in self._put(context, node).split()

    def _put(self, context: InjectionContext, node: int) -> str:
        rules = []
        for link in self.links:
            if holder(link) == node:
                other = link.sender if node == link.receiver else link.receiver
                rules.append(loss_rule(link, self.percent, address(context, other)))
        return insert_rules(context, node, insert_script(rules, context.tag))


class Loss(LinkFault):
    """Every packet between the target and its peers is lost with this probability, by a draw of its own. Lost
    are those that the target sends (`out`), those that are sent to it (`in`), or `both`.

    Packets are dropped by iptables where they arrive, so that the sender's TCP sees what a lossy network
    shows it; only what goes to the client is dropped where it leaves, and there the sender's kernel is told
    so and tries again. This needs no netem, and so is the same on every kernel.

    What Kafka does: nothing at first, for TCP sends again what was lost. That costs at least 200 ms (Linux's
    least retransmission time-out) when it was the last packet of a request, and twice as long each time it is
    lost again; a new connection waits 1 s. So latency has a long tail, throughput over a link falls with the
    square root of the loss, and a follower that has not caught up for replica.lag.time.max.ms leaves the ISR
    (KIP-16). A broker whose heartbeats come later than broker.session.timeout.ms is fenced (KIP-631).

    Proof: of at least 1,000 ICMP echoes over each round trip as many stay unanswered as the percentage says,
    within four standard deviations (and four more): 24 to 36 % of 1,000 for 30 %.
    """

    kind: Literal["loss"] = "loss"
    needs: ClassVar[tuple[str, ...]] = ("iptables", "iptables statistic", "raw sockets")
    injection: ClassVar[type[Injection]] = PacketsLost
    percent: float = Field(
        ge=0.5,
        le=99.5,
        description="how many of the packets are lost, in percent; for all of them there is `partition`",
    )
    direction: Literal["out", "in", "both"] = Field(
        default="out",
        description="which packets are lost: those that the target sends to its peers (`out`), those that "
        "they send to it (`in`), or `both`",
    )

    def aim(self, context: InjectionContext) -> PacketsLost:
        out = self.chosen(context)
        back = tuple(link.back for link in out)
        links = {"out": out, "in": back, "both": out + back}[self.direction]
        return PacketsLost(links=tuple(sorted(set(links))), percent=self.percent)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        told = super().warnings(shape)
        return (*told, _STALLS) if self.percent >= 50 else told
