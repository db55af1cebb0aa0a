"""Reads traces of faults in nodes, by the table of kinds: in one node, or in all nodes as the cluster's
baseline."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from harness.cluster.live import LiveCluster
from harness.cluster.trace_kinds import ASKED, SCRIPTED, Scope
from harness.containers.exec import ContainerOutput
from harness.model.errors import ClusterError, KafkaChaosError

Things = dict[str, tuple[str, ...]]
"""What was found, by the name of the kind; an empty tuple: nothing of that kind."""


def script_of(scope: Scope) -> str:
    """One script for all kinds of a scope. It ends with exit code 0 if it has run to its end."""
    return "\n".join([*(kind.script for kind in SCRIPTED if kind.scope == scope), "true"])


def read_node(cluster: LiveCluster, number: int, scope: Scope) -> Things:
    """The traces that the script of a scope finds on a running node.

    Raises:
        ClusterError: the script could not be run, or not to its end.
    """
    run = cluster.in_network if scope == "network" else cluster.in_node
    return parse(scope, run(number, script_of(scope)))


def parse(scope: Scope, output: ContainerOutput) -> Things:
    """What the script of a scope has printed.

    Raises:
        ClusterError: it did not run to its end.
    """
    if output.code != 0:
        raise ClusterError(
            "the script that looks for traces of faults failed",
            expected="exit code 0",
            found=f"exit code {output.code}: {output.text.strip()[-200:]}",
            next_step="does `docker exec` start a shell in the node's container?",
        )
    kinds = {kind.name: kind for kind in SCRIPTED if kind.scope == scope}
    found: dict[str, list[str]] = {name: [] for name in kinds}
    for line in output.text.splitlines():
        name, separator, thing = line.partition(": ")
        if separator and name in kinds:
            found[name].append(kinds[name].read(thing.strip()))
    return {name: tuple(things) for name, things in found.items()}


def baseline(cluster: LiveCluster) -> dict[int, Things]:
    """The baseline of a cluster whose brokers are registered: the traces in nodes and the answers of brokers
    that are compared later."""
    nodes = _nodes_baseline(cluster)

    def ask(number: int) -> Things:
        found: Things = {}
        for kind in ASKED:
            if kind.compared:
                with suppress(KafkaChaosError):
                    found[kind.name] = kind.ask(cluster, number)
        return found

    brokers = _of_each([one for one in cluster.broker_ids if one in nodes], ask)
    return {number: things | brokers.get(number, {}) for number, things in nodes.items()}


def _nodes_baseline(cluster: LiveCluster) -> dict[int, Things]:
    """The traces of each node that are compared later. A trace that cannot be read is left out, and so is not
    compared."""

    def read(number: int) -> Things:
        with suppress(KafkaChaosError):
            found = read_node(cluster, number, "node")
            return {kind.name: found[kind.name] for kind in SCRIPTED if kind.compared}
        return {}

    return _of_each(cluster.nodes_with_containers, read)


def _of_each(numbers: Collection[int], read: Callable[[int], Things]) -> dict[int, Things]:
    with ThreadPoolExecutor(max_workers=len(numbers) or 1) as pool:
        return dict(zip(numbers, pool.map(read, numbers), strict=True))
