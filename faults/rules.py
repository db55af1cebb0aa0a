"""Who drops whom, as data, and the iptables scripts that make it so.

Every rule carries a comment with the injection's tag, so that only ours are ever removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

PROBE_PORT = 9094
"""The listener between brokers: a connection to it is what a cut must prevent."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Packets from `sender` do not reach `receiver` (Kafka node ids)."""

    sender: int
    receiver: int


def symmetric(here: Iterable[int], there: Iterable[int]) -> frozenset[Cut]:
    """Neither side hears the other; brokers on the same side do."""
    other = tuple(there)
    return frozenset(
        cut for one in here for two in other if one != two for cut in (Cut(one, two), Cut(two, one))
    )


def insert_script(peers: Sequence[tuple[str, str]], tag: str) -> str:
    """Drop, in (chain, address) pairs: INPUT means coming from it, OUTPUT going to it."""
    side = {"INPUT": "-s", "OUTPUT": "-d"}
    lines = [
        f"iptables -w -I {chain} {side[chain]} {address} -m comment --comment {tag} -j DROP"
        for chain, address in peers
    ]
    return "set -e\n" + "\n".join(lines)


def probe_script(addresses: Sequence[str], tag: str, tries: int = 20) -> str:
    """Try to connect to each address, then print the rules' counters, once one has risen or after 2 s."""
    probes = "\n".join(
        f"timeout 0.3 bash -c '</dev/tcp/{address}/{PROBE_PORT}' 2>/dev/null && echo reached {address}"
        for address in addresses
    )
    return f"""{probes}
for _ in $(seq {tries}); do
  rules=$(iptables -w -nvxL | grep -F {tag})
  if awk '$1 > 0 {{ found = 1 }} END {{ exit !found }}' <<< "$rules"; then break; fi
  sleep 0.1
done
echo "$rules"
"""


def remove_script(tag: str) -> str:
    """Remove every rule that carries the tag; fails if one is left. Nothing to remove is no failure."""
    return f"""iptables-save | grep -F -- {tag} | sed 's/^-A/-D/' | while read -r rule; do
  eval iptables -w "$rule" || exit 1
done
! iptables-save | grep -qF -- {tag}
"""
