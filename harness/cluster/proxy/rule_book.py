"""The rules of a running proxy and their counters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from harness.model.errors import BadInput
from harness.model.request_rules import NamedPartition, RequestRule, RuleCounts


@dataclass(slots=True, eq=False)
class ActiveRule:
    """A rule that has been added, with its counters."""

    rule: RequestRule
    counters: RuleCounts = field(default_factory=RuleCounts)

    @property
    def may_act(self) -> bool:
        """Whether it acts on what fits it next."""
        return self.rule.acts_on(self.counters.matched + 1)


Fitting = tuple[ActiveRule, ...]


class RuleBook:
    """The rules in the order in which they were added."""

    def __init__(self) -> None:
        self._rules: dict[str, ActiveRule] = {}
        self._fitting: dict[tuple[str, str, str | None, int, int], Fitting] = {}
        self.on_remove: list[Callable[[ActiveRule, bool], None]] = []
        """Called when a rule was removed, with whether what it holds is dropped instead of released."""
        self._changed = asyncio.Event()

    def add(self, rule: RequestRule) -> None:
        """Raises BadInput: there is a rule of this id."""
        if rule.id in self._rules:
            raise BadInput("the proxy has a rule of this id already", where=f"rule {rule.id}")
        self._rules[rule.id] = ActiveRule(rule)
        self._fitting.clear()

    def remove(self, identity: str, *, drop: bool = False) -> RuleCounts:
        """Remove a rule, and release (or drop) what it holds; returns its last counters.

        Raises:
            BadInput: there is no such rule.
        """
        active = self.find(identity)
        del self._rules[identity]
        self._fitting.clear()
        for callback in tuple(self.on_remove):
            callback(active, drop)
        self.counted()
        return active.counters

    def find(self, identity: str) -> ActiveRule:
        """Raises BadInput: there is no such rule."""
        if identity not in self._rules:
            known = ", ".join(self._rules) or "none"
            raise BadInput("the proxy has no such rule", where=f"rule {identity}", expected=known)
        return self._rules[identity]

    def fitting(self, api: str, direction: str, client: str | None, sender: int, receiver: int) -> Fitting:
        """The rules that fit by what a header and its connection tell."""
        if not self._rules:
            return ()
        key = (api, direction, client, sender, receiver)
        fitting = self._fitting.get(key)
        if fitting is None:
            if len(self._fitting) > 10_000:  # clients whose ids are all different
                self._fitting.clear()
            fitting = tuple(active for active in self._rules.values() if active.rule.fits(*key))
            self._fitting[key] = fitting
        return fitting

    def acting(
        self, fitting: Fitting, partitions: frozenset[NamedPartition] | None
    ) -> list[tuple[ActiveRule, int]]:
        """Count those that fit by the body, too (None: it could not be read); returns those that act, each
        with the number of this fit."""
        acting = []
        for active in fitting:
            if active.rule.needs_body and partitions is None:
                active.counters.unread += 1
                continue
            if not active.rule.fits_body(partitions or ()):
                continue
            active.counters.matched += 1
            if active.rule.acts_on(active.counters.matched):
                active.counters.acted += 1
                acting.append((active, active.counters.matched))
        if fitting:
            self.counted()
        return acting

    def counted(self) -> None:
        """Tell those that wait that a counter may have changed."""
        self._changed.set()

    async def wait(self, identity: str, counter: str, at_least: int, seconds: float) -> int:
        """The value of a rule's counter, once it is `at_least`, or when these `seconds` have passed.

        Raises:
            BadInput: there is no such rule or counter.
        """
        active = self.find(identity)
        if counter not in asdict(active.counters):
            expected = ", ".join(asdict(active.counters))
            raise BadInput("rules have no such counter", expected=expected, found=counter)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while (value := int(getattr(active.counters, counter))) < at_least and loop.time() < deadline:
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), deadline - loop.time())
            except TimeoutError:
                break
        return value

    def status(self) -> dict[str, dict[str, int]]:
        return {identity: asdict(active.counters) for identity, active in self._rules.items()}
