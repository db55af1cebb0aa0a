"""Slow links for messages of Kafka's protocol instead of packets: in the proxies, so on every kernel.

A message from one node to another is a request that it sends there, or its response to a request from there.
The proxy of the node that is asked acts on both. Within a connection nothing overtakes, as with TCP.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from functools import partial
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from faults.network.link_fault import LinkFault, OnLinks, describe_link
from faults.network.link_probe import Echoes, bounds, enough_for, judge_share
from faults.network.links import Link, ways
from faults.network.namespaces import run_script
from faults.proxied.message_probe import Asking, ProbeAnswers, ask_from_here, ask_script, parse_answers
from faults.proxied.rules import WithRules, seed_of
from faults.shared.fault_spec import Evidence, FaultSpec, Injection, InjectionContext
from faults.shared.waiting import in_parallel
from faults.targets.target_context import ClusterShape
from harness.model.node_layout import CLIENT, CONTROLLER_PORT, INTERNAL_PORT
from harness.model.request_rules import RequestRule, RuleCounts

_RATE_SECONDS = 0.15
_LONGEST_CLIENT_ID = 30_000
_USUAL_RESPONSE = 400
_LATE_MS = 150.0
_MOST_ASKED = 1000
# Of a uniform distribution of half-width 1 the middle 80 % are 1.6 wide; of the sum of two, 2.21.
_WIDTH = {1: 1.6, 2: 2.21}


def about(seen_ms: float, asked_ms: float, most_ms: float | None = None) -> bool:
    """Whether a time is as long as was asked (at most `most_ms`). It may rather be longer than shorter, since
    proxies and probes wait for processors, too."""
    return 0.85 * asked_ms - 3 <= seen_ms <= 1.5 * (most_ms or asked_ms) + 30


def link_rules(context: InjectionContext, links: Iterable[Link], **action: Any) -> tuple[RequestRule, ...]:
    """The rules that do this with all messages over these links."""
    receivers: dict[int, list[int]] = {}
    for link in sorted(links):
        receivers.setdefault(link.sender, []).append(link.receiver)
    senders: dict[tuple[int, ...], list[int]] = {}
    for sender, others in receivers.items():
        senders.setdefault(tuple(others), []).append(sender)
    directions: tuple[Literal["request", "response"], ...] = ("request", "response")
    pairs = [(from_, to, way) for to, from_ in senders.items() for way in directions]
    return tuple(
        RequestRule(
            id=f"{context.tag}/{number}",
            direction=way,
            from_nodes=tuple(from_),
            to_nodes=to,
            seed=seed_of(context) + number,
            **action,
        )
        for number, (from_, to, way) in enumerate(pairs)
    )


class OnMessages(OnLinks, WithRules):
    """Rules for the messages over links, whose effect is measured by requests from one end of each."""

    @property
    def target(self) -> str:
        return f"{super().target}, by the proxies"

    def how(self, link: Link) -> Asking:  # noqa: ARG002
        """How a round trip over this link is measured."""
        return Asking(200, 10, 4.0)

    @abstractmethod
    def judge(self, link: Link, answers: ProbeAnswers, echoes: Echoes) -> tuple[bool, str]:
        """Whether what came back shows the effect on this link, and what was measured."""

    def measure(self, context: InjectionContext) -> Evidence:
        measured = self.ask(context)
        judged = {
            link: self.judge(link, answers, echoes)
            for link, answers in measured.items()
            for echoes in answers.echoes.values()
            if echoes.answers
        }
        total = sum(self.counts(context).values(), RuleCounts())
        acted, counted = self.judge_counts(total)
        facts: dict[str, object] = {describe_link(link): what for link, (_, what) in judged.items()}
        facts["proxies"] = counted
        wrong = [f"{describe_link(link)}: {what}" for link, (good, what) in judged.items() if not good]
        silent = [link for link in measured if link not in judged and link.receiver != CLIENT]
        wrong += [f"{describe_link(link)}: no request was answered" for link in silent]
        wrong += [] if acted else [counted]
        if wrong or not judged:
            return Evidence(False, "; ".join(wrong[:3]) or "no link could be measured", facts)
        shown = [f"{describe_link(link)}: {what}" for link, (_, what) in judged.items()]
        more = f"; and {len(shown) - 2} more round trips" if len(shown) > 2 else ""
        return Evidence(True, f"by the proxies, {counted}: " + "; ".join(shown[:2]) + more, facts)

    def judge_counts(self, total: RuleCounts) -> tuple[bool, str]:
        """Whether the rules have acted on all that matched, and on how many, in words."""
        good = 0 < total.acted == total.matched
        return good, f"{total.acted:,} of {total.matched:,} messages acted on"

    def ask(self, context: InjectionContext) -> dict[Link, ProbeAnswers]:
        """What comes back over each round trip; links with an end that has gone meanwhile are left out."""

        def from_node(node: int) -> dict[Link, ProbeAnswers]:
            return {link: found for link in trips[node] if (found := self._over(context, link)) is not None}

        trips = self.trips(context)
        asked = in_parallel((node for node in trips if trips[node]), from_node)
        return {link: answers for each in asked.values() for link, answers in each.items()}

    def _over(self, context: InjectionContext, link: Link) -> ProbeAnswers | None:
        cluster, how = context.cluster, self.how(link)
        if link.receiver == CLIENT:
            # Clients have no listeners: they ask. A controller has none for them.
            if link.sender not in cluster.broker_ids:
                return ProbeAnswers()
            host, port = cluster.endpoint(link.sender)
            return ask_from_here(partial(cluster.client_socket, link.sender), f"{host}:{port}", how)
        port = INTERNAL_PORT if link.receiver in cluster.broker_ids else CONTROLLER_PORT
        there = f"{cluster.address(link.receiver)}:{port}"
        output = run_script(context, link.sender, ask_script([there], how))
        return None if output is None else parse_answers(output.text, [there]) or ProbeAnswers()


class DelayedMessages(OnMessages):
    """Messages wait `delay_ms`, plus or minus `spread_ms`."""

    delay_ms: float
    spread_ms: float = 0.0
    baseline: tuple[tuple[int, int, float], ...] = ()

    def how(self, link: Link) -> Asking:  # noqa: ARG002
        longest = 2 * (self.delay_ms + self.spread_ms) / 1e3
        rounds = max(1, min(10, round(3 / longest)))
        return Asking(20 * rounds, 20, 3 + 1.5 * longest * rounds)

    def judge(self, link: Link, answers: ProbeAnswers, echoes: Echoes) -> tuple[bool, str]:  # noqa: ARG002
        before = next((trip for *ends, trip in self.baseline if Link(*ends) == link), 0.0)
        directions = ways(self.links, link)
        asked, seen = directions * self.delay_ms, echoes.median_ms - before
        good, what = about(seen, asked), f"requests answered {seen:.0f} ms later, {asked:g} asked"
        if not self.spread_ms and seen < asked <= echoes.quickest_ms + 1:
            # A link that was slow before, for want of a processor, hides the delay from the difference alone.
            good = True
            what += f"; not one in less than {echoes.quickest_ms:.0f} ms, {before:.0f} before"
        if self.spread_ms:
            wide = _WIDTH[directions] * self.spread_ms
            good = good and about(echoes.width_ms, wide)
            what += f"; 80 % of them within {echoes.width_ms:.0f} ms, {wide:.0f} asked"
        return good, what

    def with_baseline(self, context: InjectionContext) -> Self:
        """The same with the round trips of now; must be called before the fault is applied. The quickest
        counts: what only waits for a processor now, while a node starts, may not wait later."""
        trips = [
            (*link, round(echoes.quickest_ms, 3))
            for link, answers in self.ask(context).items()
            for echoes in answers.echoes.values()
        ]
        return self.model_copy(update={"baseline": tuple(trips)})


class SlowedMessages(OnMessages):
    """The messages of each connection share `bytes_per_second`, which is that of the rules."""

    @property
    def bytes_per_second(self) -> int:
        return self.rules[0].bytes_per_second or 1

    def how(self, link: Link) -> Asking:
        enough = round(self.bytes_per_second * _RATE_SECONDS)
        if not self._slow(link)[0]:
            return Asking(3, 1, 5.0, burst=max(1, round(enough / _USUAL_RESPONSE)))
        padding = max(0, min(_LONGEST_CLIENT_ID, enough - Asking(1, 1, 1).request_bytes))
        size = Asking(1, 1, 1, padding).request_bytes
        return Asking(3, 1, 5.0, padding, max(1, round(enough / size)))

    def judge(self, link: Link, answers: ProbeAnswers, echoes: Echoes) -> tuple[bool, str]:
        how, (requests, responses) = self.how(link), self._slow(link)
        sizes = (how.burst * how.request_bytes * requests, how.burst * answers.response_bytes * responses)
        # Where both are slow they pass at the same time, but for the first and the last.
        least, most = (size * 1e3 / self.bytes_per_second for size in (max(sizes), sum(sizes)))
        seen = echoes.median_ms
        good = about(max(seen, least), least) if seen < most else about(seen, most)
        return (
            good and seen >= 0.85 * least - 3,
            f"{sum(sizes):,} bytes took {seen:.0f} ms, {least:.0f} asked",
        )

    def _slow(self, link: Link) -> tuple[bool, bool]:
        """Whether requests and responses are slow where this round trip is measured: by the client, if one of
        its ends is the client."""
        asking = link.back if link.receiver == CLIENT else link
        return asking in self.links, asking.back in self.links


class ReorderedMessages(OnMessages):
    """`percent` of the messages go at once, all others `delay_ms` later."""

    percent: float
    delay_ms: float

    def how(self, link: Link) -> Asking:  # noqa: ARG002
        return Asking(min(_MOST_ASKED, enough_for(self.percent / 100)), 10, 6.0)

    def judge(self, link: Link, answers: ProbeAnswers, echoes: Echoes) -> tuple[bool, str]:  # noqa: ARG002
        trips = [trip / 1e3 for _, trip in echoes.answers]
        quick = sum(trip < self.delay_ms / 2 for trip in trips)
        _, most = bounds(len(trips), (self.percent / 100) ** ways(self.links, link))
        return quick <= most, f"{100 * quick / len(trips):.1f} % of {len(trips)} requests answered at once"

    def judge_counts(self, total: RuleCounts) -> tuple[bool, str]:
        return judge_share(total.acted, max(1, total.matched), 1 - self.percent / 100, "messages went later")


class LostMessages(OnMessages):
    """`percent` of the messages are late as if they had been lost and sent again by TCP."""

    percent: float

    def how(self, link: Link) -> Asking:  # noqa: ARG002
        return Asking(min(_MOST_ASKED, enough_for(self.percent / 100)), 25, 8.0)

    def judge(self, link: Link, answers: ProbeAnswers, echoes: Echoes) -> tuple[bool, str]:  # noqa: ARG002
        trips = [trip / 1e3 for _, trip in echoes.answers]
        late = sum(trip > _LATE_MS for trip in trips)
        least, _ = bounds(len(trips), 1 - (1 - self.percent / 100) ** ways(self.links, link))
        return late >= least, f"{100 * late / len(trips):.1f} % of {len(trips)} requests answered later"

    def judge_counts(self, total: RuleCounts) -> tuple[bool, str]:
        return judge_share(total.acted, max(1, total.matched), self.percent / 100, "messages went later")


class EitherWay(LinkFault):
    """Base of the faults on links that the proxies can cause too, for messages instead of packets."""

    messages: ClassVar[type[OnMessages]]
    """The injection if the proxies cause it."""

    by: Literal["kernel", "proxy"] | None = Field(
        default=None,
        description="who causes it: the `kernel`, for packets, or the `proxy` of each node, for messages of "
        "Kafka's protocol; default: the kernel, or the proxies where it lacks what this needs",
    )

    @abstractmethod
    def action(self) -> dict[str, Any]:
        """What the proxies' rules do with messages, as fields of a `RequestRule`."""

    @property
    def uses_proxy(self) -> bool:
        return self.by == "proxy"

    def required(self) -> tuple[str, ...]:
        return () if self.by == "proxy" else self.needs

    def by_proxy(self) -> FaultSpec | None:
        return self.model_copy(update={"by": "proxy"}) if self.by is None else None

    def aim(self, context: InjectionContext) -> Injection:
        if self.by != "proxy":
            return super().aim(context)
        links = self.affected(context)
        shared = type(self).model_fields.keys() & self.messages.model_fields.keys()
        fields = {name: getattr(self, name) for name in shared}
        return self.messages(links=links, rules=link_rules(context, links, **self.action()), **fields)

    def affected(self, context: InjectionContext) -> tuple[Link, ...]:
        """The links whose messages are affected."""
        return self.chosen(context)

    @classmethod
    def injection_from(cls, record: dict[str, Any]) -> Injection:
        return (cls.messages if "rules" in record else cls.injection).model_validate(record)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        warnings = super().warnings(shape)
        if self.by == "proxy":
            return (*warnings, f"by the proxies: {self.as_messages}")
        if self.by_proxy() is None:
            return warnings
        return (*warnings, f"by the kernel, or by the proxies where it lacks {', '.join(self.needs)}")
