"""Checks that healed faults have left nothing behind, neither in processes nor in kernels."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from harness.cluster.node_control import RunningNodes
from harness.model.errors import KafkaChaosError

TAG_PREFIX = "kafka-chaos-"
"""The comment of every firewall rule of ours begins with this (`harness.run.runner`)."""

_NETWORK_SCRIPT = """
iptables-save 2>/dev/null | grep -F -- {prefix} | sed 's/^/rule: /'
tc qdisc show | grep -vE 'qdisc (noqueue|pfifo_fast|fq_codel|mq|pfifo) ' | sed 's/^/qdisc: /'
true
"""


def traces(cluster: RunningNodes, numbers: Iterable[int] | None = None) -> list[str]:
    """One sentence for each thing that faults have left on these nodes (default: all); empty: all are clean.

    A node is clean if its process runs and is not frozen, and its network namespace has no firewall rule of
    ours and only the kernel's default queueing disciplines.
    """
    wanted = [node.id for node in cluster.nodes] if numbers is None else list(numbers)
    with ThreadPoolExecutor(max_workers=len(wanted) or 1) as pool:
        found = pool.map(lambda number: _traces_of(cluster, number), wanted)
        return [trace for traces in found for trace in traces]


def _traces_of(cluster: RunningNodes, number: int) -> list[str]:
    name = next(node.name for node in cluster.nodes if node.id == number)
    try:
        if not cluster.is_running(number):
            return [f"{name} does not run"]
        left = [f"{name} is still frozen"] if cluster.is_paused(number) else []
        output = cluster.in_network(number, _NETWORK_SCRIPT.format(prefix=TAG_PREFIX))
        return left + [
            f"{name} still has a {line.strip()}" for line in output.text.splitlines() if line.strip()
        ]
    except KafkaChaosError as error:
        return [f"{name} could not be inspected: {error}"]
