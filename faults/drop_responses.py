"""Drop responses: brokers hear their clients, whose answers vanish."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, Literal

from pydantic import Field

from faults.base import Evidence, FaultSpec, Injection, InjectionContext, node_names
from faults.network.namespace_scripts import (
    in_parallel,
    insert_rules,
    query_until_done,
    remove_rules,
    run_script,
    running,
)
from faults.network.proof import ProbeReport, counting_script, parse_report
from faults.network.rules import IptablesRule, insert_script
from faults.network.sides import possible_nodes
from faults.target_context import ClusterShape
from faults.targets import Target
from harness.model.errors import FaultError
from harness.model.node_layout import CLIENT_PORT
from harness.model.polling import seen_within

_PROOF_SECONDS = 6.0
_HEAL_SECONDS = 20.0
# The clients' packets without data have 52 bytes (IP and TCP headers with timestamps) or fewer, but for those
# of the handshake, which have 60.
_DATA = "--tcp-flags SYN NONE -m length --length 53:"


def drop_rule(client: str) -> IptablesRule:
    """Drops whatever carries data from the broker's client listener to the clients' address."""
    return IptablesRule("OUTPUT", f"-p tcp -d {client} --sport {CLIENT_PORT} {_DATA}", "cut-answers")


def counting_rules(client: str) -> tuple[IptablesRule, ...]:
    """Count connections that are opened, requests that arrive, and answers that got past the drop."""
    opened = f"-p tcp -d {client} --sport {CLIENT_PORT} --tcp-flags SYN,ACK SYN,ACK"
    requests = f"-p tcp -s {client} --dport {CLIENT_PORT} {_DATA}"
    return (
        IptablesRule("OUTPUT", opened, "heard-opened", drop=False),
        IptablesRule("INPUT", requests, "heard-requests", drop=False),
        IptablesRule("OUTPUT", drop_rule(client).match, "heard-answers", drop=False),
    )


class ResponsesDropped(Injection):
    """The answers of these brokers to clients are dropped."""

    kind: Literal["drop_responses"] = "drop_responses"
    brokers: tuple[int, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        return self.brokers

    def apply(self, context: InjectionContext) -> None:
        in_parallel(running(context, self.brokers), lambda broker: self._put(context, broker))

    def verify(self, context: InjectionContext) -> Evidence:
        deadline = time.monotonic() + _PROOF_SECONDS
        while True:
            evidence = self._look(context)
            if evidence.seen or time.monotonic() > deadline:
                return evidence

    def undo(self, context: InjectionContext) -> None:
        in_parallel(running(context, self.brokers), lambda broker: remove_rules(context, broker))

    def healed(self, context: InjectionContext) -> Evidence:
        cluster = context.cluster

        def missing() -> str | None:
            thawed = {broker for broker in running(context, self.brokers) if not cluster.is_paused(broker)}
            silent = thawed - {seen.broker for seen in cluster.view((context.topic,)).answered()}
            return f"{node_names(silent)} does not answer" if silent else None

        left = seen_within(_HEAL_SECONDS, missing)
        if left is not None:
            raise FaultError(
                "answers are no longer dropped, and still none comes",
                where=self.target,
                expected=f"an answer to the client within {_HEAL_SECONDS:g} s",
                found=left,
                next_step="see the broker's log in the run folder",
            )
        return Evidence(True, f"no rule is left, and {self.target} answers the client")

    def restarted(self, context: InjectionContext, node: int) -> bool:
        return "put" in self._put(context, node).split()

    def _put(self, context: InjectionContext, broker: int) -> str:
        return insert_rules(
            context, broker, insert_script([drop_rule(context.cluster.client_address)], context.tag)
        )

    def _look(self, context: InjectionContext) -> Evidence:
        # Longer than the harness's own requests wait, so that one falls into it whole.
        watch = counting_script(counting_rules(context.cluster.client_address), context.tag, "sleep 0.5")
        brokers = running(context, self.brokers)
        with ThreadPoolExecutor(max_workers=len(brokers) or 1) as pool:
            looks = {broker: pool.submit(run_script, context, broker, watch) for broker in brokers}
            answered = query_until_done(context, looks.values())
        outputs = {broker: look.result() for broker, look in looks.items()}
        reports = {
            broker: parse_report(output.text) for broker, output in outputs.items() if output is not None
        }
        return judge(self.brokers, reports, answered)


def judge(brokers: tuple[int, ...], reports: Mapping[int, ProbeReport], answered: set[int]) -> Evidence:
    """Whether these reports show that each broker heard requests, and that no answer got out."""
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
            ("answers_dropped", "no answer was dropped"),
        ):
            if saw[name] <= 0:
                wrong.append(f"broker {broker}: {words}")
        if saw["answers_past"]:
            wrong.append(f"broker {broker}: {saw['answers_past']} packets of answers got past")
        if broker in answered:
            wrong.append(f"broker {broker} answered a client")
    down = sorted(set(brokers) - set(reports))
    if down:
        facts["not_running"] = down
    if not reports:
        wrong.append(f"{node_names(down)} does not run: there is nobody to answer")
    if wrong:
        return Evidence(False, "; ".join(wrong[:3]), facts)
    what = (
        f"connections are opened, {requests} packets of requests arrived, {dropped} of answers were dropped, "
    )
    return Evidence(True, what + "and no answer was had", facts)


class DropResponses(FaultSpec):
    """The answers of brokers to their clients vanish: connections are opened, requests arrive and are carried
    out, and the client never hears of it. Between brokers and controllers nothing is lost.

    What Kafka does: the leader appends what it was sent and its followers fetch it, so that the record is in
    the log though nobody was told: the case that the idempotent producer is for (KIP-98). A client that waits
    in vain closes the connection (librdkafka after socket.timeout.ms, the Java client after
    request.timeout.ms), opens another and sends the batch again: without idempotence the log holds it twice.
    With `retries=0` the send fails, and the record is there all the same. Both kernels send unacknowledged
    packets again, so answers that were held back may still arrive after healing, if their connection lives.

    The harness's own questions to these brokers go unanswered too: samples of them are missing meanwhile.

    Proof: packets that open a connection leave the broker and packets with requests arrive there, those with
    answers are dropped and none gets past, and a question of the harness's own to that broker has no answer.
    """

    kind: Literal["drop_responses"] = "drop_responses"
    needs: ClassVar[tuple[str, ...]] = ("iptables", "iptables length")
    injection: ClassVar[type[Injection]] = ResponsesDropped
    target: Target = Field(description="which brokers' answers vanish")

    def aim(self, context: InjectionContext) -> ResponsesDropped:
        chosen = self.target.resolve(context.snapshot())
        brokers = tuple(node for node in chosen if node in context.cluster.broker_ids)
        if not brokers:
            raise FaultError(
                "only brokers answer clients",
                where=str(self.target),
                expected="a broker among the nodes",
                found=node_names(chosen),
                next_step="choose a target that means brokers",
            )
        return ResponsesDropped(brokers=brokers)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        if not possible_nodes(self.target, shape) & set(shape.broker_ids):
            raise ValueError(f"target `{self.target}`: only brokers answer clients")
        told = "the harness's own questions to these brokers go unanswered too: samples of them are missing"
        return (told,)

    def max_brokers_down(self, shape: ClusterShape) -> int:
        return self.target.max_brokers(shape)
