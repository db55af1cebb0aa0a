"""Drop responses and hold connections: brokers and their clients do not hear each other, or only one way."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from faults.network.namespaces import IptablesInjection, IptablesRule, probe_and_query, run_scripts
from faults.network.partition_proof import ProbeReport, counting_script, parse_report
from faults.shared.broker_client_fault import BrokerClientFault, await_answers
from faults.shared.fault_spec import Evidence, InjectionContext
from faults.shared.words import node_names
from faults.targets.target_context import BaseTarget, ClusterShape
from harness.model.errors import FaultError
from harness.model.node_layout import CLIENT_PORT

_ESTABLISHED = "01"
_PEERS = "cat /proc/net/tcp /proc/net/tcp6"
_COUNTERS = "iptables-save -c -t filter"
# The clients' packets without data have 52 bytes (IP and TCP headers with timestamps) or fewer, except those
# of the handshake, which have 60.
_DATA = "--tcp-flags SYN NONE -m length --length 53:"


def drop_rule(client: str) -> IptablesRule:
    """Drops every packet with data from the broker's client listener to the clients' address."""
    return IptablesRule("OUTPUT", f"-p tcp -d {client} --sport {CLIENT_PORT} {_DATA}", "cut-answers")


def counting_rules(client: str) -> tuple[IptablesRule, ...]:
    """Count connections that are opened, requests that arrive, and responses that pass the drop rule."""
    opened = f"-p tcp -d {client} --sport {CLIENT_PORT} --tcp-flags SYN,ACK SYN,ACK"
    requests = f"-p tcp -s {client} --dport {CLIENT_PORT} {_DATA}"
    return (
        IptablesRule("OUTPUT", opened, "heard-opened", drop=False),
        IptablesRule("INPUT", requests, "heard-requests", drop=False),
        IptablesRule("OUTPUT", drop_rule(client).match, "heard-answers", drop=False),
    )


class ResponsesDropped(IptablesInjection):
    """The responses of these brokers to clients are dropped."""

    brokers: tuple[int, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        return self.brokers

    def rules(self, context: InjectionContext, node: int) -> list[IptablesRule]:  # noqa: ARG002
        return [drop_rule(context.cluster.client_address)]

    def healed(self, context: InjectionContext) -> Evidence:
        return await_answers(context, self, "responses are no longer dropped, and still none arrives")

    def measure(self, context: InjectionContext) -> Evidence:
        # Longer than the harness's own requests wait, so that one falls into it whole.
        script = counting_script(counting_rules(context.cluster.client_address), context.tag, "sleep 0.5")
        texts, answered = probe_and_query(context, self.brokers, lambda _: script, query=True)
        reports = {node: parse_report(text) for node, text in texts.items()}
        return judge_dropped(self.brokers, reports, answered)


def judge_dropped(
    brokers: tuple[int, ...], reports: Mapping[int, ProbeReport], answered: set[int]
) -> Evidence:
    """Whether these reports show that each broker received requests, and that no response left it."""
    wanted = {
        "connections_opened": ("heard-opened", "no connection was opened"),
        "requests_arrived": ("heard-requests", "no request arrived"),
        "answers_dropped": ("cut-answers", "no response was dropped"),
    }
    facts: dict[str, object] = {}
    wrong: list[str] = []
    dropped = requests = 0
    for broker, report in sorted(reports.items()):
        saw = {name: report.rise(rule) for name, (rule, _) in wanted.items()}
        wrong += [f"broker {broker}: {words}" for name, (_, words) in wanted.items() if saw[name] <= 0]
        dropped += saw["answers_dropped"]
        requests += saw["requests_arrived"]
        past = report.rise("heard-answers")
        facts[f"broker {broker}"] = {**saw, "answers_past": past}
        if past:
            wrong.append(f"broker {broker}: {past} packets of responses passed")
        if broker in answered:
            wrong.append(f"broker {broker} answered a client")
    down = sorted(set(brokers) - set(reports))
    if down:
        facts["not_running"] = down
    if not reports:
        wrong.append(f"{node_names(down)} does not run: no broker could answer")
    if wrong:
        return Evidence(False, "; ".join(wrong[:3]), facts)
    what = f"connections are opened, {requests} packets of requests arrived, {dropped} of responses were"
    return Evidence(True, what + " dropped, and no request was answered", facts)


class DropResponses(BrokerClientFault):
    """The responses of brokers to their clients are lost: connections are opened, requests arrive and are
    carried out, and the client never learns of it. Nothing is lost between brokers and controllers.

    What Kafka does: the leader appends what it receives and its followers fetch it, so the record is in the
    log though no client was told: the case that the idempotent producer exists for (KIP-98). A client whose
    request times out closes the connection (librdkafka after socket.timeout.ms, the Java client after
    request.timeout.ms), opens another and sends the batch again: without idempotence the log holds it twice.
    With `retries=0` the send fails, and the record is in the log all the same. Both kernels retransmit
    unacknowledged packets, so responses that were dropped may still arrive after healing, if their connection
    still exists.

    The harness's own requests to these brokers are not answered either: their samples are missing meanwhile.

    Proof: packets that open a connection leave the broker, and packets with requests arrive there; packets
    with responses are dropped and none passes; and a request of the harness to that broker is not answered.
    """

    kind: Literal["drop_responses"] = "drop_responses"
    needs = ("iptables", "iptables length")
    injection = ResponsesDropped
    why_brokers = "only brokers answer clients"

    def aim(self, context: InjectionContext) -> ResponsesDropped:
        return ResponsesDropped(brokers=self.brokers(context))

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        return ("the harness's own requests to these brokers are not answered: their samples are missing",)

    def max_brokers_down(self, shape: ClusterShape) -> int:
        return self.target.max_brokers(shape)

    def taken_down(self, shape: ClusterShape) -> BaseTarget:  # noqa: ARG002
        return self.target


def client_ports(text: str) -> tuple[int, ...]:
    """The client ports of established connections to the client listener, from /proc/net/tcp and tcp6."""
    ports = set()
    for line in text.splitlines():
        columns = line.split()
        if len(columns) > 3 and columns[3] == _ESTABLISHED:
            here, there = (int(columns[column].rpartition(":")[2], 16) for column in (1, 2))
            if here == CLIENT_PORT:
                ports.add(there)
    return tuple(sorted(ports))


def dropped_packets(text: str, tag: str) -> int:
    """The number of packets that the rules of a tag have dropped, from `iptables-save -c`."""
    return sum(
        int(match[1])
        for line in text.splitlines()
        if f"{tag}/hold-" in line and (match := re.match(r"\[(\d+):\d+\]", line))
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
        texts = run_scripts(context, self.ports, _COUNTERS)
        dropped = {node: dropped_packets(text, context.tag) for node, text in texts.items()}
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
    is what a broker then makes of it, for example of an EndTxn request (KAFKA-17754).

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
        texts = run_scripts(context, brokers, _PEERS)
        ports = {broker: held for broker, text in texts.items() if (held := client_ports(text))}
        if not ports:
            raise FaultError(
                "there is no connection to hold",
                where=str(self.target),
                expected="a client's connection with a running broker among them",
                found=node_names(brokers),
                next_step="inject it after a producer has connected to these brokers",
            )
        return ConnectionsHeld(ports=ports)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        return ("the harness's own requests over such connections are not answered, until it opens others",)
