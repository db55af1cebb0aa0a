"""Refuse connections: new ones cannot be opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from faults.network.namespaces import IptablesInjection, IptablesRule, run_scripts
from faults.network.partition_proof import counting_script
from faults.shared.fault_spec import Evidence, FaultSpec, InjectionContext
from faults.shared.waiting import await_or_fail
from faults.shared.words import node_name, node_names
from faults.targets import Target
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from harness.model.node_layout import CLIENT, CONTROLLER_PORT, INTERNAL_PORT

_HEAL_SECONDS = 20.0
_OPENED = "opened"


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


class ConnectionsRefused(IptablesInjection):
    """The nodes of `side` cannot open connections to the `others`."""

    side: tuple[int, ...]
    others: tuple[int, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted({*self.side, *self.others}))

    @property
    def target(self) -> str:
        return f"{node_names(self.side)} to {node_names(self.others)}"

    @property
    def holders(self) -> tuple[int, ...]:
        return self.side

    def rules(self, context: InjectionContext, node: int) -> list[IptablesRule]:  # noqa: ARG002
        # Only the packets that open a connection.
        return [
            IptablesRule("OUTPUT", f"-p tcp -d {context.cluster.address(other)} --syn", f"cut-{other}")
            for other in self.others
        ]

    def measure(self, context: InjectionContext) -> Evidence:
        return judge_opened(self._try_all(context))

    def healed(self, context: InjectionContext) -> Evidence:
        await_or_fail(
            _HEAL_SECONDS,
            lambda: self._unconnected(context),
            "connections are no longer refused, and still none can be opened",
            where=self.target,
            expected="a connection",
            next_step="see the logs of these nodes in the run folder",
            every=0.2,
        )
        return Evidence(True, "no rule is left, and connections can be opened")

    def _try_all(self, context: InjectionContext) -> dict[int, set[int]]:
        """By node, to which of the running others it could open a connection now."""
        peers = {
            other: (
                context.cluster.address(other),
                CONTROLLER_PORT if other in context.cluster.controller_ids else INTERNAL_PORT,
            )
            for other in context.running(self.others)
        }
        texts = run_scripts(context, self.side, counting_script((), context.tag, try_script(peers)))
        return {node: parse_opened(text) for node, text in texts.items()}

    def _unconnected(self, context: InjectionContext) -> str | None:
        up = set(context.running(self.others))
        missing = {node: up - peers for node, peers in self._try_all(context).items() if up - peers}
        words = [f"{node_name(node)} to {node_names(others)}" for node, others in missing.items()]
        return f"no connection: {'; '.join(words)}" if words else None


def judge_opened(tried: Mapping[int, set[int]]) -> Evidence:
    """Whether no node opened a connection."""
    facts: dict[str, object] = {node_name(node): {"opened": sorted(made)} for node, made in tried.items()}
    if not tried:
        return Evidence(False, "none of these nodes runs, so none could open a connection", facts)
    wrong = [
        f"{node_name(node)} opened a connection to {node_names(made)}" for node, made in tried.items() if made
    ]
    if wrong:
        return Evidence(False, "; ".join(wrong), facts)
    return Evidence(True, f"{node_names(tried)} opened no connection, though it tried", facts)


class RefuseConnections(FaultSpec):
    """Nodes cannot open new connections to others; connections that are open continue, as when a firewall
    loses a rule.

    What Kafka does: a broker keeps one connection to the active controller for heartbeats, and opens another
    when it first has to change an ISR. So it stays alive, is not fenced, and learns all that the controller
    decides; but its own requests to change an ISR (AlterPartition, KIP-497) wait until this is healed, and
    are outdated by then (KIP-903). A node that had all its connections open is hardly affected.

    Proof: from each node a connection to each of the others is tried, and none is opened.
    """

    kind: Literal["refuse_connections"] = "refuse_connections"
    needs = ("iptables",)
    injection = ConnectionsRefused
    side: Target = Field(alias="from", description="the nodes that cannot open connections")
    other: Target = Field(alias="to", description="the nodes to which they cannot")

    def aim(self, context: InjectionContext) -> ConnectionsRefused:
        snapshot = context.snapshot()
        side = tuple(node for node in self.side.resolve(snapshot) if node != CLIENT)
        others = tuple(node for node in self.other.resolve(snapshot) if node not in (*side, CLIENT))
        if not side or not others:
            raise FaultError(
                "connections are refused between two sides of nodes",
                where=f"from {self.side}, to {self.other}",
                expected="at least one node on each side",
                found=f"from {node_names(side) or 'none'}, to {node_names(others) or 'none'}",
                next_step="choose targets that mean different nodes, and not the client",
            )
        return ConnectionsRefused(side=side, others=others)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        for target in (self.side, self.other):
            if target.possible_nodes(shape) <= {CLIENT}:
                raise ValueError(f"target `{target}`: connections are refused between nodes, not the client")
        return ()
