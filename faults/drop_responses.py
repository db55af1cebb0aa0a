"""Drop responses: brokers receive the requests of their clients, whose responses are lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from faults.network.client_traffic import BrokerClientFault, await_answers
from faults.network.iptables import IptablesInjection, IptablesRule
from faults.network.namespace_scripts import probe_and_query
from faults.network.partition_proof import ProbeReport, counting_script, parse_report
from faults.shared.fault_spec import Evidence, InjectionContext, node_names
from faults.targets.target_context import ClusterShape
from harness.model.node_layout import CLIENT_PORT

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
        return judge(self.brokers, {node: parse_report(text) for node, text in texts.items()}, answered)


def judge(brokers: tuple[int, ...], reports: Mapping[int, ProbeReport], answered: set[int]) -> Evidence:
    """Whether these reports show that each broker received requests, and that no response left it."""
    facts: dict[str, object] = {}
    wrong: list[str] = []
    dropped = requests = 0
    for broker, report in sorted(reports.items()):
        saw = {
            "connections_opened": report.rise("heard-opened"),
            "requests_arrived": report.rise("heard-requests"),
            "answers_dropped": report.rise("cut-answers"),
            "answers_past": report.rise("heard-answers"),
        }
        facts[f"broker {broker}"] = saw
        dropped += saw["answers_dropped"]
        requests += saw["requests_arrived"]
        for name, words in (
            ("connections_opened", "no connection was opened"),
            ("requests_arrived", "no request arrived"),
            ("answers_dropped", "no response was dropped"),
        ):
            if saw[name] <= 0:
                wrong.append(f"broker {broker}: {words}")
        if saw["answers_past"]:
            wrong.append(f"broker {broker}: {saw['answers_past']} packets of responses passed")
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
