"""Pause: a node's processes are frozen."""

from __future__ import annotations

from typing import Literal

from faults.shared.fault_spec import Evidence, InjectionContext, node_names
from faults.shared.process_fault import OnNodes, ProcessFault
from harness.model.polling import poll_within

_SECONDS = 10.0


class Paused(OnNodes):
    """These nodes were frozen."""

    stops_process = True
    back = "thawed and back"

    def apply(self, context: InjectionContext) -> None:
        for node in self.nodes:
            if not context.cluster.is_paused(node):
                context.cluster.pause(node)

    def verify(self, context: InjectionContext) -> Evidence:
        cluster = context.cluster
        before = {node: _cpu_ns(context, node) for node in self.nodes}

        def missing() -> str | None:
            awake = [node for node in self.nodes if not cluster.is_paused(node)]
            if awake:
                return f"{node_names(awake)} is not paused"
            busy = [node for node in self.nodes if _cpu_ns(context, node) != before[node]]
            if busy:
                before.update({node: _cpu_ns(context, node) for node in busy})
                return f"{node_names(busy)} still uses CPU time"
            view = cluster.view((context.topic,), timeout=0.5)
            answering = [one.broker for one in view.answered() if one.broker in self.nodes]
            return f"broker {answering} still answers" if answering else None

        left = poll_within(_SECONDS, missing)
        facts: dict[str, object] = {"nodes": list(self.nodes)}
        brokers = any(node in cluster.broker_ids for node in self.nodes)
        what = "frozen: uses no CPU time" + (" and answers no request" if brokers else "")
        return Evidence(left is None, left or what, facts)

    def undo(self, context: InjectionContext) -> None:
        for node in self.nodes:
            if context.cluster.is_paused(node):
                context.cluster.unpause(node)


def _cpu_ns(context: InjectionContext, node: int) -> int:
    """The total CPU time of the node's processes, in nanoseconds."""
    return int(context.cluster.stats(node)["cpu_stats"]["cpu_usage"]["total_usage"])


class Pause(ProcessFault):
    """Freeze every process of the target's nodes (cgroup freezer); healed by thawing them.

    What Kafka does: the broker sends no heartbeat and fetches nothing, while its connections stay open. A
    pause shorter than broker.session.timeout.ms and replica.lag.time.max.ms only stalls writes under
    acks=all; a longer one fences the broker. Packets that were sent to it stay in its socket buffers and are
    processed on resume, so a paused follower may still receive what it had been sent. Brokers send requests
    to a frozen active controller for controller.socket.timeout.ms (30 s) before they look for another.

    Proof: the engine reports that the container is paused, its processes use no CPU time (so no heartbeat
    and no fetch can leave it), and the broker answers no request.
    """

    kind: Literal["pause"] = "pause"
    needs = ("cgroup freezer",)
    external = "containers"
    applications = "all"
    injection = Paused
