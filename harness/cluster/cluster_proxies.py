"""The proxies of a cluster's nodes as one, for faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Literal, Protocol, TypeVar

from harness.cluster.proxy.client import ProxyClient
from harness.model.errors import BadInput, ClusterError
from harness.model.request_rules import RequestRule, RuleCounts

_T = TypeVar("_T")


class HasProxies(Protocol):
    """Nodes with a proxy before their listeners."""

    @property
    def proxied_ids(self) -> tuple[int, ...]: ...
    def proxy(self, number: int) -> ProxyClient: ...
    def is_running(self, number: int) -> bool: ...


class ClusterProxies:
    """What faults need of the proxies (`faults.targets.fault_cluster.FaultProxies`). Only those of running
    nodes are spoken to: the others have ended with their nodes, and begin without rules when these start."""

    def __init__(self, nodes: HasProxies) -> None:
        self._nodes = nodes
        self._last: dict[str, dict[int, RuleCounts]] = {}
        """The last counters that were seen, by rule and node."""
        self._ended: dict[str, dict[int, RuleCounts]] = {}
        """Those of proxies that have ended with their nodes, where the next one has the rule too."""
        self._removed: set[str] = set()

    def add(self, rule: RequestRule) -> None:
        if rule.id in self._removed:
            # Another rule of this name, which has counted nothing yet.
            self._removed.discard(rule.id)
            self._last.pop(rule.id, None)
            self._ended.pop(rule.id, None)

        def tell(proxy: ProxyClient) -> None:
            if rule.id not in proxy.status()["rules"]:
                proxy.add(rule)

        self._each(tell)

    def lacking(self, rule_id: str) -> tuple[int, ...]:
        by_node = self._each(lambda proxy: proxy.status()["rules"])
        return tuple(node for node, rules in by_node.items() if rule_id not in rules)

    def remove(self, rule_id: str, held: Literal["release", "drop"]) -> None:
        def tell(proxy: ProxyClient) -> dict[str, int] | None:
            if rule_id not in proxy.status()["rules"]:
                return None
            return proxy.remove(rule_id, drop=held == "drop")

        self._note(rule_id, self._each(tell))
        self._removed.add(rule_id)

    def counts(self, rule_id: str) -> dict[int, RuleCounts]:
        self._note(rule_id, self._each(lambda proxy: proxy.status()["rules"].get(rule_id)))
        ended = self._ended.get(rule_id, {})
        last = self._last.get(rule_id, {})
        return {node: ended.get(node, RuleCounts()) + counts for node, counts in last.items()}

    def _note(self, rule_id: str, found: Mapping[int, dict[str, int] | None]) -> None:
        """Keep the counters that were found. A proxy that has counted less than before is another one."""
        last, ended = self._last.setdefault(rule_id, {}), self._ended.setdefault(rule_id, {})
        for node, counters in found.items():
            if counters is None:
                continue
            now, before = RuleCounts(**counters), last.get(node, RuleCounts())
            if now.matched < before.matched:
                ended[node] = ended.get(node, RuleCounts()) + replace(before, held=0)
            last[node] = now

    def passed(self) -> dict[tuple[str, str], int]:
        total: Counter[tuple[str, str]] = Counter()
        for status in self._each(lambda proxy: proxy.status()).values():
            for listener in status["listeners"].values():
                for api, clients in listener["clients"].items():
                    total.update({(api, client): count for client, count in clients.items()})
        return dict(total)

    def produced(self) -> tuple[dict[str, Any], ...]:
        """The first Produce request of each client at each running node, as `proxy.produced` notes it."""
        statuses = self._each(lambda proxy: proxy.status())
        return tuple(row for status in statuses.values() for row in status["produced"])

    def all_rules(self) -> tuple[str, ...]:
        """Every rule of a running node's proxy, with the node: "kafka-chaos-1-requests-1 at node 2"."""
        by_node = self._each(lambda proxy: tuple(proxy.status()["rules"]))
        return tuple(f"{rule_id} at node {node}" for node, rules in by_node.items() for rule_id in rules)

    def _each(self, act: Callable[[ProxyClient], _T]) -> dict[int, _T]:
        """`act` with the proxy of every running node; what of a node that has ended meanwhile is left out.

        A node that was started again meanwhile has a new proxy, which is asked then."""

        def tell(node: int, *, again: bool = False) -> list[_T]:
            try:
                return [act(self._nodes.proxy(node))]
            except (ClusterError, BadInput):
                if not self._runs(node):
                    return []
                if again:
                    raise
                return tell(node, again=True)

        nodes = [node for node in self._nodes.proxied_ids if self._runs(node)]
        with ThreadPoolExecutor(max_workers=len(nodes) or 1) as pool:
            by_node: dict[int, Any] = dict(zip(nodes, pool.map(tell, nodes), strict=True))
        return {node: answers[0] for node, answers in by_node.items() if answers}

    def _runs(self, node: int) -> bool:
        try:
            return self._nodes.is_running(node)
        except ClusterError:
            # A broker of an existing cluster, whose container is not known; its proxy runs on this machine.
            return True
