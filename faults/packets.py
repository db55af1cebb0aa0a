"""Lost and reordered packets."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from faults.network.link_fault import OnLinks, Shaped
from faults.network.link_probe import Echoes, bounds, enough_for, judge_share
from faults.network.links import NETEM, UNLIMITED, Link, ways
from faults.network.namespaces import IptablesInjection, IptablesRule, address
from faults.proxied.link_messages import EitherWay, LostMessages, ReorderedMessages
from faults.shared.fault_spec import Evidence, FaultSpec, Injection, InjectionContext
from faults.targets.target_context import ClusterShape
from harness.model.node_layout import CLIENT

_SECONDS = 1.0
_REORDER_SLACK = 0.25
_MOST_BY_PROXY = 50
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
    return IptablesRule(chain, f"{side} {other_end} {draw}", f"loss-{link.name}")


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


class Loss(EitherWay):
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

    By the proxies (`by: proxy`, or where iptables cannot draw packets): no packet is lost. A message of
    Kafka's protocol is late with this probability, as if it had been one packet that TCP has to send again:
    by 200 ms, with this probability again by another 400 ms, then 800 ms, and so on. What follows in its
    connection waits behind it. A large message, which is many packets, is not lost more often, and opening a
    connection is not slower. At most 50 %. Proof: by the proxies' counters this share went later, within four
    standard deviations and four messages; and no fewer requests are answered 150 ms later or more.
    """

    kind: Literal["loss"] = "loss"
    needs = ("iptables", "iptables statistic", "raw sockets")
    external = "containers"
    injection = PacketsLost
    messages = LostMessages
    as_messages = "messages of Kafka's protocol are late as if one packet had been lost and sent again by TCP"
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

    @model_validator(mode="after")
    def _measurable(self) -> Loss:
        if self.by == "proxy" and self.percent > _MOST_BY_PROXY:
            raise ValueError(
                f"percent is {self.percent:g}: the proxies imitate at most {_MOST_BY_PROXY} %, as TCP hardly "
                "gets anything through beyond it; use `partition`"
            )
        return self

    def affected(self, context: InjectionContext) -> tuple[Link, ...]:
        out = self.chosen(context)
        back = tuple(link.back for link in out)
        links = {"out": out, "in": back, "both": out + back}[self.direction]
        return tuple(sorted(set(links)))

    def action(self) -> dict[str, Any]:
        return {"action": "lose", "share": self.percent / 100}

    def by_proxy(self) -> FaultSpec | None:
        return None if self.percent > _MOST_BY_PROXY else super().by_proxy()

    def aim(self, context: InjectionContext) -> Injection:
        if self.by == "proxy":
            return super().aim(context)
        return PacketsLost(links=self.affected(context), percent=self.percent)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        stalls = (_STALLS,) if self.percent >= 50 else ()
        return (*super().warnings(shape), *stalls)


class Reordered(Shaped):
    """`percent` of the packets of these links are sent at once, all others `delay_ms` later."""

    percent: float
    delay_ms: float

    def discipline(self) -> tuple[str, str]:
        return UNLIMITED, f"{NETEM} delay {self.delay_ms:g}ms reorder {self.percent:g}%"

    def measure(self, context: InjectionContext) -> Evidence:
        count = enough_for(self.percent / 100)

        def judge(link: Link, echoes: Echoes) -> tuple[bool, str]:
            asked = self.overtaking(ways(self.links, link), count)
            low = bounds(echoes.sent, asked * (1 - _REORDER_SLACK))[0]
            high = bounds(echoes.sent, min(1.0, asked * (1 + _REORDER_SLACK)))[1]
            seen = 100 * echoes.overtaking / echoes.sent
            what = f"{seen:.1f} % of {echoes.sent} overtook earlier ones, {100 * asked:.3g} % expected"
            return low <= echoes.overtaking <= high, what

        wait = 0.3 + 2 * self.delay_ms / 1e3
        return self.ping_and_judge(context, judge, count=count, seconds=_SECONDS, size=64, wait=wait)

    def overtaking(self, directions: int, count: int) -> float:
        """The share of packets that overtake: those sent at once, if one of those sent within the delay
        before was not."""
        share = self.percent / 100
        behind = max(1, round(count * self.delay_ms / 1e3 / _SECONDS))
        each = share * (1 - share**behind)
        return 1 - (1 - each) ** directions


class Reorder(EitherWay):
    """Packets that the target sends to its peers overtake each other: this share of them is sent at once, all
    others `delay_ms` later.

    What Kafka does: nothing, since TCP puts packets back in order. But TCP takes overtaken packets for lost
    ones, sends some of them again, and slows down; and most packets are late, as under `latency`. Readers and
    replicas must not see anything in another order: a run with this fault shows whether they do.

    Proof: of at least 1,000 ICMP echoes, sent in 1 s, the share that is answered before an earlier one is the
    percentage (a little less: a packet sent at once after packets that were also sent at once overtakes
    none), within 25 % and four standard deviations.

    By the proxies (`by: proxy`, or where the kernel has no netem, module sch_netem): messages of Kafka's
    protocol overtake those of other connections only. Within a connection a message that is sent at once
    waits for those before it, as TCP has it arrive, and nothing is sent again; so what remains of it is that
    most messages are late. Proof: by the proxies' counters all others went later, within four standard
    deviations and four messages; and of requests, one at a time over each of ten connections, no more are
    answered within half the delay than went at once. The kernel that this was developed on has no netem, so
    only this way was seen to work.
    """

    kind: Literal["reorder"] = "reorder"
    injection = Reordered
    messages = ReorderedMessages
    as_messages = (
        "messages of Kafka's protocol overtake those of other connections only, as TCP keeps the order"
    )
    percent: float = Field(ge=0.5, le=50, description="the share of packets that is sent at once, in percent")
    delay_ms: float = Field(
        default=20, ge=5, le=1000, description="how much later all others are sent, in milliseconds"
    )

    def action(self) -> dict[str, Any]:
        return {"action": "delay", "delay_ms": self.delay_ms, "share": 1 - self.percent / 100}
