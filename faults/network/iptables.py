"""Iptables rules: the injections that consist of them, in whose network namespace each cut link has its rule,
and the scripts that set and remove it.

Every rule carries a comment that begins with the injection's tag and a slash, so that only our rules are ever
removed, and not those of an injection whose tag has the same beginning.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

from faults.network.links import Link
from faults.network.namespace_scripts import refuse_failure, run_script
from faults.shared.fault_spec import InjectionContext
from faults.shared.waiting import Measured, in_parallel
from harness.model.node_layout import CLIENT


class IptablesRule(NamedTuple):
    """One iptables rule: `name` identifies it within its injection; without `drop` it only counts."""

    chain: str
    match: str
    name: str
    drop: bool = True

    def text(self, tag: str) -> str:
        """Chain, match and target, as iptables takes them after -A, -C, -D or -I."""
        jump = " -j DROP" if self.drop else ""
        return f"{self.chain} {self.match} -m comment --comment {tag}/{self.name}{jump}"


class IptablesInjection(Measured):
    """Rules in the network namespaces of its `holders`. A namespace dies with its container, and its rules
    with it, so a node that restarts gets them again."""

    @property
    def holders(self) -> tuple[int, ...]:
        """The nodes whose namespaces hold a rule."""
        return self.nodes

    @abstractmethod
    def rules(self, context: InjectionContext, node: int) -> list[IptablesRule]:
        """The rules in this holder's namespace."""

    def apply(self, context: InjectionContext) -> None:
        in_parallel(context.running(self.holders), lambda node: self._insert(context, node))

    def undo(self, context: InjectionContext) -> None:
        # Not only the holders: a proof that was interrupted leaves counting rules at other nodes too.
        in_parallel(context.running(self.nodes), lambda node: self._remove(context, node))

    def restarted(self, context: InjectionContext, node: int) -> bool:
        return node in self.holders and self._insert(context, node)

    def _insert(self, context: InjectionContext, node: int) -> bool:
        """Whether any rule was missing."""
        rules = self.rules(context, node)
        output = context.cluster.in_network(node, insert_script(rules, context.tag))
        problem = "the rules of a network fault could not be set"
        text = refuse_failure(output, node, problem, "`kafka-chaos doctor` shows whether iptables works here")
        return "put" in text.split()

    def _remove(self, context: InjectionContext, node: int) -> None:
        output = run_script(context, node, remove_script(context.tag))
        if output is not None:
            problem = "the rules of a network fault could not be removed"
            refuse_failure(output, node, problem, "restart that node's container: its rules die with it")


class Placed(NamedTuple):
    """A link that is cut, and the node in whose network namespace the rule is: one of its two ends."""

    cut: Link
    holder: int


def with_holders(cuts: Iterable[Link], unable: Collection[int] = ()) -> tuple[Placed, ...]:
    """Choose the node that holds each cut's rule, such that few namespaces are needed: each costs a sidecar.

    A rule can be at the receiver (INPUT) or at the sender (OUTPUT), so the holders are a vertex cover of the
    cuts. It is chosen greedily: first the cuts that leave no choice, then the node with most cuts left, the
    lowest id of equals. Nodes that are `unable` hold a rule only where both ends are; the client never does.
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


def _holder(cut: Link, chosen: Collection[int]) -> int:
    if cut.receiver in chosen:
        return cut.receiver
    return cut.sender if cut.sender in chosen or cut.receiver == CLIENT else cut.receiver


def drop_rule(placed: Placed, address: str) -> IptablesRule:
    """The rule of a cut, in its holder's namespace; `address` is that of its other end."""
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
    """Remove every rule of the tag (whose name begins with `names`); fails if one is left, but not if there
    is none."""
    return f"""iptables-save -t filter | grep -F -- {tag}/{names} | sed 's/^-A/-D/' | while read -r rule; do
  eval iptables -w "$rule" || exit 1
done
! iptables-save -t filter | grep -qF -- {tag}/{names}
"""
