"""Hold connections: what clients send over connections that are open now does not arrive; new ones work."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from faults.network.client_traffic import BrokerClientFault, await_answers
from faults.network.iptables import IptablesInjection, IptablesRule
from faults.network.namespace_scripts import run_script
from faults.shared.fault_spec import Evidence, InjectionContext, node_names
from faults.shared.waiting import in_parallel
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from harness.model.node_layout import CLIENT_PORT

_ESTABLISHED = "01"
_PEERS = "cat /proc/net/tcp /proc/net/tcp6"
_COUNTERS = "iptables-save -c -t filter"


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


def hold_rule(client: str, port: int) -> IptablesRule:
    """Drops what a client sends from one of its ports to the client listener."""
    return IptablesRule("INPUT", f"-p tcp -s {client} --sport {port} --dport {CLIENT_PORT}", f"hold-{port}")


def dropped_packets(text: str, tag: str) -> int:
    """The number of packets that the rules of a tag have dropped, from `iptables-save -c`."""
    return sum(
        int(found[1])
        for line in text.splitlines()
        if f"{tag}/hold-" in line and (found := re.match(r"\[(\d+):\d+\]", line))
    )


class ConnectionsHeld(IptablesInjection):
    """What clients send over these connections, by broker and the client's port, is dropped."""

    kind: Literal["hold_connections"] = "hold_connections"
    proof_pause = 0.1
    ports: dict[int, tuple[int, ...]]

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(self.ports)

    def rules(self, context: InjectionContext, node: int) -> list[IptablesRule]:
        return [hold_rule(context.cluster.client_address, port) for port in self.ports[node]]

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
        return judge(self.ports, dropped, context.answering())


def judge(ports: Mapping[int, tuple[int, ...]], counted: Mapping[int, int], answering: set[int]) -> Evidence:
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
