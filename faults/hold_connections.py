"""Hold connections: what clients send over connections that are open now does not arrive; new ones pass."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from faults.base import Evidence, FaultSpec, Injection, InjectionContext, node_names
from faults.network.namespace_scripts import in_parallel, insert_rules, remove_rules, run_script, running
from faults.network.rules import IptablesRule, insert_script
from faults.network.sides import possible_nodes
from faults.target_context import ClusterShape
from faults.targets import Target
from harness.model.errors import FaultError
from harness.model.node_layout import CLIENT_PORT
from harness.model.polling import seen_within

_PROOF_SECONDS = 6.0
_HEAL_SECONDS = 20.0
_ESTABLISHED = "01"
_PEERS = "cat /proc/net/tcp /proc/net/tcp6"
_COUNTERS = "iptables-save -c -t filter"


def client_ports(text: str) -> tuple[int, ...]:
    """The far ports of established connections to the client listener, from /proc/net/tcp and tcp6."""
    found = set()
    for line in text.splitlines():
        columns = line.split()
        if len(columns) > 3 and columns[3] == _ESTABLISHED:
            here, there = (int(columns[place].rpartition(":")[2], 16) for place in (1, 2))
            if here == CLIENT_PORT:
                found.add(there)
    return tuple(sorted(found))


def hold_rule(client: str, port: int) -> IptablesRule:
    """Drops what a client sends from one of its ports to the client listener."""
    return IptablesRule("INPUT", f"-p tcp -s {client} --sport {port} --dport {CLIENT_PORT}", f"hold-{port}")


def dropped_packets(text: str, tag: str) -> int:
    """How many packets the rules of a tag have dropped, from `iptables-save -c`."""
    return sum(
        int(found[1])
        for line in text.splitlines()
        if f"{tag}/hold-" in line and (found := re.match(r"\[(\d+):\d+\]", line))
    )


class ConnectionsHeld(Injection):
    """What clients send over these connections, by broker and the client's port, is dropped."""

    kind: Literal["hold_connections"] = "hold_connections"
    ports: dict[int, tuple[int, ...]]

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(self.ports)

    def apply(self, context: InjectionContext) -> None:
        client = context.cluster.client_address

        def rules(broker: int) -> str:
            return insert_script([hold_rule(client, port) for port in self.ports[broker]], context.tag)

        in_parallel(running(context, self.ports), lambda broker: insert_rules(context, broker, rules(broker)))

    def verify(self, context: InjectionContext) -> Evidence:
        deadline = time.monotonic() + _PROOF_SECONDS
        while True:
            evidence = judge(self.ports, self._dropped(context), self._answering(context))
            if evidence.seen or time.monotonic() > deadline:
                return evidence
            time.sleep(0.1)

    def undo(self, context: InjectionContext) -> None:
        in_parallel(running(context, self.ports), lambda broker: remove_rules(context, broker))

    def healed(self, context: InjectionContext) -> Evidence:
        def missing() -> str | None:
            silent = set(running(context, self.ports)) - self._answering(context)
            return f"{node_names(silent)} does not answer" if silent else None

        left = seen_within(_HEAL_SECONDS, missing)
        if left is not None:
            raise FaultError(
                "connections are no longer held, and still a new one is not answered",
                where=self.target,
                expected=f"an answer to the client within {_HEAL_SECONDS:g} s",
                found=left,
                next_step="see the broker's log in the run folder",
            )
        return Evidence(True, f"no rule is left, and {self.target} answers the client")

    def _dropped(self, context: InjectionContext) -> dict[int, int]:
        looks = in_parallel(
            running(context, self.ports), lambda broker: run_script(context, broker, _COUNTERS)
        )
        return {
            broker: dropped_packets(output.text, context.tag)
            for broker, output in looks.items()
            if output is not None
        }

    @staticmethod
    def _answering(context: InjectionContext) -> set[int]:
        """The brokers that answer over a connection that is made now."""
        return {seen.broker for seen in context.cluster.view((context.topic,)).answered()}


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
    what = f"{packets} packets dropped of {held} connection(s), and a new one is answered"
    return Evidence(True, what, facts)


class HoldConnections(FaultSpec):
    """What clients have sent, or send, over connections with these brokers that are open now does not arrive;
    connections that are opened later pass. As when a router loses a path that others do not take.

    What Kafka does: the client waits for its answer, gives up after request.timeout.ms (the Java client;
    librdkafka: socket.timeout.ms), and sends the request again over a new connection. The kernel goes on
    trying to deliver the old one: when this is healed it arrives, long after the client has gone on to other
    things. What a broker then makes of it is the question: of a Produce (KIP-890), of an EndTxn
    (KAFKA-17754).

    It takes as long again as the fault was open until the old requests arrive, since TCP waits twice as long
    each time. The harness's own questions over such connections go unanswered too, until it opens others.

    Proof: the rules drop packets of these connections, and a question over a new one is answered.
    """

    kind: Literal["hold_connections"] = "hold_connections"
    needs: ClassVar[tuple[str, ...]] = ("iptables",)
    injection: ClassVar[type[Injection]] = ConnectionsHeld
    target: Target = Field(description="which brokers' connections with clients are held")

    def aim(self, context: InjectionContext) -> ConnectionsHeld:
        chosen = self.target.resolve(context.snapshot())
        brokers = running(context, (node for node in chosen if node in context.cluster.broker_ids))
        looks = in_parallel(brokers, lambda broker: run_script(context, broker, _PEERS))
        ports = {broker: client_ports(output.text) for broker, output in looks.items() if output is not None}
        found = {broker: held for broker, held in ports.items() if held}
        if not found:
            raise FaultError(
                "there is no connection to hold",
                where=str(self.target),
                expected="a client's connection with a running broker among them",
                found=node_names(chosen),
                next_step="choose a target that means brokers, after a producer has spoken to them",
            )
        return ConnectionsHeld(ports=found)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        if not possible_nodes(self.target, shape) & set(shape.broker_ids):
            raise ValueError(f"target `{self.target}`: only brokers have connections with clients")
        return ("the harness's own questions over such connections go unanswered, until it opens others",)
