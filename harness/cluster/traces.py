"""Looks for what faults have left on a cluster after they were healed: one sentence for each thing.

What is looked for is a table (`harness.cluster.trace_kinds`). What is there before any fault is the cluster's
baseline; what a fault lawfully leaves, its spec declares (`FaultSpec.leaves`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fnmatch import fnmatchcase

import faults  # noqa: F401 - makes every fault known
from faults.shared.fault_spec import KINDS
from harness.cluster.containers.exec import ContainerOutput
from harness.cluster.live import LiveCluster
from harness.cluster.trace_kinds import ASKED, SCRIPTED, AskedKind, Kind, Scope
from harness.model.errors import ClusterError, KafkaChaosError

_ASKED_AT_ONCE = 4
"""Of each node: its network, its container and the broker; and its state first."""

Things = dict[str, tuple[str, ...]]
"""What was found, by the name of the kind; an empty tuple: nothing of that kind."""


def traces(cluster: LiveCluster, numbers: Iterable[int] | None = None) -> list[str]:
    """One sentence for each thing that faults have left on these nodes (default: all), and on the cluster;
    empty: all are clean.

    A node is clean if its process runs and is not frozen, and nothing in the table is present except what was
    there when the cluster was started or connected to, and what a fault declares to leave.
    """
    wanted = [node.id for node in cluster.nodes] if numbers is None else list(numbers)
    if not wanted:
        return []
    with ThreadPoolExecutor(max_workers=_ASKED_AT_ONCE * len(wanted)) as pool:
        whole = [pool.submit(_asked, cluster, kind, wanted[0]) for kind in ASKED if kind.each == "cluster"]
        nodes = pool.map(lambda number: _traces_of(cluster, number), wanted)
        of_nodes = [trace for traces in nodes for trace in traces]
        return of_nodes + [trace for future in whole for trace in future.result()]


def _traces_of(cluster: LiveCluster, number: int) -> list[str]:
    name = cluster.node(number).name
    try:
        if not cluster.is_running(number):
            return [f"{name} does not run"]
        frozen = cluster.is_paused(number)
    except KafkaChaosError as error:
        return [f"{name} could not be inspected: {error}"]
    if frozen:
        # Nothing can run in it, and its broker answers nothing.
        return [f"{name} is still frozen", *_scripted(cluster, number, "network")]
    with ThreadPoolExecutor(max_workers=3) as pool:
        looks = [pool.submit(_scripted, cluster, number, "network")]
        looks.append(pool.submit(_scripted, cluster, number, "node"))
        if number in cluster.broker_ids:
            looks += [pool.submit(_asked, cluster, kind, number) for kind in ASKED if kind.each == "broker"]
        return [trace for look in looks for trace in look.result()]


def _scripted(cluster: LiveCluster, number: int, scope: Scope) -> list[str]:
    """The traces of all kinds that the script of a scope reads."""
    name = cluster.node(number).name
    try:
        things = read_node(cluster, number, scope)
    except KafkaChaosError as error:
        return [f"{name} could not be inspected: {error}"]
    kinds = [kind for kind in SCRIPTED if kind.scope == scope]
    return [trace for kind in kinds for trace in _judge(cluster, number, name, kind, things[kind.name])]


def _asked(cluster: LiveCluster, kind: AskedKind, number: int) -> list[str]:
    """The traces of a kind that a request answers."""
    name = cluster.node(number).name if kind.each == "broker" else cluster.name
    if kind.compared and kind.name not in cluster.baseline.get(number, {}):
        return []
    try:
        things = kind.ask(cluster, number)
    except KafkaChaosError as error:
        return [f"{name} could not be inspected: {error}"]
    return list(_judge(cluster, number, name, kind, things))


def _judge(cluster: LiveCluster, number: int, name: str, kind: Kind, found: tuple[str, ...]) -> Iterator[str]:
    """One sentence per thing that is present and should not be, and per thing that is missing."""
    before = cluster.baseline.get(number, {}).get(kind.name) if kind.compared else ()
    if before is None:
        return
    missing = [thing for thing in before if thing not in found]
    for thing in found:
        if thing in before or _is_declared(thing):
            continue
        former = next((gone for gone in missing if _changed_thing(gone) == _changed_thing(thing)), None)
        if former is not None:
            missing.remove(former)
        expected = kind.expected if former is None else f"{former}, {kind.expected}"
        yield f"{name} still has {kind.called}: {thing}; expected: {expected}; next: {kind.next_step}"
    for thing in missing:
        yield f"{name} still lacks {kind.called}: {thing}; expected: {kind.expected}; next: {kind.next_step}"


def _changed_thing(thing: str) -> str:
    """What a trace is about: the limit `cpu.max`, the interface `eth0`, the setting before its `=`."""
    return thing.partition(" ")[0].partition("=")[0]


def _is_declared(thing: str) -> bool:
    """Whether a fault declares to leave this."""
    patterns = (pattern for spec in KINDS.values() for many in spec.leaves.values() for pattern in many)
    return any(fnmatchcase(thing, pattern) for pattern in patterns)


def script_of(scope: Scope) -> str:
    """One script for all kinds of a scope. It ends with exit code 0 if it has run to its end."""
    return "\n".join([*(kind.script for kind in SCRIPTED if kind.scope == scope), "true"])


def read_node(cluster: LiveCluster, number: int, scope: Scope) -> Things:
    """The traces that the script of a scope finds on a running node; ClusterError: it could not be run."""
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
    by_kind: dict[str, list[str]] = {name: [] for name in kinds}
    for line in output.text.splitlines():
        name, separator, thing = line.partition(": ")
        if separator and name in kinds:
            by_kind[name].append(kinds[name].read(thing.strip()))
    return {name: tuple(things) for name, things in by_kind.items()}


def baseline(cluster: LiveCluster) -> dict[int, Things]:
    """The baseline of a cluster whose brokers are registered: the traces in nodes and the answers of brokers
    that are compared later. What cannot be read is left out, and so is not compared."""

    def read(number: int) -> Things:
        with suppress(KafkaChaosError):
            things = read_node(cluster, number, "node")
            return {kind.name: things[kind.name] for kind in SCRIPTED if kind.compared}
        return {}

    def ask(number: int) -> Things:
        things: Things = {}
        for kind in ASKED:
            if kind.compared:
                with suppress(KafkaChaosError):
                    things[kind.name] = kind.ask(cluster, number)
        return things

    nodes = _of_each(cluster.nodes_with_containers, read)
    brokers = _of_each([number for number in cluster.broker_ids if number in nodes], ask)
    return {number: things | brokers.get(number, {}) for number, things in nodes.items()}


def _of_each(numbers: Collection[int], read: Callable[[int], Things]) -> dict[int, Things]:
    with ThreadPoolExecutor(max_workers=len(numbers) or 1) as pool:
        return dict(zip(numbers, pool.map(read, numbers), strict=True))
