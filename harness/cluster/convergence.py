"""Waits until a new cluster is ready, and until a cluster is settled, so that a read of it is reliable.

A broker that has just restarted serves stale metadata and its old high watermark, and the metadata of one
broker say nothing about the others. Therefore every broker is queried, and all must agree.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from harness.cluster.live import LiveCluster
from harness.cluster.node_plan import Node
from harness.model.broker_views import TopologyView
from harness.model.errors import ClusterError
from harness.model.polling import poll_within, wait_until
from harness.model.run import PartitionBounds

START_SECONDS = 90.0
_ISR_SECONDS = 30.0
_ENDED_SECONDS = 1.0
_PROBE_TOPIC = "kafka-chaos-ready"


def unsettled_reason(view: TopologyView, topic: str, partitions: int, isr: int) -> str | None:
    """The first reason why the topic is not settled in this view; None if it is.

    A topic is settled if every broker answers, all report the same leader and leader epoch for each
    partition, the ISR has `isr` members, and the leader's high watermark equals the log end offset of every
    replica.
    """
    silent = [seen.broker for seen in view.views if not seen.answered]
    if silent:
        return f"broker {', '.join(map(str, silent))} does not answer"
    for number in range(partitions):
        states = view.states(topic, number)
        ignorant = [seen.broker for seen in view.views if seen.broker not in states]
        where = f"partition {number}"
        if ignorant:
            return f"{where}: broker {', '.join(map(str, ignorant))} does not know it"
        beliefs = {(state.leader, state.leader_epoch) for state in states.values()}
        if len(beliefs) > 1:
            return f"{where}: brokers disagree on (leader, leader epoch): {sorted(beliefs)}"
        leader = next(iter(beliefs))[0]
        if leader not in states:
            return f"{where}: no leader"
        led = states[leader]
        for broker, state in states.items():
            if len(state.isr) != isr:
                return f"{where}: ISR {sorted(state.isr)} by broker {broker}, expected {isr} replicas in it"
        mark = led.high_watermark
        ends = {broker: states[broker].log_end_offset for broker in led.replicas if broker in states}
        if mark is None or led.log_start_offset is None:
            return f"{where}: the leader does not report its high watermark or log start offset yet"
        if any(end != mark for end in ends.values()):
            return f"{where}: high watermark {mark}, log end offsets by replica {ends}"
    return None


def bounds_of(view: TopologyView, topic: str, partitions: int) -> tuple[PartitionBounds, ...]:
    """The offsets between which the records of a settled topic are."""
    bounds = []
    for number in range(partitions):
        state = view.partition(topic, number)
        assert state is not None
        assert state.log_start_offset is not None
        assert state.high_watermark is not None
        bounds.append(
            PartitionBounds(
                topic=topic,
                partition=number,
                log_start_offset=state.log_start_offset,
                end_offset=state.high_watermark,
                leader=state.leader,
                leader_epoch=state.leader_epoch,
            )
        )
    return tuple(bounds)


def await_isr(cluster: LiveCluster, topic: str, partitions: int, members: int, seconds: float) -> None:
    """Wait until every partition's ISR has `members` members, as its leader reports it.

    Raises:
        ClusterError: timed out after `seconds`.
    """

    def missing() -> str | None:
        view = cluster.view((topic,))
        for number in range(partitions):
            state = view.partition(topic, number)
            if state is None or len(state.isr) != members:
                return f"partition {number}: ISR {list(state.isr) if state else 'not known'}"
        return None

    wait_until(missing, what=f"an ISR of {members} in every partition", seconds=seconds)


def settle(
    cluster: LiveCluster, topic: str, partitions: int, isr: int, seconds: float
) -> tuple[PartitionBounds, ...]:
    """Wait until two consecutive views are settled and show the same offsets; returns these.

    Raises:
        ClusterError: timed out after `seconds`; says what was still missing.
    """
    bounds: tuple[PartitionBounds, ...] = ()

    def missing() -> str | None:
        nonlocal bounds
        view = cluster.view((topic,), timeout=2.0)
        why = unsettled_reason(view, topic, partitions, isr)
        if why is not None:
            bounds = ()
            return why
        before, bounds = bounds, bounds_of(view, topic, partitions)
        return None if before == bounds else "offsets moved between two views"

    last = poll_within(seconds, missing, every=0.2)
    if last is not None:
        raise ClusterError(
            "the cluster did not settle",
            where=topic,
            expected=f"all brokers agree, ISR of {isr}, high watermark = every replica's log end offset",
            found=last,
            next_step="see the brokers' logs in the experiment's folder",
        )
    return bounds


class _NodeEnded(Exception):
    """The process of a node ended during its start: the node, and its exit code."""


def await_ready(cluster: LiveCluster, on_registered: Callable[[], None]) -> None:
    """Wait until a new cluster is ready: every broker is registered and unfenced, and a topic has a full ISR.

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
        wait_until(missing, what="every broker registered and unfenced", seconds=START_SECONDS)
        on_registered()
        admin = cluster.admin()
        admin.create(_PROBE_TOPIC, partitions=1, replication_factor=factor, config={})
        await_isr(cluster, _PROBE_TOPIC, 1, factor, _ISR_SECONDS)
        admin.delete(_PROBE_TOPIC)
    except _NodeEnded as ended:
        node, code = ended.args
        raise _failed(cluster, f"{node.name} ended with exit code {code}", node) from ended
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
