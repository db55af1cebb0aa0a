"""Latency and jitter: packets are delayed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from faults.network.link_fault import LinkFault, Shaped, ping
from faults.network.link_probe import Echoes
from faults.network.links import NETEM, UNLIMITED, Link, ways
from faults.shared.fault_spec import Evidence, Injection, InjectionContext

_COUNT = 400
# The allowed deviation of a round trip from what was asked (timers, a busy machine): in ms, or this share.
_SLACK_MS, _SLACK = 3.0, 0.1
# Of a uniform distribution of half-width 1 the middle 80 % are 1.6 wide; of the sum of two, 2.21.
_WIDTH = {1: 1.6, 2: 2.21}
_WIDTH_SLACK = 0.3


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
        found = ping(context, self.trips(context), count=50, seconds=0.1, size=64, wait=0.2)
        if isinstance(found, str):
            return self
        trips = tuple((*link, round(echoes.median_ms, 3)) for link, echoes in found.items())
        return self.model_copy(update={"baseline": trips})


class DelayFault(LinkFault):
    """Base of faults that delay packets: the round trips before the fault are measured for its proof."""

    injection = Delayed

    def aim(self, context: InjectionContext) -> Injection:
        injection = super().aim(context)
        assert isinstance(injection, Delayed)
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

    Needs netem (kernel module sch_netem). The kernel that this was developed on does not have it: commands
    and measuring are tested, but the fault itself was not seen to work.

    Proof: the median round trip of 400 ICMP echoes is longer than before by the delay, within 10 % or 3 ms.
    """

    kind: Literal["latency"] = "latency"
    delay_ms: float = Field(ge=1, le=5000, description="delay of each packet, in milliseconds")


class Jitter(DelayFault):
    """Every packet that the target sends to its peers arrives later, each by another delay: evenly
    distributed from `delay_ms - spread_ms` to `delay_ms + spread_ms`, so packets overtake each other too.

    What Kafka does: as under `latency`; the latency of requests varies as that of their packets. TCP takes
    overtaken packets for lost ones, and sends some of them again.

    Needs netem (kernel module sch_netem). The kernel that this was developed on does not have it: commands
    and measuring are tested, but the fault itself was not seen to work.

    Proof: of 400 ICMP echoes the median round trip is longer than before by the delay, within 10 % or 3 ms
    (and 10 % of the spread), and the middle 80 % of them are as wide as such a distribution is, within 30 %
    or 3 ms.
    """

    kind: Literal["jitter"] = "jitter"
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
