"""What network faults do in the network namespaces of nodes: run scripts, and set and remove iptables rules.

Every rule carries a comment that begins with the injection's tag and a slash, so that only our rules are ever
removed, and not those of an injection whose tag has the same beginning.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import NamedTuple

from faults.network.links import Link
from faults.shared.fault_spec import InjectionContext
from faults.shared.waiting import MeasuredInjection, in_parallel, unless_ended
from faults.shared.words import node_name
from faults.targets.fault_cluster import CommandOutput
from harness.model.errors import FaultError
from harness.model.node_layout import CLIENT

_VIEW_SECONDS = 0.4


def address(context: InjectionContext, node: int) -> str:
    """Where packets of a node, or of the clients, come from on the cluster's network."""
    return context.cluster.client_address if node == CLIENT else context.cluster.address(node)


def run_script(context: InjectionContext, node: int, text: str) -> CommandOutput | None:
    """What a script in the node's namespace printed; None: the node ended before or meanwhile."""
    return unless_ended(context, node, lambda: context.cluster.in_network(node, text))


def run_scripts(context: InjectionContext, nodes: Iterable[int], text: str) -> dict[int, str]:
    """What a script printed in the namespaces of all running nodes; those that have ended are left out."""
    outputs = in_parallel(context.running(nodes), lambda node: run_script(context, node, text))
    return {node: output.text for node, output in outputs.items() if output}


def refuse_failure(output: CommandOutput, node: int, problem: str, next_step: str) -> str:
    """What the script printed.

    Raises:
        FaultError: its exit code is not 0.
    """
    if output.code != 0:
        raise FaultError(
            problem,
            where=f"network namespace of {node_name(node)}",
            found=output.text.strip(),
            next_step=next_step,
        )
    return output.text


def run_undoing(
    context: InjectionContext, nodes: Iterable[int], text: str, problem: str, next_step: str
) -> None:
    """Run a script that undoes something, in the namespaces of all running nodes at once.

    Raises:
        FaultError: `problem`, where it failed and the node still runs.
    """

    def undo(node: int) -> None:
        output = run_script(context, node, text)
        if output is not None:
            refuse_failure(output, node, problem, next_step)

    in_parallel(context.running(nodes), undo)


def probe_and_query(
    context: InjectionContext, nodes: Iterable[int], script: Callable[[int], str], *, query: bool
) -> tuple[dict[int, str], set[int]]:
    """Run a script in the namespaces of all running nodes at once and, if `query`, send requests to the
    brokers as a client until all have ended. Returns what the scripts printed, without the nodes that have
    ended, and the brokers that answered."""
    up = context.running(nodes)
    with ThreadPoolExecutor(max_workers=len(up) or 1) as pool:
        probes = {node: pool.submit(run_script, context, node, script(node)) for node in up}
        answered = _query_until_done(context, tuple(probes.values())) if query else set()
    outputs = {node: probe.result() for node, probe in probes.items()}
    return {node: output.text for node, output in outputs.items() if output is not None}, answered


def _query_until_done(
    context: InjectionContext, probes: tuple[Future[CommandOutput | None], ...]
) -> set[int]:
    answered: set[int] = set()
    while True:
        view = context.cluster.view((context.topic,), timeout=_VIEW_SECONDS)
        answered |= {seen.broker for seen in view.answered()}
        if not wait(probes, timeout=0.05).not_done:
            return answered


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


class IptablesInjection(MeasuredInjection):
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
        problem = "the rules of a network fault could not be removed"
        next_step = "restart that node's container: its rules die with it"
        run_undoing(context, self.nodes, remove_script(context.tag), problem, next_step)

    def restarted(self, context: InjectionContext, node: int) -> bool:
        return node in self.holders and self._insert(context, node)

    def _insert(self, context: InjectionContext, node: int) -> bool:
        """Whether any rule was missing."""
        rules = self.rules(context, node)
        output = context.cluster.in_network(node, insert_script(rules, context.tag))
        problem = "the rules of a network fault could not be set"
        text = refuse_failure(output, node, problem, "`kafka-chaos doctor` shows whether iptables works here")
        return "put" in text.split()


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
        other for cut in wanted for end, other in (cut, cut.back) if end in barred and other not in barred
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
    name = f"cut-{cut.name}"
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
