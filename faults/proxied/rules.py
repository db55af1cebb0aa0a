"""Rules in the proxies of a cluster, as an injection: added, counted, removed.

A proxy stands in front of every listener of every node. Each proxy has every rule, and acts on the messages
that its own node receives and answers.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Literal

from faults.shared.fault_spec import Evidence, Injection, InjectionContext
from faults.shared.waiting import await_rejoined
from faults.shared.words import node_name, node_names, shortened
from faults.targets.fault_cluster import FaultProxies
from harness.model.errors import ClusterError, FaultError
from harness.model.request_rules import RequestRule, RuleCounts

Passed = Mapping[tuple[str, str], int]
"""Numbers of requests by API and client.id."""


def proxies_of(context: InjectionContext) -> FaultProxies:
    """The cluster's proxies.

    Raises:
        FaultError: it has none.
    """
    proxies = context.cluster.proxies
    if proxies is None:
        raise FaultError(
            "the cluster has no proxies, which act on single requests",
            where=context.cluster.bootstrap,
            expected="a cluster that was started with `proxy: true`",
            next_step="write `proxy: true` below `cluster`",
        )
    return proxies


def seed_of(context: InjectionContext) -> int:
    """The seed of a rule's random choices: the same for the same seed of the run and name of the
    injection."""
    return zlib.crc32(context.seed.encode())


class WithRules(Injection):
    """An injection that consists of rules, whose ids begin with the injection's tag."""

    rules: tuple[RequestRule, ...]

    def apply(self, context: InjectionContext) -> None:
        for rule in self.rules:
            proxies_of(context).add(rule)

    def undo(self, context: InjectionContext) -> None:
        self.remove(context, "release")

    def remove(self, context: InjectionContext, held: Literal["release", "drop"]) -> None:
        """Remove the rules, and release or drop what they hold."""
        for rule in self.rules:
            proxies_of(context).remove(rule.id, held)

    def restarted(self, context: InjectionContext, node: int) -> bool:
        # A proxy ends with its node's network namespace, and its rules with it.
        if node not in self._lacking(context):
            return False
        self.apply(context)
        return True

    def _lacking(self, context: InjectionContext) -> set[int]:
        """The running nodes of this injection whose proxies lack a rule."""
        proxies = proxies_of(context)
        return {node for rule in self.rules for node in proxies.lacking(rule.id)} & set(self.nodes)

    def counts(self, context: InjectionContext) -> dict[int, RuleCounts]:
        """What all rules together have done, by node."""
        by_node: dict[int, RuleCounts] = {}
        for rule in self.rules:
            for node, counts in proxies_of(context).counts(rule.id).items():
                by_node[node] = by_node.get(node, RuleCounts()) + counts
        return by_node


class RuleAdded(WithRules):
    """One rule, on the messages that `what` describes, at the proxies of the nodes `at`, which does `does` to
    them. `before` holds how many requests had passed by then, by API and client."""

    proved_when_healed = True

    what: str
    does: str
    at: tuple[int, ...]
    held: Literal["release", "drop"] = "release"
    before: tuple[tuple[str, str, int], ...] = ()

    @property
    def nodes(self) -> tuple[int, ...]:
        return self.at

    @property
    def target(self) -> str:
        return f"{self.what} at {node_names(self.at)}"

    def undo(self, context: InjectionContext) -> None:
        self.remove(context, self.held)

    def verify(self, context: InjectionContext) -> Evidence:
        if lacking := self._lacking(context):
            return Evidence(False, f"the proxy of {node_names(lacking)} does not have the rule")
        counts = self.counts(context)
        matched = sum(count.matched for count in counts.values())
        return Evidence(True, f"the rule is in place; {matched} matched so far", facts_of(counts))

    def healed(self, context: InjectionContext) -> Evidence:
        # Of an existing cluster's containers nothing may be known.
        with suppress(ClusterError):
            up = [node for node in context.running(self.nodes) if not context.cluster.is_paused(node)]
            await_rejoined(context, tuple(up))
        before = {(api, client): count for api, client, count in self.before}
        passed = proxies_of(context).passed()
        since = {key: count - before.get(key, 0) for key, count in passed.items()}
        return judge_acted(self.does, self.rules[0], self.counts(context), since)


def judge_acted(does: str, rule: RequestRule, counts: Mapping[int, RuleCounts], passed: Passed) -> Evidence:
    """Whether a rule has acted on anything, and if nothing matched, what passed in its window instead."""
    total, facts = sum(counts.values(), RuleCounts()), facts_of(counts)
    done = total.acted - total.passed
    if done > 0:
        fates = ((total.released, "released"), (total.dropped, "dropped"))
        ends = "".join(f", {number} {word}" for number, word in fates if number)
        return Evidence(True, f"{does}: {done} of {total.matched} that matched{ends}", facts)
    if total.passed:
        return Evidence(False, f"{total.passed} matched, and had no place for the error", facts)
    if total.matched:
        return Evidence(False, f"{total.matched} matched, and none of them was to be acted on", facts)
    if total.unread:
        return Evidence(
            False, f"{total.unread} may have matched, but are of a version that is not read", facts
        )
    words = describe_passed(passed, rule)
    instead = ", ".join(shortened(words)) or "nothing"
    return Evidence(False, f"nothing matched; requests that passed instead: {instead}", {"passed": words})


def describe_passed(passed: Passed, rule: RequestRule) -> list[str]:
    """Requests in words, such as "Produce of p1: 120": first those of the client or the API of a rule, and
    most of them first."""

    def order(key: tuple[str, str]) -> tuple[bool, int]:
        api, client = key
        alike = api in rule.api or (rule.client is not None and fnmatchcase(client, rule.client))
        return not alike, -passed[key]

    seen = sorted((key for key, count in passed.items() if count > 0), key=order)
    return [f"{api} of {client or '(no client.id)'}: {passed[api, client]:,}" for api, client in seen]


def facts_of(counts: Mapping[int, RuleCounts]) -> dict[str, object]:
    """The counters of the nodes where anything matched."""
    return {node_name(node): own.as_dict() for node, own in sorted(counts.items()) if own != RuleCounts()}
