"""A fake cluster with named nodes: what scripts print in each, and what requests answer, is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.cluster.containers.exec import ContainerOutput
from harness.cluster.node_plan import Node
from harness.spec.cluster import ClusterSpec
from tests.support.fake_cluster import FakeCluster

NODES = [Node(number, f"broker-{number}", True, False, 20000 + number, {}) for number in (1, 2, 3)]


@dataclass
class Whole(FakeCluster):
    """A fake cluster with nodes and a name. `prints` and `inside` are what the scripts that look for traces
    print in a node's network namespace and in its container; `exits` is their exit code; `looks` are these
    scripts, as (node, place)."""

    name: str = "kc-1"
    nodes: list[Node] = field(default_factory=lambda: list(NODES))
    prints: dict[int, str] = field(default_factory=dict)
    inside: dict[int, str] = field(default_factory=dict)
    exits: int = 0
    looks: list[tuple[int, str]] = field(default_factory=list)
    settings: dict[int, tuple[str, ...]] = field(default_factory=dict)
    quotas: dict[int, tuple[str, ...]] = field(default_factory=dict)
    rules: dict[int, tuple[str, ...]] = field(default_factory=dict)
    moves: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    baseline: dict[int, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    spec: ClusterSpec = field(default_factory=ClusterSpec)

    @property
    def nodes_with_containers(self) -> tuple[int, ...]:
        return tuple(node.id for node in self.nodes)

    def node(self, number: int) -> Node:
        return next(node for node in self.nodes if node.id == number)

    def delete_run_resources(self) -> list[str]:
        return []

    def in_network(self, number: int, script: str) -> Any:
        if "iptables-save" in script:
            self.looks.append((number, "network"))
            return ContainerOutput(self.exits, self.prints.get(number, ""))
        return super().in_network(number, script)

    def in_node(self, number: int, script: str) -> ContainerOutput:  # noqa: ARG002
        self.looks.append((number, "node"))
        return ContainerOutput(self.exits, self.inside.get(number, ""))

    def dynamic_settings(self, number: int) -> tuple[str, ...]:
        return self.settings.get(number, ())

    def quota_words(self, number: int) -> tuple[str, ...]:
        return self.quotas.get(number, ())

    def rule_words(self, number: int) -> tuple[str, ...]:
        return self.rules.get(number, ())

    def reassignments(self) -> tuple[str, ...]:
        return self.moves

    def containers_beside(self) -> tuple[str, ...]:
        return self.beside
