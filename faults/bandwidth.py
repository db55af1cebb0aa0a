"""Bandwidth: links with a low rate."""

from __future__ import annotations

import re
from functools import partial
from typing import Literal

from pydantic import Field, field_validator

from faults.network.link_fault import LinkFault, Shaped
from faults.network.link_probe import Flow, flood_script, parse_flood
from faults.network.links import DEVICE, UNLIMITED, class_of, hexadecimal
from faults.network.namespace_scripts import address, run_script
from faults.shared.fault_spec import Evidence, InjectionContext, node_name, node_names
from faults.shared.waiting import in_parallel
from harness.model.node_layout import CLIENT

_RATE = re.compile(r"^(\d+(?:\.\d+)?) ?(kbit|mbit)$")
_SLOWEST, _FASTEST = 0.064, 50.0
_TOLERANCE = 0.25
_SECONDS = 1.5

BandwidthFacts = dict[str, float | None]


def mbit_of(rate: str) -> float:
    """Megabits per second: "2mbit" -> 2.0, "512kbit" -> 0.512.

    Raises:
        ValueError: it is not such a rate, or too low or high to be proved.
    """
    found = _RATE.match(rate)
    if found is None:
        raise ValueError(f"{rate!r} is not a rate: write a number and kbit or mbit, such as 2mbit or 512kbit")
    mbit = float(found[1]) * (1e-3 if found[2] == "kbit" else 1)
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
        found = in_parallel(peers, lambda node: self._measure(context, node, peers[node]))
        facts: dict[str, object] = {node_name(node): measured for node, (_, _, measured) in found.items()}
        wrong = [f"{node_name(node)}: {what}" for node, (good, what, _) in found.items() if not good]
        shown = [f"{node_name(node)}: {what}" for node, (_, what, _) in found.items()]
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


class Bandwidth(LinkFault):
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
    """

    kind: Literal["bandwidth"] = "bandwidth"
    needs = ("tc htb", "tc tbf", "raw sockets")
    external = "containers"
    injection = Slowed
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
