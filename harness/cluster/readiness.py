"""Waits until a new cluster is ready: every broker is registered and unfenced, and a topic has a full ISR."""

from __future__ import annotations

import time
from collections.abc import Callable

from harness.cluster.convergence import await_isr
from harness.cluster.live import LiveCluster
from harness.cluster.node_plan import Node
from harness.model.errors import ClusterError
from harness.model.polling import wait_until

START_SECONDS = 90.0
_ISR_SECONDS = 30.0
_POLL_SECONDS = 0.1
_ENDED_SECONDS = 1.0
_PROBE_TOPIC = "kafka-chaos-ready"


class _NodeEnded(Exception):
    """A node's process ended during its start."""

    def __init__(self, node: Node, code: int) -> None:
        super().__init__(f"{node.name} ended with exit code {code}")
        self.node = node


def await_ready(cluster: LiveCluster, on_registered: Callable[[], None]) -> None:
    """Wait until the cluster is ready.

    Args:
        on_registered: called once every broker is registered; a topic is created after it returns.

    Raises:
        ClusterError: a node ended, or it took too long; contains the node's last log lines.
    """
    factor = min(3, len(cluster.broker_ids))
    looked = 0.0

    def missing() -> str | None:
        nonlocal looked
        # The engine takes longer to say whether four processes run than brokers take to answer.
        if time.monotonic() >= looked + _ENDED_SECONDS:
            _require_running(cluster)
            looked = time.monotonic()
        return _unregistered(cluster)

    try:
        wait_until(
            missing, what="every broker registered and unfenced", seconds=START_SECONDS, every=_POLL_SECONDS
        )
        on_registered()
        admin = cluster.admin()
        admin.create(_PROBE_TOPIC, partitions=1, replication_factor=factor, config={})
        await_isr(cluster, _PROBE_TOPIC, 1, factor, _ISR_SECONDS, every=_POLL_SECONDS)
        admin.delete(_PROBE_TOPIC)
    except _NodeEnded as ended:
        raise _failed(cluster, str(ended), ended.node) from ended
    except ClusterError as error:
        raise _failed(cluster, str(error), cluster.nodes[-1]) from error


def _require_running(cluster: LiveCluster) -> None:
    for node in cluster.nodes:
        code = cluster.exit_code(node.id)
        if code is not None:
            raise _NodeEnded(node, code)


def _unregistered(cluster: LiveCluster) -> str | None:
    views = cluster.view((), timeout=2.0).views
    silent = [seen.broker for seen in views if not seen.answered]
    if silent:
        return f"no answer yet from broker(s) {', '.join(map(str, silent))}"
    wanted = set(cluster.broker_ids)
    missing = [seen.broker for seen in views if set(seen.brokers) != wanted]
    return f"broker(s) {missing} do not know all of {sorted(wanted)} yet" if missing else None


def _failed(cluster: LiveCluster, why: str, node: Node) -> ClusterError:
    return ClusterError(
        "the cluster did not come up",
        where=cluster.name,
        expected=f"{len(cluster.broker_ids)} brokers and a topic with full ISR within {START_SECONDS:g} s",
        found=f"{why}\nlast log lines of {node.name}:\n{cluster.log_tail(node.id)}",
        next_step="look for the first ERROR above; exit code 137 means too little memory",
    )
