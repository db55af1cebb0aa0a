"""Cuts between nodes: applied, proved, undone, and applied again after a restart; and which nodes do not hear
each other, after the grudges of Jepsen's nemesis."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import permutations
from typing import Literal

from faults.network.links import Link
from faults.network.links import between as links_between
from faults.network.namespaces import (
    IptablesInjection,
    IptablesRule,
    Placed,
    address,
    drop_rule,
    probe_and_query,
    run_script,
    with_holders,
)
from faults.network.partition_proof import both_directions, judge, parse_report, probe_script
from faults.shared.fault_spec import Evidence, InjectionContext
from faults.shared.waiting import await_or_fail, await_rejoined, in_parallel
from faults.shared.words import node_name, node_names
from harness.model.errors import FaultError
from harness.model.node_layout import (
    CLIENT,
    CONTROLLER_PORT,
    INTERNAL_PORT,
    ZOOKEEPER_PORT,
    is_application,
)

_HEAL_SECONDS = 20.0
_DISCARD_PORT = 9

Lost = Literal["both", "from_to", "to_from"]
"""Which packets between two sides are lost."""


class Cuts(IptablesInjection):
    """Nodes that do not hear each other. `placed` holds the cuts and the node that holds each one's rule;
    `words` names the sides."""

    placed: tuple[Placed, ...]
    words: str
    # A busy machine runs the scripts of two nodes one after the other, and then one does not hear the other.
    proof_seconds = 20.0

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted({node for placed in self.placed for node in placed.cut}))

    @property
    def target(self) -> str:
        return self.words

    @property
    def holders(self) -> tuple[int, ...]:
        return tuple(sorted({placed.holder for placed in self.placed}))

    def rules(self, context: InjectionContext, node: int) -> list[IptablesRule]:
        mine = [placed for placed in self.placed if placed.holder == node]
        return [drop_rule(placed, address(context, placed.cut.other_end(node))) for placed in mine]

    def healed(self, context: InjectionContext) -> Evidence:
        await_or_fail(
            _HEAL_SECONDS,
            lambda: self._unconnected(context),
            "a network cut was undone, and still no packets cross it",
            where=self.target,
            expected="connections across it",
            next_step="`iptables-save` in these nodes' network namespaces shows what else drops packets",
            every=0.2,
        )
        up = (node for node in context.running(self.nodes) if not context.cluster.is_paused(node))
        await_rejoined(context, tuple(up))
        return Evidence(True, "no rule is left, connections can be opened, and all nodes are back in the ISR")

    def measure(self, context: InjectionContext) -> Evidence:
        cuts = [placed.cut for placed in self.placed]
        addresses = {node: address(context, node) for node in self.nodes}
        ports = _ports(context)

        def script(node: int) -> str:
            return probe_script(node, [cut for cut in cuts if node in cut], addresses, ports, context.tag)

        texts, answered = probe_and_query(context, self.nodes, script, query=CLIENT in addresses)
        return judge(self.placed, {node: parse_report(text) for node, text in texts.items()}, answered)

    def _unconnected(self, context: InjectionContext) -> str | None:
        """The first pair of nodes without a connection, in words; None: all can connect again."""
        up = context.running(self.nodes)
        ports = _ports(context)
        ways = sorted(
            way for way in both_directions(placed.cut for placed in self.placed) if CLIENT not in way
        )
        # One direction of each pair is enough: a connection needs both.
        tries = {
            node: [way.receiver for way in ways if way.sender == node and _tried(way) and way.receiver in up]
            for node in up
        }

        def missed(node: int) -> set[int]:
            lines = [
                f"timeout 2 bash -c '</dev/tcp/{address(context, peer)}/{ports[peer]}' && echo {peer} &"
                for peer in tries[node]
            ]
            output = run_script(context, node, "\n".join(["exec 2>/dev/null", *lines, "wait"]))
            # A node that has ended meanwhile does not count.
            return set() if output is None else set(tries[node]) - {int(line) for line in output.text.split()}

        unreached = in_parallel([node for node in up if tries[node]], missed)
        for node, peers in unreached.items():
            if peers:
                return f"{node_name(node)} does not reach {node_names(peers)}"
        asked = {node for placed in self.placed for node in placed.cut if CLIENT in placed.cut} & set(up)
        quiet = asked and asked - context.answering()
        return f"{node_names(quiet)} does not answer the client" if quiet else None


def injection_of_cuts(context: InjectionContext, cuts: Iterable[Link], words: str) -> Cuts:
    """An injection of these cuts, with its rules placed at nodes that run.

    Raises:
        FaultError: there is nothing to cut.
    """
    brokers = set(context.cluster.broker_ids)
    # Clients never talk to separate controllers.
    possible = {cut for cut in cuts if CLIENT not in cut or brokers & set(cut)}
    if not possible:
        raise FaultError(
            "there is nothing to cut",
            where=words,
            expected="nodes on two sides",
            found="no two of them are on different sides",
            next_step="choose targets that differ",
        )
    nodes = {node for cut in possible for node in cut}
    return Cuts(placed=with_holders(possible, nodes - set(context.running(nodes))), words=words)


def _tried(way: Link) -> bool:
    """Whether a connection is opened this way: one of both directions, and towards a node that listens."""
    if any(map(is_application, way)):
        return not is_application(way.receiver)
    return way < way.back


def _ports(context: InjectionContext) -> Mapping[int, int]:
    cluster = context.cluster
    return {
        **dict.fromkeys(cluster.controller_ids, CONTROLLER_PORT),
        **dict.fromkeys(cluster.zookeeper_ids, ZOOKEEPER_PORT),
        # For a broker that is also a controller: the brokers' listener.
        **dict.fromkeys(cluster.broker_ids, INTERNAL_PORT),
        # Nothing listens there: an answer is a refusal, which needs both directions as well.
        **dict.fromkeys(cluster.application_ids, _DISCARD_PORT),
    }


def between(here: Iterable[int], there: Iterable[int], lost: Lost = "both") -> frozenset[Link]:
    """Cuts between two sides; nodes of the same side hear each other, and no node is cut from itself."""
    forth = frozenset(links_between(here, there))
    back = frozenset(cut.back for cut in forth)
    return {"both": forth | back, "from_to": forth, "to_from": back}[lost]


def ring(nodes: Collection[int]) -> frozenset[Link]:
    """Each node hears only its two neighbours by id; the lowest and the highest are neighbours. With three
    nodes or fewer all are neighbours, and nothing is cut."""
    positions = {node: position for position, node in enumerate(sorted(set(nodes)))}
    apart = len(positions) - 1
    return frozenset(
        Link(node, other)
        for node, other in permutations(positions, 2)
        if 1 < abs(positions[node] - positions[other]) < apart
    )


def halves(nodes: Collection[int], via: Collection[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The nodes except those of `via`, ascending, in two halves; the second has one more of an odd number."""
    rest = sorted(set(nodes) - set(via))
    return tuple(rest[: len(rest) // 2]), tuple(rest[len(rest) // 2 :])


def middle(nodes: Collection[int]) -> int:
    """The node that connects both halves by default: the middle one by id."""
    return sorted(set(nodes))[(len(set(nodes)) - 1) // 2]
