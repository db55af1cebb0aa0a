"""Reordered, duplicated and corrupted packets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar, Literal

from pydantic import Field

from faults.base import Evidence, Injection, InjectionContext
from faults.network.link_fault import LinkFault, Shaped, shaping_fields
from faults.network.link_probe import Echoes, bounds, enough_for
from faults.network.links import NETEM, UNLIMITED, Link, ways
from faults.network.namespace_scripts import in_parallel, run_script, running
from harness.model.node_layout import CLIENT

_SECONDS = 1.0
# Behind the ICMP header; nearly all flipped bits of such a packet are where its checksums see them.
_LARGE = 1000
_SNMP = "cat /proc/net/snmp"
_REORDER_SLACK = 0.25


class Reordered(Shaped):
    """`percent` of the packets of these links are sent at once, all others `delay_ms` later."""

    kind: Literal["reorder"] = "reorder"
    percent: float
    delay_ms: float

    def discipline(self) -> tuple[str, str]:
        return UNLIMITED, f"{NETEM} delay {self.delay_ms:g}ms reorder {self.percent:g}%"

    def look(self, context: InjectionContext) -> Evidence:
        count = enough_for(self.percent / 100)

        def say(link: Link, echoes: Echoes) -> tuple[bool, str]:
            asked = self.overtaking(ways(self.links, link), count)
            low = bounds(echoes.sent, asked * (1 - _REORDER_SLACK))[0]
            high = bounds(echoes.sent, min(1.0, asked * (1 + _REORDER_SLACK)))[1]
            seen = 100 * echoes.overtaking / echoes.sent
            what = f"{seen:.1f} % of {echoes.sent} overtook earlier ones, {100 * asked:.3g} % expected"
            return low <= echoes.overtaking <= high, what

        wait = 0.3 + 2 * self.delay_ms / 1e3
        return self.judged(
            context, self.ping(context, count=count, seconds=_SECONDS, size=64, wait=wait), say
        )

    def overtaking(self, directions: int, count: int) -> float:
        """The share of packets that overtake: those sent at once, if one of those sent within the delay
        before was not."""
        share = self.percent / 100
        behind = max(1, round(count * self.delay_ms / 1e3 / _SECONDS))
        each = share * (1 - share**behind)
        return 1 - (1 - each) ** directions


class Duplicated(Shaped):
    """`percent` of the packets of these links are sent twice."""

    kind: Literal["duplicate_packets"] = "duplicate_packets"
    percent: float

    def discipline(self) -> tuple[str, str]:
        return UNLIMITED, f"{NETEM} duplicate {self.percent:g}%"

    def look(self, context: InjectionContext) -> Evidence:
        share = self.percent / 100

        def say(link: Link, echoes: Echoes) -> tuple[bool, str]:
            directions = ways(self.links, link)
            # In both directions a copy may be copied again.
            asked = (1 + share) ** directions - 1
            variance = share * (1 - share) * (1 if directions == 1 else (1 + share) * (2 + share))
            low, high = bounds(echoes.sent, asked, variance)
            seen = 100 * echoes.copies / echoes.sent
            what = f"{seen:.1f} % copies of {echoes.sent}, {100 * asked:.3g} % asked"
            return low <= echoes.copies <= high, what

        how = {"count": enough_for(share), "seconds": _SECONDS, "size": 64, "wait": 0.3}
        return self.judged(context, self.ping(context, **how), say)


class PacketsCorrupted(Shaped):
    """One bit is flipped in `percent` of the packets of these links."""

    kind: Literal["corrupt_packets"] = "corrupt_packets"
    percent: float

    def discipline(self) -> tuple[str, str]:
        return UNLIMITED, f"{NETEM} corrupt {self.percent:g}%"

    def look(self, context: InjectionContext) -> Evidence:
        share = self.percent / 100
        lost = 0

        def say(link: Link, echoes: Echoes) -> tuple[bool, str]:
            nonlocal lost
            asked = 1 - (1 - share) ** ways(self.links, link)
            low, high = bounds(echoes.sent, asked)
            lost += 0 if CLIENT in link else echoes.lost
            seen = 100 * echoes.lost / echoes.sent
            what = f"{seen:.1f} % of {echoes.sent} were not understood, {100 * asked:.3g} % asked"
            return low <= echoes.lost <= high, what

        nodes = running(context, self.nodes)
        before = _bad_checksums(context, nodes)
        how = {"count": enough_for(share), "seconds": _SECONDS, "size": _LARGE, "wait": 0.3}
        evidence = self.judged(context, self.ping(context, **how), say)
        bad = _bad_checksums(context, nodes) - before
        facts = {**evidence.facts, "bad_checksums": bad}
        if evidence.seen and bad < lost / 2:
            what = f"{lost} echoes vanished, but {bad} bad checksums were counted: lost, not corrupt"
            return Evidence(False, what, facts)
        return Evidence(evidence.seen, f"{evidence.what}; {bad} bad checksums counted", facts)


def bad_checksums(text: str) -> int:
    """ICMP messages dropped for their checksum, from a namespace's /proc/net/snmp."""
    lines = re.findall(r"^Icmp: (.*)$", text, re.MULTILINE)
    if len(lines) != 2:
        return 0
    values = dict(zip(lines[0].split(), lines[1].split(), strict=True))
    return int(values.get("InCsumErrors", 0))


def _bad_checksums(context: InjectionContext, nodes: Iterable[int]) -> int:
    outputs = in_parallel(nodes, lambda node: run_script(context, node, _SNMP))
    return sum(bad_checksums(output.text) for output in outputs.values() if output is not None)


class Reorder(LinkFault):
    """Packets that the target sends to its peers overtake each other: this share of them is sent at once, all
    others `delay_ms` later.

    What Kafka does: nothing, for TCP puts packets back in order. But it takes overtaken packets for lost
    ones, sends some of them again, and slows down; and most packets are late, as under `latency`. Nothing
    that a reader or a replica sees comes in another order: this is to be shown.

    Needs netem (kernel module sch_netem). The kernel that this was developed on has none: commands and
    measuring are tested, but the fault itself was not seen to work.

    Proof: of at least 1,000 ICMP echoes, sent in 1 s, as many are answered before an earlier one as the
    percentage says (a little fewer: one sent at once that has only such before it overtakes nobody), within
    25 % and four standard deviations.
    """

    kind: Literal["reorder"] = "reorder"
    injection: ClassVar[type[Injection]] = Reordered
    percent: float = Field(ge=0.5, le=50, description="how many of the packets are sent at once, in percent")
    delay_ms: float = Field(
        default=20, ge=5, le=1000, description="how much later all others are sent, in milliseconds"
    )

    def aim(self, context: InjectionContext) -> Reordered:
        links = self.chosen(context)
        return Reordered(**shaping_fields(context, links), percent=self.percent, delay_ms=self.delay_ms)


class DuplicatePackets(LinkFault):
    """A share of the packets that the target sends to its peers arrives twice.

    What Kafka does: nothing, for TCP drops what it has already. No record is written twice: this is to be
    shown. Newer kernels allow no other netem beside one that duplicates in the same network namespace:
    then a second fault of these kinds on the same target is refused, whatever its peers.

    Needs netem (kernel module sch_netem). The kernel that this was developed on has none: commands and
    measuring are tested, but the fault itself was not seen to work.

    Proof: of at least 1,000 ICMP echoes over each round trip as many are answered twice as the percentage
    says, within four standard deviations (and four more).
    """

    kind: Literal["duplicate_packets"] = "duplicate_packets"
    injection: ClassVar[type[Injection]] = Duplicated
    percent: float = Field(ge=0.5, le=99.5, description="how many of the packets arrive twice, in percent")

    def aim(self, context: InjectionContext) -> Duplicated:
        return Duplicated(**shaping_fields(context, self.chosen(context)), percent=self.percent)


class CorruptPackets(LinkFault):
    """One bit is flipped in a share of the packets that the target sends to its peers.

    What Kafka does: it never sees them. The receiver's kernel finds a wrong checksum (IP, TCP) and drops the
    packet, so that this is `loss` with another cause; behind the checksums of TCP stand those of Kafka's
    record batches (CRC-32C, KIP-98), which a broker verifies on produce, and a follower on fetch.

    Needs netem (kernel module sch_netem). The kernel that this was developed on has none: commands and
    measuring are tested, but the fault itself was not seen to work.

    Proof: of at least 1,000 ICMP echoes of 1,000 bytes as many stay unanswered as the percentage says, within
    four standard deviations (and four more), and the receivers' kernels count at least half as many messages
    with a bad checksum (the other end being the client, whose counters are not ours, only the former).
    """

    kind: Literal["corrupt_packets"] = "corrupt_packets"
    injection: ClassVar[type[Injection]] = PacketsCorrupted
    percent: float = Field(ge=0.5, le=99.5, description="how many of the packets are corrupted, in percent")

    def aim(self, context: InjectionContext) -> PacketsCorrupted:
        return PacketsCorrupted(**shaping_fields(context, self.chosen(context)), percent=self.percent)
