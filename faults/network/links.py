"""Links: ordered pairs of nodes, and the scripts that shape their packets by queueing disciplines.

All shaping of one network namespace is below one root, an HTB discipline with a handle of our own. Each
injection has one class there, and u32 filters that direct packets to certain addresses into it; packets that
match no filter are unaffected. A discipline carries no comment, so the number of the class, and the priority
of its filters, come from the injection's tag: undoing an injection removes only its own, and the last one the
root.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable
from ipaddress import IPv4Address
from typing import NamedTuple

from harness.model.node_layout import CLIENT

HANDLE = "4b43"
"""Handle of the root discipline ("KC"). Nothing else shapes a node's namespace, so such a root is ours."""
UNLIMITED = "10gbit"
"""The rate of a class that does not limit the rate."""
NETEM = "netem limit 20000"
"""The discipline in the leaf of a class that disturbs packets, with the length of its queue in packets."""
TAKEN = "taken"
"""What a script prints when a link is shaped by another injection."""


class Link(NamedTuple):
    """Packets from `sender` to `receiver` (node ids; CLIENT means the clients)."""

    sender: int
    receiver: int

    @property
    def back(self) -> Link:
        """The other direction."""
        return Link(self.receiver, self.sender)

    @property
    def name(self) -> str:
        """The link in the name of a rule: "1-2", or "client-2"."""
        return "-".join("client" if node == CLIENT else str(node) for node in self)

    def other_end(self, node: int) -> int:
        """The end that is not this node."""
        return self.sender if node == self.receiver else self.receiver


def between(senders: Iterable[int], receivers: Iterable[int]) -> tuple[Link, ...]:
    """Every link from one of the senders to one of the receivers, ascending; no node has a link to itself."""
    there = tuple(receivers)
    return tuple(
        sorted({Link(sender, receiver) for sender in senders for receiver in there if sender != receiver})
    )


def ways(links: Collection[Link], link: Link) -> int:
    """The number of a round trip's two directions that are among the links."""
    return (link in links) + (link.back in links)


def minor_of(tag: str) -> int:
    """The class number of an injection, from its tag. The probability that two tags share one is 1 in 65,000:
    the second injection is then refused."""
    return 1 + zlib.crc32(tag.encode()) % 0xFFFE


def class_of(minor: int) -> str:
    """The class as tc writes it."""
    return f"{HANDLE}:{minor:x}"


def hexadecimal(address: str) -> str:
    """An address as u32 filters show it."""
    return f"{int(IPv4Address(address)):08x}"


DEVICE = "sed -n 's/.* dev \\([^ ]*\\).*/\\1/p'"
"""Reads the device off what `ip route get` prints."""
_SHAPED = """perl -lne '$id = $1 if /flowid (\\S+)/; print "$1 $id" if m{match (\\w{8})/ffffffff at 16}'"""


def shape_script(minor: int, rate: str, leaf: str, addresses: Collection[str]) -> str:
    """Direct packets to these addresses into a class of this rate with this discipline in its leaf.

    Prints `put` if anything was missing. Fails, with nothing changed, if one of the links is shaped by
    another injection: a packet goes into one class only.
    """
    mine = class_of(minor)
    words = {hexadecimal(address): address for address in addresses}
    refusals = "\n".join(
        f'case "$(owner {word})" in "" | {mine}) ;; '
        f'*) echo "{TAKEN}: what goes to {address} is shaped by another fault"; exit 3 ;; esac'
        for word, address in words.items()
    )
    filters = "\n".join(
        f'[ -n "$(owner {word})" ] || {{ tc filter add dev "$dev" parent {HANDLE}: protocol ip pref {minor} '
        f"u32 match ip dst {address}/32 flowid {mine}; echo put; }}"
        for word, address in words.items()
    )
    return f"""set -e
dev=$(ip -o route get {next(iter(words.values()))} | {DEVICE})
shaped=$(tc filter show dev "$dev" parent {HANDLE}: 2>/dev/null | {_SHAPED})
owner() {{ sed -n "s/^$1 //p" <<< "$shaped"; }}
has() {{ grep -q -- "$2" <<< "$(tc "$1" show dev "$dev")"; }}
{refusals}
if grep ' {mine}$' <<< "$shaped" | grep -qvE '^({"|".join(words)}) '; then
  echo "{TAKEN}: another fault has class {mine}"; exit 3
fi
has qdisc '^qdisc htb {HANDLE}: root ' || tc qdisc add dev "$dev" root handle {HANDLE}: htb direct_qlen 1000
has class '^class htb {mine} ' ||
  {{ tc class add dev "$dev" classid {mine} htb rate {rate} quantum 60000; echo put; }}
has qdisc ' parent {mine} ' || {{ tc qdisc add dev "$dev" parent {mine} {leaf}; echo put; }}
{filters}
"""


def unshape_script(minor: int) -> str:
    """Remove the class and its filters, and the root with the last class; fails if the class is left, but not
    if there is none. Packets that wait in the class are dropped."""
    mine = class_of(minor)
    return f"""set -e
for dev in $(tc qdisc show | sed -n 's/^qdisc htb {HANDLE}: dev \\([^ ]*\\) root .*/\\1/p'); do
  if tc filter show dev "$dev" parent {HANDLE}: | grep -q ' pref {minor} '; then
    tc filter del dev "$dev" parent {HANDLE}: pref {minor}
  fi
  if tc class show dev "$dev" | grep -q '^class htb {mine} '; then tc class del dev "$dev" classid {mine}; fi
  if ! tc class show dev "$dev" | grep -q '^class htb'; then tc qdisc del dev "$dev" root handle {HANDLE}:; fi
done
"""
