"""Reordered, duplicated and corrupted packets."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

from faults.network.link_fault import LinkFault, Shaped
from faults.network.link_probe import Echoes, bounds, enough_for, judge_share
from faults.network.links import NETEM, UNLIMITED, Link, ways
from faults.network.namespace_scripts import run_script
from faults.shared.fault_spec import Evidence, InjectionContext
from faults.shared.waiting import in_parallel
from harness.model.node_layout import CLIENT

_SECONDS = 1.0
# Behind the ICMP header; nearly all flipped bits of such a packet are where its checksums see them.
_LARGE = 1000
_SNMP = "cat /proc/net/snmp"
_REORDER_SLACK = 0.25


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


class Duplicated(Shaped):
    """`percent` of the packets of these links are sent twice."""

    percent: float

    def discipline(self) -> tuple[str, str]:
        return UNLIMITED, f"{NETEM} duplicate {self.percent:g}%"

    def measure(self, context: InjectionContext) -> Evidence:
        share = self.percent / 100

        def judge(link: Link, echoes: Echoes) -> tuple[bool, str]:
            directions = ways(self.links, link)
            # In both directions a copy may be copied again.
            asked = (1 + share) ** directions - 1
            variance = share * (1 - share) * (1 if directions == 1 else (1 + share) * (2 + share))
            return judge_share(echoes.copies, echoes.sent, asked, "arrived twice", variance)

        count = enough_for(share)
        return self.ping_and_judge(context, judge, count=count, seconds=_SECONDS, size=64, wait=0.3)


class PacketsCorrupted(Shaped):
    """One bit is flipped in `percent` of the packets of these links."""

    percent: float

    def discipline(self) -> tuple[str, str]:
        return UNLIMITED, f"{NETEM} corrupt {self.percent:g}%"

    def measure(self, context: InjectionContext) -> Evidence:
        share = self.percent / 100
        lost = 0

        def judge(link: Link, echoes: Echoes) -> tuple[bool, str]:
            nonlocal lost
            asked = 1 - (1 - share) ** ways(self.links, link)
            lost += 0 if CLIENT in link else echoes.lost
            return judge_share(echoes.lost, echoes.sent, asked, "were not understood")

        before = self._bad_checksums(context)
        count = enough_for(share)
        evidence = self.ping_and_judge(context, judge, count=count, seconds=_SECONDS, size=_LARGE, wait=0.3)
        bad = self._bad_checksums(context) - before
        facts = {**evidence.facts, "bad_checksums": bad}
        if evidence.seen and bad < lost / 2:
            what = f"{lost} echoes were lost, but {bad} bad checksums were counted: lost, not corrupted"
            return Evidence(False, what, facts)
        return Evidence(evidence.seen, f"{evidence.what}; {bad} bad checksums counted", facts)

    def _bad_checksums(self, context: InjectionContext) -> int:
        outputs = in_parallel(context.running(self.nodes), lambda node: run_script(context, node, _SNMP))
        return sum(bad_checksums(output.text) for output in outputs.values() if output)


def bad_checksums(text: str) -> int:
    """ICMP messages dropped for their checksum, from a namespace's /proc/net/snmp."""
    lines = re.findall(r"^Icmp: (.*)$", text, re.MULTILINE)
    if len(lines) != 2:
        return 0
    values = dict(zip(lines[0].split(), lines[1].split(), strict=True))
    return int(values.get("InCsumErrors", 0))


class Reorder(LinkFault):
    """Packets that the target sends to its peers overtake each other: this share of them is sent at once, all
    others `delay_ms` later.

    What Kafka does: nothing, since TCP puts packets back in order. But TCP takes overtaken packets for lost
    ones, sends some of them again, and slows down; and most packets are late, as under `latency`. Readers and
    replicas must not see anything in another order: a run with this fault shows whether they do.

    Needs netem (kernel module sch_netem). The kernel that this was developed on does not have it: commands
    and measuring are tested, but the fault itself was not seen to work.

    Proof: of at least 1,000 ICMP echoes, sent in 1 s, the share that is answered before an earlier one is the
    percentage (a little less: a packet sent at once after packets that were also sent at once overtakes
    none), within 25 % and four standard deviations.
    """

    kind: Literal["reorder"] = "reorder"
    injection = Reordered
    percent: float = Field(ge=0.5, le=50, description="the share of packets that is sent at once, in percent")
    delay_ms: float = Field(
        default=20, ge=5, le=1000, description="how much later all others are sent, in milliseconds"
    )


class DuplicatePackets(LinkFault):
    """A share of the packets that the target sends to its peers arrives twice.

    What Kafka does: nothing, since TCP drops what it has already. No record may be written twice: a run with
    this fault shows whether one is. Newer kernels allow no other netem beside one that duplicates in the same
    network namespace: then a second fault of these kinds on the same target is refused, whatever its peers.

    Needs netem (kernel module sch_netem). The kernel that this was developed on does not have it: commands
    and measuring are tested, but the fault itself was not seen to work.

    Proof: of at least 1,000 ICMP echoes over each round trip the share that is answered twice is the
    percentage, within four standard deviations and four echoes.
    """

    kind: Literal["duplicate_packets"] = "duplicate_packets"
    injection = Duplicated
    percent: float = Field(ge=0.5, le=99.5, description="the share of packets that arrives twice, in percent")


class CorruptPackets(LinkFault):
    """One bit is flipped in a share of the packets that the target sends to its peers.

    What Kafka does: it never sees them. The receiver's kernel finds a wrong checksum (IP, TCP) and drops the
    packet, so this is `loss` with another cause. Kafka's record batches have checksums of their own (CRC-32C,
    KIP-98), which a broker verifies on produce, and a follower on fetch.

    Needs netem (kernel module sch_netem). The kernel that this was developed on does not have it: commands
    and measuring are tested, but the fault itself was not seen to work.

    Proof: of at least 1,000 ICMP echoes of 1,000 bytes the share without an answer is the percentage, within
    four standard deviations and four echoes; and the receivers' kernels count at least half as many messages
    with a bad checksum (not on links to the client, whose counters cannot be read).
    """

    kind: Literal["corrupt_packets"] = "corrupt_packets"
    injection = PacketsCorrupted
    percent: float = Field(ge=0.5, le=99.5, description="the share of packets that is corrupted, in percent")
