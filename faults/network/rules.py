"""Who does not hear whom, in whose network namespace that is done, and the iptables scripts that do it.

Every rule carries a comment that begins with the injection's tag and a slash, so that only ours are ever
removed, and not those of an injection whose tag begins alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

from harness.model.node_layout import CLIENT


class LinkCut(NamedTuple):
    """Packets from `sender` do not reach `receiver` (node ids; CLIENT stands for the clients)."""

    sender: int
    receiver: int

    @property
    def back(self) -> LinkCut:
        """The other direction."""
        return LinkCut(self.receiver, self.sender)


class Placed(NamedTuple):
    """A cut, and the node in whose network namespace its rule lives: one of the two ends."""

    cut: LinkCut
    holder: int


class IptablesRule(NamedTuple):
    """One iptables rule: `name` tells it from the others of its injection; without `drop` it only counts."""

    chain: str
    match: str
    name: str
    drop: bool = True

    def text(self, tag: str) -> str:
        """Chain, match and target, as iptables takes them after -A, -C, -D or -I."""
        jump = " -j DROP" if self.drop else ""
        return f"{self.chain} {self.match} -m comment --comment {tag}/{self.name}{jump}"


def place(cuts: Iterable[LinkCut], unable: Collection[int] = ()) -> tuple[Placed, ...]:
    """Where each cut's rule lives, such that few namespaces are touched: each costs a sidecar.

    A cut can live at its receiver (INPUT) or at its sender (OUTPUT), so the holders are a vertex cover of
    the cuts. It is chosen greedily: first what has no choice, then the node with most cuts left, the lowest
    id of equals. Nodes that are `unable` hold a rule only where both ends are; the client never does.
    """
    wanted = sorted(set(cuts))
    barred = {CLIENT, *unable}
    chosen = {
        other for cut in wanted for one, other in (cut, cut.back) if one in barred and other not in barred
    }
    left = [cut for cut in wanted if not chosen & set(cut) and not barred >= set(cut)]
    while left:
        degrees = Counter(node for cut in left for node in cut)
        best = min(degrees, key=lambda node: (-degrees[node], node))
        chosen.add(best)
        left = [cut for cut in left if best not in cut]
    return tuple(Placed(cut, _holder(cut, chosen)) for cut in wanted)


def _holder(cut: LinkCut, chosen: Collection[int]) -> int:
    if cut.receiver in chosen:
        return cut.receiver
    return cut.sender if cut.sender in chosen or cut.receiver == CLIENT else cut.receiver


def drop_rule(placed: Placed, address: str) -> IptablesRule:
    """What makes a cut, in its holder's namespace; `address` is that of its other end."""
    cut, holder = placed
    name = f"cut-{cut.sender}-{cut.receiver}"
    if holder == cut.receiver:
        return IptablesRule("INPUT", f"-s {address}", name)
    return IptablesRule("OUTPUT", f"-d {address}", name)


def insert_script(rules: Iterable[IptablesRule], tag: str) -> str:
    """Put each rule first in its chain, unless it is there already; prints `put` for each that was not."""
    lines = [f"put {rule.text(tag)}" for rule in rules]
    return """set -e
put() { iptables -w -C "$@" 2>/dev/null || { iptables -w -I "$@" && echo put; }; }
""" + "\n".join(lines)


def remove_script(tag: str, names: str = "") -> str:
    """Remove every rule of the tag (whose name begins with `names`); fails if one is left. Nothing to remove
    is no failure."""
    return f"""iptables-save -t filter | grep -F -- {tag}/{names} | sed 's/^-A/-D/' | while read -r rule; do
  eval iptables -w "$rule" || exit 1
done
! iptables-save -t filter | grep -qF -- {tag}/{names}
"""
