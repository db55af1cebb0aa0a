"""Counts the requests that wait steps wait for, in the proxies of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from faults.proxied.rules import RuleAdded, describe_passed, proxies_of
from faults.requests import Act, RequestMatch
from faults.shared.fault_spec import Injection, InjectionContext
from faults.shared.words import shortened
from harness.model.request_rules import RuleCounts
from harness.spec.step import Step
from harness.spec.steps import Wait


class RequestCounters:
    """Rules that only count, one for each wait step on requests that were sent. Use it as a context manager,
    which adds the rules, so that they count from then on, and removes them."""

    def __init__(self, steps: Sequence[Step], context: Callable[[], InjectionContext]) -> None:
        self._context = context
        waits = [step.wait for step in steps if step.wait is not None and step.wait.seen is not None]
        self._wanted = dict.fromkeys(wait.request for wait in waits if wait.request is not None)
        self._ids: dict[RequestMatch, str] = {}

    def __enter__(self) -> RequestCounters:
        for number, request in enumerate(self._wanted):
            context = self._context()
            self._ids[request] = f"{context.tag}/{number}"
            proxies_of(context).add(request.rule(context, self._ids[request], Act("count")))
        return self

    def __exit__(self, *_: object) -> None:
        for rule_id in self._ids.values():
            proxies_of(self._context()).remove(rule_id, "release")

    def missing(self, wait: Wait, opened: Iterable[Injection]) -> str | None:
        """What was counted instead of what `wait` waits for; None: it has come. `opened` are the open
        faults."""
        assert wait.request is not None
        if wait.seen is not None:
            matched = self._sum(self._ids[wait.request]).matched
            if matched >= wait.seen:
                return None
            context = self._context()
            rule = wait.request.rule(context, self._ids[wait.request], Act("count"))
            passed = describe_passed(proxies_of(context).passed(), rule)
            return f"{matched} were sent; requests so far: {', '.join(shortened(passed)) or 'none'}"
        assert wait.held is not None
        rules = [rule for injection in opened if isinstance(injection, RuleAdded) for rule in injection.rules]
        mine = [rule.id for rule in rules if wait.request.covers(rule)]
        held = sum(self._sum(rule_id).held for rule_id in mine)
        return None if held >= wait.held else f"{held} held by {len(mine)} open fault(s) on such requests"

    def _sum(self, rule_id: str) -> RuleCounts:
        return sum(proxies_of(self._context()).counts(rule_id).values(), RuleCounts())
