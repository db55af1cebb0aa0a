"""Bandwidth, latency and jitter: links with a low rate, or whose packets are delayed."""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from faults.network.link_fault import Shaped, ping
from faults.network.link_probe import Echoes, Flow, flood_script, parse_flood
from faults.network.links import DEVICE, NETEM, UNLIMITED, Link, class_of, hexadecimal, ways
from faults.network.namespaces import address, run_script
from faults.proxied.link_messages import DelayedMessages, EitherWay, SlowedMessages
from faults.shared.fault_spec import Evidence, Injection, InjectionContext
from faults.shared.waiting import in_parallel
from faults.shared.words import node_name, node_names
from harness.model.node_layout import CLIENT

_RATE = re.compile(r"^(\d+(?:\.\d+)?) ?(kbit|mbit)$")
_SLOWEST, _FASTEST = 0.064, 50.0
_TOLERANCE = 0.25
_SECONDS = 1.5
_COUNT = 400
# The allowed deviation of a round trip from what was asked (timers, a busy machine): in ms, or this share.
_SLACK_MS, _SLACK = 3.0, 0.1
# Of a uniform distribution of half-width 1 the middle 80 % are 1.6 wide; of the sum of two, 2.21.
_WIDTH = {1: 1.6, 2: 2.21}
_WIDTH_SLACK = 0.3

BandwidthFacts = dict[str, float | None]


def mbit_of(rate: str) -> float:
    """Megabits per second: "2mbit" -> 2.0, "512kbit" -> 0.512.

    Raises:
        ValueError: it is not such a rate, or too low or high to be proved.
    """
    match = _RATE.match(rate)
    if match is None:
        raise ValueError(f"{rate!r} is not a rate: write a number and kbit or mbit, such as 2mbit or 512kbit")
    mbit = float(match[1]) * (1e-3 if match[2] == "kbit" else 1)
    if not _SLOWEST <= mbit <= _FASTEST:
        raise ValueError(f"{rate!r} is not between 64kbit and 50mbit: it could not be measured")
    return mbit


class Slowed(Shaped):
    """The packets of each sender over these links share `rate`."""

    rate: str

    def discipline(self) -> tuple[str, str]:
        mbit = mbit_of(self.rate)
        # The kernel passes up to 64 kB of a connection at once, as much as 512 kbit/s carry in a second. A
        # token bucket that is too small for that, and too fast to matter, splits it into packets. Its queue
        # holds as much as the link carries in half a second, as a router's may.
        queue = min(1_500_000, max(16_000, round(mbit * 1e6 / 8 / 2)))
        return f"{round(mbit * 1000)}kbit", f"tbf rate {UNLIMITED} burst 3100 limit {queue}"

    def measure(self, context: InjectionContext) -> Evidence:
        up = {CLIENT, *context.running(self.nodes)}
        peers: dict[int, list[int]] = {}
        for link in self.links:
            if link.sender in up and link.receiver in up:
                peers.setdefault(link.sender, []).append(link.receiver)
        if not peers:
            return Evidence(False, f"{node_names(self.senders)} does not run, or none of its peers does")
        results = in_parallel(peers, lambda node: self._measure(context, node, peers[node]))
        facts: dict[str, object] = {node_name(node): measured for node, (_, _, measured) in results.items()}
        wrong = [f"{node_name(node)}: {what}" for node, (good, what, _) in results.items() if not good]
        shown = [f"{node_name(node)}: {what}" for node, (_, what, _) in results.items()]
        return Evidence(not wrong, "; ".join(wrong or shown), facts)

    def _measure(
        self, context: InjectionContext, node: int, peers: list[int]
    ) -> tuple[bool, str, BandwidthFacts]:
        """Whether this sender's links have the rate that was asked for, in words, and the facts."""
        mbit, mine = mbit_of(self.rate), [address(context, peer) for peer in peers]
        taken = {link.receiver for link in self.links if link.sender == node} | {node}
        others = {*context.cluster.broker_ids, *context.cluster.controller_ids} - taken
        spared = [address(context, other) for other in (*context.running(others), *({CLIENT} - taken))]
        output = run_script(context, node, measure_script(mbit, class_of(self.minor), mine, spared))
        if output is None:
            return False, "it has ended meanwhile", {}
        slow, _, free = output.text.partition("spared\n")
        flow, other = parse_flood(slow), parse_flood(free)
        if flow is None:
            return False, f"could not measure: {output.text.strip()}", {}
        return judge_flow(mbit, flow, None if other is None else other.back)


def measure_script(mbit: float, traffic_class: str, slow: list[str], spared: list[str]) -> str:
    """Flood the slow addresses, then the first of the others that no other fault shapes."""
    flood = partial(flood_script, mbit=mbit, seconds=_SECONDS, device="$dev", traffic_class=traffic_class)
    script = f"dev=$(ip -o route get {slow[0]} | {DEVICE})\n" + flood(slow)
    if not spared:
        return script
    words = " ".join(f"{hexadecimal(address)}/{address}" for address in spared)
    # Ends as soon as four times the bytes have passed that would pass at the low rate.
    enough = int(4 * mbit * 1e6 / 8 * _SECONDS)
    return f"""{script}shaped=$(tc filter show dev "$dev" 2>/dev/null)
for peer in {words}; do
  if ! grep -q "match ${{peer%/*}}/" <<< "$shaped"; then
    echo spared
    {flood(["${peer#*/}"], enough=enough)}    break
  fi
done
"""


def judge_flow(asked: float, flow: Flow, spared: float | None) -> tuple[bool, str, BandwidthFacts]:
    """Whether a measurement shows a link of this rate, in words, and the facts. `spared` is the rate to a
    node that is not slowed (None: there is none); if it is 0, another fault is the cause. All rates are in
    Mbit/s."""
    measured = {"asked": asked, "flood": flow.back, "class": flow.through, "spared": spared or None}
    facts: BandwidthFacts = {f"{key}_mbit": value and round(value, 4) for key, value in measured.items()}
    low, high = asked * (1 - _TOLERANCE), asked * (1 + _TOLERANCE)
    if flow.back > high:
        return False, f"{flow.back:.3g} Mbit/s pass, {asked:g} asked", facts
    if flow.through is None:
        return False, "the class of this fault is not there", facts
    good, what = low <= flow.through <= high, f"{flow.through:.3g} Mbit/s pass, {asked:g} asked"
    if spared:
        good, what = good and spared > high, f"{what}; {spared:.3g} to a node that is spared"
    return good, what, facts


class Bandwidth(EitherWay):
    """What the target sends to its peers is limited to this rate: all peers share it, as they share a network
    card. What it receives, and what it sends to other nodes, is not slowed.

    Packets wait in a queue of the sender (HTB, with u32 filters by destination) that holds as much as the
    link carries in half a second; packets that do not fit, and those that wait there when the fault ends, are
    dropped, and retransmitted by TCP. A link is shaped by one fault at a time: a second one of any kind
    except `loss`, from the same node to the same peer, is refused; to other peers it has a class of its own.

    What Kafka does: a follower to which the leader cannot send fast enough falls behind. Under acks=1 the
    producer does not wait for it, and when it has not caught up for replica.lag.time.max.ms it leaves the ISR
    (KIP-16). Under acks=all writes wait for the follower, so the producer slows down to its rate, and the ISR
    may remain complete. On links to the client, reads are slow, and responses wait behind each other.

    Proof: while more ICMP echoes than the link can carry are sent to the peers, the class sends at the rate
    that was asked for, measured over 1.5 s within 25 %; no more echoes than that come back; and the rate to a
    node that is not slowed, if there is one, is higher.

    By the proxies (`by: proxy`, or where the kernel lacks HTB or TBF): each connection has this rate, instead
    of all together, and the bytes of Kafka's messages are counted, without TCP's headers. No packet is
    dropped: what does not fit waits, in the end in the sender's socket. Proof: the proxies' counters; and as
    many bytes of requests (or responses) as pass in 150 ms at that rate take 85 to 150 % of that time, or up
    to 30 ms more on a busy machine. To clients, which only small responses can show, no rate above 10mbit can
    be proved.
    """

    kind: Literal["bandwidth"] = "bandwidth"
    needs = ("tc htb", "tc tbf", "raw sockets")
    external = "containers"
    injection = Slowed
    messages = SlowedMessages
    as_messages = "each connection is limited in the bytes of Kafka's messages that it passes per second"
    rate: str = Field(
        pattern=_RATE.pattern,
        description="maximum rate per second: a number and `kbit` or `mbit` (1,000 and 1,000,000 bits, "
        "headers included), between 64kbit and 50mbit",
    )

    @field_validator("rate")
    @classmethod
    def _measurable(cls, rate: str) -> str:
        mbit_of(rate)
        return rate

    def action(self) -> dict[str, Any]:
        return {"action": "bandwidth", "bytes_per_second": round(mbit_of(self.rate) * 1e6 / 8)}


class Delayed(Shaped):
    """Packets of these links wait `delay_ms`, plus or minus `spread_ms`. `baseline` holds the median round
    trips before that: (measured from, to, milliseconds)."""

    delay_ms: float
    spread_ms: float = 0.0
    baseline: tuple[tuple[int, int, float], ...] = ()

    def discipline(self) -> tuple[str, str]:
        spread = f" {self.spread_ms:g}ms" if self.spread_ms else ""
        return UNLIMITED, f"{NETEM} delay {self.delay_ms:g}ms{spread}"

    def measure(self, context: InjectionContext) -> Evidence:
        before = {Link(here, there): trip for here, there, trip in self.baseline}
        # Until the first answer is back.
        wait = 0.3 + 2 * (self.delay_ms + self.spread_ms) / 1e3

        def judge(link: Link, echoes: Echoes) -> tuple[bool, str]:
            return self.judge(ways(self.links, link), before.get(link, 0.0), echoes)

        return self.ping_and_judge(context, judge, count=_COUNT, seconds=0.8, size=64, wait=wait)

    def judge(self, directions: int, before: float, echoes: Echoes) -> tuple[bool, str]:
        """Whether echoes show the delay in this number of directions of their way, and what was measured."""
        if not echoes.answers:
            return False, "no echo came back"
        asked, seen = directions * self.delay_ms, echoes.median_ms - before
        good = abs(seen - asked) <= max(_SLACK_MS, _SLACK * asked) + _SLACK * self.spread_ms
        what = f"round trips {seen:.1f} ms longer, {asked:g} asked"
        if self.spread_ms:
            wide = _WIDTH[directions] * self.spread_ms
            good = good and abs(echoes.width_ms - wide) <= max(_SLACK_MS, _WIDTH_SLACK * wide)
            what += f"; 80 % of them within {echoes.width_ms:.1f} ms, {wide:.1f} asked"
        return good, what

    def with_baseline(self, context: InjectionContext) -> Delayed:
        """The same with its baseline; must be called before the fault is applied. A round trip that cannot be
        measured counts as 0."""
        measured = ping(context, self.trips(context), count=50, seconds=0.1, size=64, wait=0.2)
        if isinstance(measured, str):
            return self
        trips = tuple((*link, round(echoes.median_ms, 3)) for link, echoes in measured.items())
        return self.model_copy(update={"baseline": trips})


class DelayFault(EitherWay):
    """Base of faults that delay packets: the round trips before the fault are measured for its proof."""

    injection = Delayed
    messages = DelayedMessages

    def aim(self, context: InjectionContext) -> Injection:
        injection = super().aim(context)
        assert isinstance(injection, Delayed | DelayedMessages)
        return injection.with_baseline(context)


class Latency(DelayFault):
    """Every packet that the target sends to its peers arrives later by this delay; packets that it receives
    do not, so a round trip takes longer by one delay. For both directions, target both ends.

    What Kafka does: a write under acks=all waits until the followers have fetched it and confirmed it with
    their next fetch, so the delays between leader and followers add up; under acks=1 only those to the client
    count. The throughput of one connection is at most what may be in flight (socket buffers,
    max.in.flight.requests, replica.fetch.max.bytes) per round trip. No replica leaves the ISR, unless it
    cannot catch up within replica.lag.time.max.ms (KIP-16), and no broker is fenced while heartbeats arrive
    within broker.session.timeout.ms (KIP-631): they are late, but not fewer.

    Proof: the median round trip of 400 ICMP echoes is longer than before by the delay, within 10 % or 3 ms.

    By the proxies (`by: proxy`, or where the kernel has no netem, module sch_netem): each message of Kafka's
    protocol waits, not each packet, so opening a connection and TCP's acknowledgements are not slower, and
    what is in flight is not limited by socket buffers. Proof: the proxies' counters; and the median request
    is answered later than the quickest one before, by 85 to 150 % of the delay, or up to 30 ms more on a busy
    machine; or not one request is answered within the delay, where a busy machine was slow before. The kernel
    that this was developed on has no netem, so only this way was seen to work.
    """

    kind: Literal["latency"] = "latency"
    as_messages = "messages of Kafka's protocol are delayed, not packets"
    delay_ms: float = Field(ge=1, le=5000, description="delay of each packet, in milliseconds")

    def action(self) -> dict[str, Any]:
        return {"action": "delay", "delay_ms": self.delay_ms}


class Jitter(DelayFault):
    """Every packet that the target sends to its peers arrives later, each by another delay: evenly
    distributed from `delay_ms - spread_ms` to `delay_ms + spread_ms`, so packets overtake each other too.

    What Kafka does: as under `latency`; the latency of requests varies as that of their packets. TCP takes
    overtaken packets for lost ones, and sends some of them again.

    Proof: of 400 ICMP echoes the median round trip is longer than before by the delay, within 10 % or 3 ms
    (and 10 % of the spread), and the middle 80 % of them are as wide as such a distribution is, within 30 %
    or 3 ms.

    By the proxies (`by: proxy`, or where the kernel has no netem, module sch_netem): as under `latency`, of
    messages. Within a connection a message waits for those before it, so TCP sees nothing overtaken. Proof:
    as under `latency` by the proxies, and the width as the delay. The kernel that this was developed on has
    no netem, so only this way was seen to work.
    """

    kind: Literal["jitter"] = "jitter"
    as_messages = "messages of Kafka's protocol are delayed, not packets, and do not overtake in a connection"
    delay_ms: float = Field(ge=1, le=5000, description="mean delay of packets, in ms")
    spread_ms: float = Field(gt=0, le=5000, description="greatest deviation of delays from it, in ms")

    @model_validator(mode="after")
    def _not_early(self) -> Jitter:
        if self.spread_ms > self.delay_ms:
            raise ValueError(
                f"spread_ms is {self.spread_ms:g}, more than delay_ms, {self.delay_ms:g}: packets "
                "cannot arrive before they were sent"
            )
        return self

    def action(self) -> dict[str, Any]:
        return {"action": "delay", "delay_ms": self.delay_ms, "jitter_ms": self.spread_ms}
