"""Throttle: brokers limit the bytes per second that they take from each client, or give to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from faults.shared.fault_spec import Evidence, FaultSpec, Injection, InjectionContext
from faults.shared.waiting import MeasuredInjection, await_or_fail, until_answered
from faults.shared.words import node_name, node_names
from faults.targets.target_context import ClusterShape
from harness.model.errors import ClusterError, FaultError

_PRODUCE, _CONSUME = "producer_byte_rate", "consumer_byte_rate"
_WAYS: dict[str, Literal["produce", "fetch"]] = {_PRODUCE: "produce", _CONSUME: "fetch"}
_WINDOW_SECONDS = 12
"""A rate is measured over quota.window.num windows of quota.window.size.seconds, 11 of 1 s by default: bytes
for this number of seconds at once are above it."""
_MOST_TRIED = {_PRODUCE: 1_000_000, _CONSUME: 50_000}
"""Above this rate the bytes that would be needed are too many to be tried."""
_BACK_SECONDS = 90.0
_ANYONE = "client-id <default>"


class Throttled(MeasuredInjection, Injection):
    """Quotas of clients were set; `before` holds the former values (None: there was none)."""

    proof_seconds = 30.0
    proof_pause = 0.5

    client: str | None
    rates: dict[str, float]
    before: dict[str, float | None]

    @property
    def nodes(self) -> tuple[int, ...]:
        return ()

    @property
    def target(self) -> str:
        rates = ", ".join(f"{name}={rate:g}" for name, rate in self.rates.items())
        return f"{_whose(self.client)}: {rates}"

    def apply(self, context: InjectionContext) -> None:
        self._set(context, self.rates)

    def measure(self, context: InjectionContext) -> Evidence:
        throttled: dict[str, dict[int, int]] = {}
        facts: dict[str, object] = {"rates": self.rates, "throttled_ms": throttled}
        reported = self._reported(context)
        if not reported:
            return Evidence(False, "no broker answers", facts)
        for number, rates in reported.items():
            if rates != self.rates:
                return Evidence(False, f"{node_name(number)} reports the quotas {rates}", facts)
        untried = []
        for name, rate in self.rates.items():
            if rate > _MOST_TRIED[name]:
                untried.append(f"{name} was not tried, since more than {_MOST_TRIED[name]:,} bytes/s pass")
                continue
            probe = self.client or context.tag
            size = int(rate * _WINDOW_SECONDS) + 1000
            times = {node: context.cluster.throttle_ms(node, probe, _WAYS[name], size) for node in reported}
            throttled[name] = {number: time for number, time in times.items() if time is not None}
            free = [number for number, time in times.items() if not time]
            if free:
                what = f"{node_names(free)} does not throttle a client after {size:,} bytes at once ({name})"
                return Evidence(False, what, facts)
        words = [
            f"throttled for {min(times.values()):,} ms or more ({name})" for name, times in throttled.items()
        ]
        brokers = f"{node_names(reported)} holds the quotas"
        return Evidence(True, "; ".join([brokers, *words, *untried]), facts)

    def undo(self, context: InjectionContext) -> None:
        self._set(context, self.before)

    def healed(self, context: InjectionContext) -> Evidence:
        former = {name: rate for name, rate in self.before.items() if rate is not None}

        def missing() -> str | None:
            reported = self._reported(context)
            wrong = [number for number, rates in reported.items() if rates != former]
            return None if reported and not wrong else f"{node_names(wrong) or 'no broker'} reports them"

        await_or_fail(
            _BACK_SECONDS,
            missing,
            "the former quotas are not back",
            where=self.target,
            expected="the quotas as before",
            next_step="`kafka-chaos heal` tries again",
        )
        return Evidence(True, "every broker that answers reports the former quotas")

    def _set(self, context: InjectionContext, values: Mapping[str, float | None]) -> None:
        refused = until_answered(lambda: context.cluster.set_client_quota(self.client, values))
        if refused is not None:
            raise FaultError("Kafka refused a quota", where=self.target, found=refused)

    def _reported(self, context: InjectionContext) -> dict[int, dict[str, float]]:
        """The quotas in question as each broker reports them that answers."""
        reported = {}
        for number in context.cluster.broker_ids:
            quotas = context.cluster.client_quotas(number)
            if quotas is not None:
                own = quotas.get(f"client-id {self.client}" if self.client else _ANYONE, {})
                reported[number] = {name: own[name] for name in self.rates if name in own}
        return reported


class Throttle(FaultSpec):
    """Quotas of clients (KIP-13, KIP-546): each broker takes at most `produce` bytes per second from every
    client.id, and gives it at most `consume`; healed by setting the former quotas back.

    What Kafka does: a broker measures the rate of each client.id over some 11 seconds. A client above it gets
    its answer at once, with the time for which it is throttled, and the broker reads nothing more from its
    connections until then (KIP-219); clients keep to it, too. Nothing is lost and no error is given, but
    sends queue up in the client: they end at delivery.timeout.ms, and a consumer falls behind. Followers are
    not clients; members of a group still heartbeat, as that needs few bytes.

    Without `client` the quota is that of each client.id that has none of its own. On a cluster that
    kafka-chaos did not start, these are the clients of others too, so there `client` must be named: it is
    librdkafka's `client.id`, which `extra` of a producer or reader sets.

    Proof: every broker that answers holds the quotas, and throttles a client that sends, or is given, bytes
    for 12 seconds at once. That client has its own client.id, or that of `client`, whose quota it uses
    up then. Its requests name a topic that does not exist, so that nothing is written. More than 1,000,000
    bytes/s to produce or 50,000 to consume are not tried: there the quotas that brokers hold are the proof.
    """

    kind: Literal["throttle"] = "throttle"
    external = "requests"
    injection = Throttled

    produce: int | None = Field(default=None, ge=1, description="bytes/s that each broker takes of a client")
    consume: int | None = Field(default=None, ge=1, description="bytes/s that each broker gives to a client")
    client: str | None = Field(
        default=None, min_length=1, description="client.id; default: every one without a quota of its own"
    )

    @model_validator(mode="after")
    def _check_any(self) -> Throttle:
        if self.produce is None and self.consume is None:
            raise ValueError("it throttles nothing: set `produce`, `consume`, or both, in bytes per second")
        return self

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        if shape.own_ids and self.client is None:
            raise ValueError(
                "without `client` the clients of others would be throttled too: name a client.id"
            )
        return ()

    def aim(self, context: InjectionContext) -> Throttled:
        given = {_PRODUCE: self.produce, _CONSUME: self.consume}
        rates = {name: float(rate) for name, rate in given.items() if rate is not None}
        answers = map(context.cluster.client_quotas, context.cluster.broker_ids)
        now = next((answer for answer in answers if answer is not None), None)
        if now is None:
            raise ClusterError(
                "the present quotas are not known",
                expected="an answer of a broker",
                next_step="inject the fault when one answers",
            )
        own = now.get(f"client-id {self.client}" if self.client else _ANYONE, {})
        return Throttled(client=self.client, rates=rates, before={name: own.get(name) for name in rates})


def _whose(client: str | None) -> str:
    return "every client.id without a quota of its own" if client is None else f"client.id {client}"
