"""Cuts between nodes: applied, proved, taken back, and put in again after a restart."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from faults.base import Evidence, Injection, InjectionContext, node_name, node_names
from faults.leadership import await_rejoined
from faults.network.namespace_scripts import (
    address,
    in_parallel,
    insert_rules,
    query_until_done,
    remove_rules,
    run_script,
    running,
)
from faults.network.proof import both_directions, judge, parse_report, probe_script
from faults.network.rules import LinkCut, Placed, drop_rule, insert_script, place
from harness.model.errors import FaultError
from harness.model.node_layout import CLIENT, CONTROLLER_PORT, INTERNAL_PORT, ZOOKEEPER_PORT
from harness.model.polling import seen_within

"""Listeners between brokers, and of separate controllers: connections to them are what a cut prevents."""
_PROOF_SECONDS = 6.0
_HEAL_SECONDS = 20.0


class Cuts(Injection):
    """Nodes that do not hear each other. `placed` says which, and where each rule lives; `words` names the
    sides."""

    placed: tuple[Placed, ...]
    words: str

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted({node for placed in self.placed for node in placed.cut}))

    @property
    def target(self) -> str:
        return self.words

    def apply(self, context: InjectionContext) -> None:
        holders = {placed.holder for placed in self.placed}
        in_parallel(running(context, holders), lambda node: self._put(context, node))

    def verify(self, context: InjectionContext) -> Evidence:
        deadline = time.monotonic() + _PROOF_SECONDS
        while True:
            evidence = self._look(context)
            if evidence.seen or time.monotonic() > deadline:
                return evidence

    def undo(self, context: InjectionContext) -> None:
        # Not only the holders: a proof that was interrupted leaves counting rules at the others too. A
        # namespace dies with its container, and its rules with it.
        in_parallel(running(context, self.nodes), lambda node: remove_rules(context, node))

    def healed(self, context: InjectionContext) -> Evidence:
        left = seen_within(_HEAL_SECONDS, lambda: self._deaf(context), every=0.2)
        if left is not None:
            raise FaultError(
                "a network cut was taken back, and still nothing crosses it",
                where=self.target,
                expected=f"connections across it within {_HEAL_SECONDS:g} s",
                found=left,
                next_step="`iptables-save` in these nodes' network namespaces shows what else drops packets",
            )
        thawed = tuple(
            node
            for node in running(context, self.nodes)
            if node != CLIENT and not context.cluster.is_paused(node)
        )
        await_rejoined(context, thawed)
        return Evidence(True, "no rule is left, connections are made across, and all are back in the ISR")

    def restarted(self, context: InjectionContext, node: int) -> bool:
        # Rules die with a container. Its new process needs a second and more before it opens a connection.
        if not any(placed.holder == node for placed in self.placed):
            return False
        return "put" in self._put(context, node).split()

    def _put(self, context: InjectionContext, node: int) -> str:
        rules = []
        for placed in self.placed:
            if placed.holder == node:
                other = placed.cut.sender if node == placed.cut.receiver else placed.cut.receiver
                rules.append(drop_rule(placed, address(context, other)))
        return insert_rules(context, node, insert_script(rules, context.tag))

    def _look(self, context: InjectionContext) -> Evidence:
        cuts = [placed.cut for placed in self.placed]
        addresses = {node: address(context, node) for node in self.nodes}
        ports = _ports(context)
        answered: set[int] = set()
        nodes = running(context, self.nodes)
        with ThreadPoolExecutor(max_workers=len(nodes) or 1) as pool:
            looks = {
                node: pool.submit(
                    run_script,
                    context,
                    node,
                    probe_script(node, [cut for cut in cuts if node in cut], addresses, ports, context.tag),
                )
                for node in nodes
            }
            if CLIENT in addresses:
                answered = query_until_done(context, looks.values())
        outputs = {node: look.result() for node, look in looks.items()}
        reports = {node: parse_report(output.text) for node, output in outputs.items() if output is not None}
        return judge(self.placed, reports, answered)

    def _deaf(self, context: InjectionContext) -> str | None:
        """The first pair that no connection crosses; None: all are whole again."""
        up = running(context, self.nodes)
        ports = _ports(context)
        ways = sorted(
            way for way in both_directions(placed.cut for placed in self.placed) if CLIENT not in way
        )
        # One direction of each pair is enough: a connection needs both.
        tries = {
            node: [
                way.receiver for way in ways if way.sender == node and way < way.back and way.receiver in up
            ]
            for node in up
        }

        def missed(node: int) -> set[int]:
            lines = [
                f"timeout 2 bash -c '</dev/tcp/{address(context, peer)}/{ports[peer]}' && echo {peer} &"
                for peer in tries[node]
            ]
            output = run_script(context, node, "\n".join(["exec 2>/dev/null", *lines, "wait"]))
            # A node that has ended meanwhile is looked at no more.
            return set() if output is None else set(tries[node]) - {int(line) for line in output.text.split()}

        found = in_parallel([node for node in up if tries[node]], missed)
        for node, peers in found.items():
            if peers:
                return f"{node_name(node)} does not reach {node_names(peers)}"
        return self._unanswered(context, up)

    def _unanswered(self, context: InjectionContext, up: tuple[int, ...]) -> str | None:
        asked = {node for placed in self.placed for node in placed.cut if CLIENT in placed.cut} & set(up)
        if not asked:
            return None
        quiet = asked - {seen.broker for seen in context.cluster.view((context.topic,)).answered()}
        return f"{node_names(quiet)} does not answer the client" if quiet else None


def place_cuts(kind: type[Cuts], context: InjectionContext, cuts: Iterable[LinkCut], words: str) -> Cuts:
    """An injection of these cuts, its rules placed among the nodes that run.

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
    return kind(placed=place(possible, nodes - set(running(context, nodes))), words=words)


def _ports(context: InjectionContext) -> Mapping[int, int]:
    cluster = context.cluster
    return {
        **dict.fromkeys(cluster.controller_ids, CONTROLLER_PORT),
        **dict.fromkeys(cluster.zookeeper_ids, ZOOKEEPER_PORT),
        # Of a broker that is a controller too, the brokers' listener.
        **dict.fromkeys(cluster.broker_ids, INTERNAL_PORT),
    }
