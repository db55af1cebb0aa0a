"""The proxies of a cluster as one: rules go to all that run, and counters outlive their rules."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.cluster.cluster_proxies import ClusterProxies
from harness.cluster.containers.node_proxies import NodeProxies
from harness.cluster.proxy.client import ProxyClient
from harness.cluster.proxy.server import ProxySpec
from harness.model.errors import ClusterError
from harness.model.request_rules import RequestRule, RuleCounts

pytestmark = pytest.mark.pure

RULE = RequestRule(id="r", action="drop")
NONE = dict.fromkeys(RuleCounts.__slots__, 0)


@dataclass
class Proxy:
    """One proxy's control socket."""

    rules: dict[str, dict[str, int]] = field(default_factory=dict)
    clients: dict[str, dict[str, int]] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    dead: bool = False

    def status(self) -> dict[str, Any]:
        if self.dead:
            raise ClusterError("the proxy does not answer")
        return {
            "rules": self.rules,
            "listeners": {"CLIENT": {"clients": self.clients}, "INTERNAL": {"clients": {}}},
        }

    def add(self, rule: RequestRule) -> None:
        assert rule.id not in self.rules, "a proxy refuses a second rule of the same id"
        self.rules[rule.id] = dict(NONE)

    def remove(self, identity: str, *, drop: bool) -> dict[str, int]:
        self.dropped += [identity] if drop else []
        return self.rules.pop(identity)


@dataclass
class Nodes:
    proxies: dict[int, Proxy]
    stopped: set[int] = field(default_factory=set)

    @property
    def proxied_ids(self) -> tuple[int, ...]:
        return tuple(self.proxies)

    def proxy(self, number: int) -> ProxyClient:
        return cast(ProxyClient, self.proxies[number])

    def is_running(self, number: int) -> bool:
        return number not in self.stopped


def nodes() -> Nodes:
    return Nodes({1: Proxy(), 2: Proxy()})


def test_a_rule_is_added_once_to_each_that_runs() -> None:
    three = Nodes({1: Proxy(), 2: Proxy(), 3: Proxy()}, stopped={3})
    cluster = ClusterProxies(three)
    cluster.add(RULE)
    cluster.add(RULE)
    assert [list(one.rules) for one in three.proxies.values()] == [["r"], ["r"], []]
    assert cluster.lacking("r") == ()
    three.stopped.clear()
    assert cluster.lacking("r") == (3,)
    assert cluster.all_rules() == ("r at node 1", "r at node 2")


def test_counters_are_still_known_when_the_rule_was_removed_and_removing_again_is_harmless() -> None:
    both = nodes()
    cluster = ClusterProxies(both)
    cluster.add(RULE)
    both.proxies[2].rules["r"] |= {"matched": 3, "acted": 2}
    cluster.remove("r", "drop")
    cluster.remove("r", "drop")
    assert both.proxies[1].dropped == ["r"]
    assert cluster.counts("r") == {1: RuleCounts(), 2: RuleCounts(matched=3, acted=2)}
    assert cluster.counts("unknown") == {}
    assert sum(cluster.counts("r").values(), RuleCounts()) == RuleCounts(3, 2)


def test_what_a_proxy_had_counted_is_known_after_its_node_has_ended() -> None:
    both = nodes()
    cluster = ClusterProxies(both)
    cluster.add(RULE)
    both.proxies[2].rules["r"] |= {"matched": 3, "acted": 2, "held": 1}
    assert cluster.counts("r")[2] == RuleCounts(matched=3, acted=2, held=1)
    both.stopped.add(2)
    cluster.remove("r", "release")
    assert cluster.counts("r")[2].acted == 2
    both.proxies[2] = Proxy(rules={"r": {**NONE, "matched": 1, "acted": 1}})
    both.stopped.clear()
    assert cluster.counts("r")[2] == RuleCounts(matched=4, acted=3)
    cluster.remove("r", "release")
    cluster.add(RULE)
    assert cluster.counts("r")[2] == RuleCounts(), "another rule with this name begins anew"


def test_requests_are_counted_over_nodes_and_listeners() -> None:
    both = nodes()
    both.proxies[1].clients = {"Produce": {"p1": 2, "p2": 1}}
    both.proxies[2].clients = {"Produce": {"p1": 3}, "Fetch": {"": 1}}
    passed = ClusterProxies(both).passed()
    assert passed == {("Produce", "p1"): 5, ("Produce", "p2"): 1, ("Fetch", ""): 1}


def test_a_dead_proxy_of_a_running_node_is_an_error_and_that_of_a_dead_node_is_none() -> None:
    both = nodes()
    both.proxies[2].dead = True
    with pytest.raises(ClusterError):
        ClusterProxies(both).passed()
    looks = iter([True, True, False])
    both.is_running = lambda number: number == 1 or next(looks)  # type: ignore[method-assign]
    next(looks)
    assert ClusterProxies(both).passed() == {}


def test_a_node_that_was_started_again_meanwhile_is_asked_through_its_new_proxy() -> None:
    both = nodes()
    old, new = Proxy(dead=True), Proxy(rules={"r": dict(NONE)})
    proxies = iter([old, new])
    both.proxy = lambda number: cast(ProxyClient, next(proxies) if number == 2 else Proxy())  # type: ignore[method-assign]
    assert ClusterProxies(both).all_rules() == ("r at node 2",)


def test_commands_wait_while_a_node_and_its_proxy_start_again() -> None:
    proxies, node, told = NodeProxies(), SimpleNamespace(name="broker-1", client=None), []
    spec = ProxySpec(listeners=(), control="127.0.0.1:1", peers={})
    asking = threading.Thread(target=lambda: told.append(proxies.client(node, spec)))
    with proxies.restarting(node):
        proxies.client(node, spec)  # the thread that starts it does not wait for itself
        asking.start()
        asking.join(0.2)
        assert told == []
    asking.join(10)
    assert told == [proxies.client(node, spec)]
