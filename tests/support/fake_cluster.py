"""A cluster made of views, for faults that need none of its own: it shows and says what it was given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from faults.shared.fault_spec import Evidence, FaultSpec, InjectionContext
from faults.targets.fault_cluster import FaultCluster
from harness.model.broker_views import TopologyView
from harness.model.errors import ClusterError
from harness.model.request_rules import RequestRule, RuleCounts


@dataclass
class FakeCommandResult:
    code: int = 0
    text: str = ""


@dataclass
class FakeProxies:
    """Proxies that have the counters they were given, by rule and node, and forget no rule."""

    counted: dict[str, dict[int, RuleCounts]] = field(default_factory=dict)
    requests: dict[tuple[str, str], int] = field(default_factory=dict)
    rules: dict[str, RequestRule] = field(default_factory=dict)
    removed: list[tuple[str, str]] = field(default_factory=list)
    without: tuple[int, ...] = ()

    def add(self, rule: RequestRule) -> None:
        self.rules[rule.id] = rule

    def lacking(self, rule_id: str) -> tuple[int, ...]:  # noqa: ARG002
        return self.without

    def remove(self, rule_id: str, held: str) -> None:
        self.removed.append((rule_id, held))

    def counts(self, rule_id: str) -> dict[int, RuleCounts]:
        return self.counted.get(rule_id, {})

    def passed(self) -> dict[tuple[str, str], int]:
        return dict(self.requests)

    def all_rules(self) -> tuple[str, ...]:
        return tuple(f"{rule_id} at node 1" for rule_id in self.rules)


@dataclass
class FakeCluster:
    """A cluster that shows the views and says the lines it was given."""

    views: list[TopologyView]
    says: list[FakeCommandResult] = field(default_factory=list)
    dead: set[int] = field(default_factory=set)
    immortal: bool = False
    looks_until_exit: int = 0
    logged: str = ""
    frozen: set[int] = field(default_factory=set)
    code: int = 137
    scripts: list[tuple[int, str]] = field(default_factory=list)
    broker_ids: tuple[int, ...] = (1, 2, 3)
    controller_ids: tuple[int, ...] = (101,)
    zookeeper_ids: tuple[int, ...] = ()
    application_ids: tuple[int, ...] = ()
    client_address: str = "10.0.0.254"
    cpu_ns: int = 0
    busy: bool = False
    coordinating: int | None = None
    active: list[int | None] = field(default_factory=lambda: [101])
    proxies: FakeProxies | None = None

    def topic_id(self, topic: str) -> str | None:
        return f"id of {topic}"

    def controller(self) -> int | None:
        return self.active.pop(0) if len(self.active) > 1 else self.active[0]

    bootstrap: str = "10.0.0.1:9092"

    def endpoint(self, number: int) -> tuple[str, int]:
        return f"10.0.0.{number}", 9092

    def address(self, number: int) -> str:
        return f"10.0.0.{number}"

    def view(self, topics: Iterable[str], timeout: float = 1.0) -> TopologyView:  # noqa: ARG002
        return self.views.pop(0) if len(self.views) > 1 else self.views[0]

    def share_coordinator(self, group: str, topic: str, partition: int) -> int | None:  # noqa: ARG002
        return None

    def coordinator(self, key: str, *, transactional: bool) -> int | None:  # noqa: ARG002
        return self.coordinating

    def kill(self, number: int) -> None:
        if not self.immortal:
            self.dead.add(number)

    def terminate(self, number: int) -> None:
        self.terminated = number
        self.code = 143

    def pause(self, number: int) -> None:
        if not self.immortal:
            self.frozen.add(number)

    def unpause(self, number: int) -> None:
        self.frozen.remove(number)

    def is_paused(self, number: int) -> bool:
        return number in self.frozen

    def stats(self, number: int) -> dict[str, Any]:
        self.cpu_ns += 0 if number in self.frozen and not self.busy else 1
        return {"cpu_stats": {"cpu_usage": {"total_usage": self.cpu_ns}}}

    def start_node(self, number: int) -> None:
        self.dead.discard(number)

    def is_running(self, number: int) -> bool:
        if self.looks_until_exit:
            self.looks_until_exit -= 1
            if not self.looks_until_exit:
                self.dead.add(self.terminated)
        return number not in self.dead

    def exit_code(self, number: int) -> int | None:
        return self.code if number in self.dead else None

    def started_ns(self, number: int) -> int:  # noqa: ARG002
        return 0

    def log_since(self, number: int, since_ns: int) -> str:  # noqa: ARG002
        return self.logged

    def in_network(self, number: int, script: str) -> FakeCommandResult:
        self.scripts.append((number, script))
        return self.says.pop(0) if self.says else FakeCommandResult()


def unheard(cluster: FakeCluster, request: str, monkeypatch: Any, times: int = 1) -> list[str]:
    """The first of these requests to the cluster get no answer; returns the list of those that were made."""
    made: list[str] = []
    answered = getattr(cluster, request)

    def ask(*arguments: Any, **named: Any) -> Any:
        made.append(request)
        if len(made) <= times:
            raise ClusterError("no broker answered")
        return answered(*arguments, **named)

    monkeypatch.setattr(cluster, request, ask)
    return made


def context(cluster: FakeCluster) -> InjectionContext:
    # A negative session makes the deadline short: 30 s of margin are for real brokers.
    return InjectionContext(cast(FaultCluster, cluster), "t", -29.7, "tag-1")


def inject(spec: FaultSpec, cluster: FakeCluster) -> Evidence:
    """Aim, apply and verify."""
    injection = spec.aim(context(cluster))
    injection.apply(context(cluster))
    return injection.verify(context(cluster))
