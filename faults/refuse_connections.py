"""Refuse connections: nodes cannot open new connections to others; those that are open go on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from faults.base import Evidence, FaultSpec, Injection, InjectionContext, node_name, node_names
from faults.network.namespace_scripts import in_parallel, insert_rules, remove_rules, run_script, running
from faults.network.proof import counting_script
from faults.network.rules import IptablesRule, insert_script
from faults.network.sides import possible_nodes
from faults.target_context import ClusterShape
from faults.targets import Target
from harness.model.errors import FaultError
from harness.model.node_layout import CLIENT, CONTROLLER_PORT, INTERNAL_PORT
from harness.model.polling import seen_within

_PROOF_SECONDS = 6.0
_HEAL_SECONDS = 20.0
_OPENED = "opened"


def refuse_rule(address: str, node: int) -> IptablesRule:
    """Drops the packets that open a connection to a node."""
    return IptablesRule("OUTPUT", f"-p tcp -d {address} --syn", f"cut-{node}")


def try_script(peers: Mapping[int, tuple[str, int]]) -> str:
    """Tries a connection to each peer (address, port); prints `opened NODE` for each that is made."""
    lines = [
        f'timeout 0.4 bash -c "</dev/tcp/{address}/{port}" 2>/dev/null && echo "{_OPENED} {node}" &'
        for node, (address, port) in sorted(peers.items())
    ]
    return "\n".join([*lines, "wait"])


def parse_opened(text: str) -> set[int]:
    """The nodes to which a connection was made, from what the script printed."""
    lines = (line.split() for line in text.splitlines())
    return {int(words[1]) for words in lines if len(words) == 2 and words[0] == _OPENED}


class ConnectionsRefused(Injection):
    """These nodes open no connection to those others any more."""

    kind: Literal["refuse_connections"] = "refuse_connections"
    side: tuple[int, ...]
    others: tuple[int, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted({*self.side, *self.others}))

    @property
    def target(self) -> str:
        return f"{node_names(self.side)} to {node_names(self.others)}"

    def apply(self, context: InjectionContext) -> None:
        in_parallel(running(context, self.side), lambda node: self._put(context, node))

    def verify(self, context: InjectionContext) -> Evidence:
        deadline = time.monotonic() + _PROOF_SECONDS
        while True:
            evidence = judge(self._tried(context))
            if evidence.seen or time.monotonic() > deadline:
                return evidence

    def undo(self, context: InjectionContext) -> None:
        in_parallel(running(context, self.side), lambda node: remove_rules(context, node))

    def healed(self, context: InjectionContext) -> Evidence:
        left = seen_within(_HEAL_SECONDS, lambda: self._refused(context), every=0.2)
        if left is not None:
            raise FaultError(
                "connections are no longer refused, and still none is made",
                where=self.target,
                expected=f"a connection within {_HEAL_SECONDS:g} s",
                found=left,
                next_step="see the logs of these nodes in the run folder",
            )
        return Evidence(True, "no rule is left, and connections are made")

    def restarted(self, context: InjectionContext, node: int) -> bool:
        return node in self.side and "put" in self._put(context, node).split()

    def _put(self, context: InjectionContext, node: int) -> str:
        rules = [refuse_rule(context.cluster.address(other), other) for other in self.others]
        return insert_rules(context, node, insert_script(rules, context.tag))

    def _tried(self, context: InjectionContext) -> dict[int, set[int]]:
        """By node, to which of the others that run a connection was made now."""
        peers = {
            other: (
                context.cluster.address(other),
                CONTROLLER_PORT if other in context.cluster.controller_ids else INTERNAL_PORT,
            )
            for other in running(context, self.others)
        }
        watch = counting_script((), context.tag, try_script(peers))
        looks = in_parallel(running(context, self.side), lambda node: run_script(context, node, watch))
        return {node: parse_opened(output.text) for node, output in looks.items() if output is not None}

    def _refused(self, context: InjectionContext) -> str | None:
        there = set(running(context, self.others))
        missing = {node: there - made for node, made in self._tried(context).items() if there - made}
        told = [f"{node_name(node)} to {node_names(others)}" for node, others in missing.items()]
        return f"no connection: {'; '.join(told)}" if told else None


def judge(tried: Mapping[int, set[int]]) -> Evidence:
    """Whether no node opened a connection."""
    facts: dict[str, object] = {node_name(node): {"opened": sorted(made)} for node, made in tried.items()}
    if not tried:
        return Evidence(False, "none of these nodes runs: there is nobody to open a connection", facts)
    wrong = [
        f"{node_name(node)} opened a connection to {node_names(made)}" for node, made in tried.items() if made
    ]
    if wrong:
        return Evidence(False, "; ".join(wrong), facts)
    return Evidence(True, f"{node_names(tried)} opened no connection, though it tried", facts)


class RefuseConnections(FaultSpec):
    """Nodes cannot open new connections to others; connections that are open go on, as when a firewall
    forgets a rule.

    What Kafka does: a broker keeps one connection to the active controller for heartbeats, and opens another
    when it first has to change an ISR. So it lives on, is not fenced, and hears of all that the controller
    decides; but its own requests for changes of an ISR (AlterPartition, KIP-497) wait until this is healed,
    and are as old then (KIP-903). A node that was connected with the others before hardly notices.

    Proof: from each node a connection to each of the others is tried, and none is made.
    """

    kind: Literal["refuse_connections"] = "refuse_connections"
    needs: ClassVar[tuple[str, ...]] = ("iptables",)
    injection: ClassVar[type[Injection]] = ConnectionsRefused
    side: Target = Field(alias="from", description="which nodes cannot open connections")
    other: Target = Field(alias="to", description="to which nodes they cannot")

    def aim(self, context: InjectionContext) -> ConnectionsRefused:
        snapshot = context.snapshot()
        side = tuple(node for node in self.side.resolve(snapshot) if node != CLIENT)
        others = tuple(node for node in self.other.resolve(snapshot) if node not in (*side, CLIENT))
        if not side or not others:
            raise FaultError(
                "connections are refused between two sides of nodes",
                where=f"from {self.side}, to {self.other}",
                expected="a node on either side",
                found=f"from {node_names(side) or 'none'}, to {node_names(others) or 'none'}",
                next_step="choose targets that mean different nodes, and not the client",
            )
        return ConnectionsRefused(side=side, others=others)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        for target in (self.side, self.other):
            if possible_nodes(target, shape) <= {CLIENT}:
                raise ValueError(f"target `{target}`: connections are refused between nodes, not the client")
        return ()
