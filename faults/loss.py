"""Loss: a share of the packets between nodes vanishes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from faults.network.iptables import IptablesInjection, IptablesRule
from faults.network.link_fault import LinkFault, OnLinks
from faults.network.link_probe import Echoes, enough_for, judge_share
from faults.network.links import Link, ways
from faults.network.namespace_scripts import address
from faults.shared.fault_spec import Evidence, InjectionContext
from faults.targets.target_context import ClusterShape
from harness.model.node_layout import CLIENT

_STALLS = (
    "where half of all packets are lost or more, connections stall for many seconds: brokers may be fenced "
    "and leave the ISR as if they were cut off"
)


def holder(link: Link) -> int:
    """The node in whose namespace packets of a link are dropped: the receiver, or the sender if the receiver
    is the client."""
    return link.sender if link.receiver == CLIENT else link.receiver


def loss_rule(link: Link, percent: float, other_end: str) -> IptablesRule:
    """The rule for one link, in its holder's namespace."""
    chain, side = ("OUTPUT", "-d") if link.receiver == CLIENT else ("INPUT", "-s")
    draw = f"-m statistic --mode random --probability {percent / 100:.6f}"
    return IptablesRule(chain, f"{side} {other_end} {draw}", f"loss-{link.sender}-{link.receiver}")


class PacketsLost(IptablesInjection, OnLinks):
    """Rules that drop `percent` of the packets of these links, each packet independently."""

    percent: float

    @property
    def holders(self) -> tuple[int, ...]:
        return tuple(sorted({holder(link) for link in self.links}))

    def rules(self, context: InjectionContext, node: int) -> list[IptablesRule]:
        mine = [link for link in self.links if holder(link) == node]
        return [loss_rule(link, self.percent, address(context, link.other_end(node))) for link in mine]

    def measure(self, context: InjectionContext) -> Evidence:
        share = self.percent / 100
        shares = {1: share, 2: 1 - (1 - share) ** 2}
        count = max(enough_for(each) for each in shares.values())

        def judge(link: Link, echoes: Echoes) -> tuple[bool, str]:
            asked = shares[ways(self.links, link)]
            return judge_share(echoes.lost, echoes.sent, asked, "lost")

        return self.ping_and_judge(context, judge, count=count, seconds=0.8, size=64, wait=0.3)


class Loss(LinkFault):
    """Each packet between the target and its peers is lost with this probability, independently of the
    others: packets that the target sends (`out`), packets that are sent to it (`in`), or `both`.

    Packets are dropped by iptables where they arrive, so that the sender's TCP behaves as on a lossy network;
    only packets to the client are dropped where they leave, and there the sender's kernel notices and tries
    again. This does not need netem, so it works the same on every kernel.

    What Kafka does: nothing at first, since TCP retransmits what was lost. That costs at least 200 ms
    (Linux's minimum retransmission timeout) when it was the last packet of a request, and twice as long each
    time it is lost again; a new connection waits 1 s. So latency has a long tail, throughput over a link
    falls with the square root of the loss, and a follower that has not caught up for replica.lag.time.max.ms
    leaves the ISR (KIP-16). A broker whose heartbeats are later than broker.session.timeout.ms is fenced
    (KIP-631).

    Proof: of at least 1,000 ICMP echoes over each round trip the share without an answer is the percentage,
    within four standard deviations and four echoes: 24 to 36 % of 1,000 for 30 %.
    """

    kind: Literal["loss"] = "loss"
    needs = ("iptables", "iptables statistic", "raw sockets")
    external = "containers"
    injection = PacketsLost
    percent: float = Field(
        ge=0.5,
        le=99.5,
        description="the share of packets that is lost, in percent; for all packets use `partition`",
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
        stalls = (_STALLS,) if self.percent >= 50 else ()
        return (*super().warnings(shape), *stalls)
