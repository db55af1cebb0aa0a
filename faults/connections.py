"""Hold and refuse connections: those that are open now carry nothing, or new ones cannot be opened."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from faults.network.client_traffic import BrokerClientFault, await_answers
from faults.network.iptables import IptablesInjection, IptablesRule
from faults.network.namespace_scripts import run_script
from faults.network.partition_proof import counting_script
from faults.shared.fault_spec import Evidence, FaultSpec, InjectionContext, node_name, node_names
from faults.shared.waiting import await_or_fail, in_parallel
from faults.targets import Target
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from harness.model.node_layout import CLIENT, CLIENT_PORT, CONTROLLER_PORT, INTERNAL_PORT

_ESTABLISHED = "01"
_PEERS = "cat /proc/net/tcp /proc/net/tcp6"
_COUNTERS = "iptables-save -c -t filter"
_HEAL_SECONDS = 20.0
_OPENED = "opened"


def client_ports(text: str) -> tuple[int, ...]:
    """The client ports of established connections to the client listener, from /proc/net/tcp and tcp6."""
    found = set()
    for line in text.splitlines():
        columns = line.split()
        if len(columns) > 3 and columns[3] == _ESTABLISHED:
            here, there = (int(columns[column].rpartition(":")[2], 16) for column in (1, 2))
            if here == CLIENT_PORT:
                found.add(there)
    return tuple(sorted(found))


def dropped_packets(text: str, tag: str) -> int:
    """The number of packets that the rules of a tag have dropped, from `iptables-save -c`."""
    return sum(
        int(found[1])
        for line in text.splitlines()
        if f"{tag}/hold-" in line and (found := re.match(r"\[(\d+):\d+\]", line))
    )


class ConnectionsHeld(IptablesInjection):
    """What clients send over these connections, by broker and the client's port, is dropped."""

    proof_pause = 0.1
    ports: dict[int, tuple[int, ...]]

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(self.ports)

    def rules(self, context: InjectionContext, node: int) -> list[IptablesRule]:
        client = context.cluster.client_address
        return [
            IptablesRule("INPUT", f"-p tcp -s {client} --sport {port} --dport {CLIENT_PORT}", f"hold-{port}")
            for port in self.ports[node]
        ]

    def healed(self, context: InjectionContext) -> Evidence:
        return await_answers(
            context, self, "connections are no longer held, and still a new one is not answered"
        )

    def restarted(self, context: InjectionContext, node: int) -> bool:  # noqa: ARG002
        # The connections that were held ended with the broker's process.
        return False

    def measure(self, context: InjectionContext) -> Evidence:
        outputs = in_parallel(context.running(self.ports), lambda node: run_script(context, node, _COUNTERS))
        dropped = {
            node: dropped_packets(output.text, context.tag) for node, output in outputs.items() if output
        }
        return judge_held(self.ports, dropped, context.answering())


def judge_held(
    ports: Mapping[int, tuple[int, ...]], counted: Mapping[int, int], answering: set[int]
) -> Evidence:
    """Whether packets of the held connections were dropped, while new ones are answered."""
    facts: dict[str, object] = {
        f"broker {broker}": {"held": len(held), "dropped": counted.get(broker, 0)}
        for broker, held in ports.items()
    }
    wrong = [f"broker {broker}: no packet was dropped" for broker in ports if not counted.get(broker)]
    wrong += [f"broker {broker} answers no new connection" for broker in ports if broker not in answering]
    if wrong:
        return Evidence(False, "; ".join(wrong[:3]), facts)
    held = sum(map(len, ports.values()))
    packets = sum(counted.values())
    what = f"{packets} packets of {held} connection(s) dropped, and a new connection is answered"
    return Evidence(True, what, facts)


class HoldConnections(BrokerClientFault):
    """What clients have sent, or send, over connections with these brokers that are open now does not arrive;
    connections that are opened later work. This is what happens when a router loses one of several paths.

    What Kafka does: the client waits for its response, gives up after request.timeout.ms (the Java client;
    librdkafka: socket.timeout.ms), and sends the request again over a new connection. The kernel keeps
    trying to deliver the old one: after healing it arrives, long after the client has moved on. The question
    is what a broker then makes of it: of a Produce request (KIP-890), of an EndTxn request (KAFKA-17754).

    The old requests arrive up to as long after healing as the fault was open, since TCP doubles its
    retransmission interval each time. The harness's own requests over such connections are not answered
    either, until it opens others.

    Proof: the rules drop packets of these connections, and a request over a new connection is answered.
    """

    kind: Literal["hold_connections"] = "hold_connections"
    needs = ("iptables",)
    injection = ConnectionsHeld
    why_brokers = "only brokers have connections with clients"

    def aim(self, context: InjectionContext) -> ConnectionsHeld:
        brokers = self.brokers(context)
        outputs = in_parallel(context.running(brokers), lambda node: run_script(context, node, _PEERS))
        ports = {node: client_ports(output.text) for node, output in outputs.items() if output}
        found = {broker: held for broker, held in ports.items() if held}
        if not found:
            raise FaultError(
                "there is no connection to hold",
                where=str(self.target),
                expected="a client's connection with a running broker among them",
                found=node_names(brokers),
                next_step="inject it after a producer has connected to these brokers",
            )
        return ConnectionsHeld(ports=found)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        return ("the harness's own requests over such connections are not answered, until it opens others",)


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
        script = counting_script((), context.tag, try_script(peers))
        outputs = in_parallel(context.running(self.side), lambda node: run_script(context, node, script))
        return {node: parse_opened(output.text) for node, output in outputs.items() if output}

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
