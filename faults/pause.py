"""Pause: a node's processes are frozen."""

from __future__ import annotations

from typing import ClassVar, Literal

from faults.base import Evidence, Injection, InjectionContext, node_names
from faults.leadership import await_rejoined
from faults.process_fault import OnNodes, ProcessFault, resolve_nodes
from harness.model.polling import seen_within

_SECONDS = 10.0


class Paused(OnNodes):
    """These nodes were frozen."""

    kind: Literal["pause"] = "pause"
    stops_process: ClassVar[bool] = True

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
            answering = [seen.broker for seen in view.answered() if seen.broker in self.nodes]
            return f"broker {answering} still answers" if answering else None

        left = seen_within(_SECONDS, missing)
        facts: dict[str, object] = {"nodes": list(self.nodes)}
        return Evidence(left is None, left or "frozen, uses no CPU time and answers nothing", facts)

    def undo(self, context: InjectionContext) -> None:
        for node in self.nodes:
            if context.cluster.is_paused(node):
                context.cluster.unpause(node)

    def healed(self, context: InjectionContext) -> Evidence:
        await_rejoined(context, self.nodes)
        return Evidence(True, f"{self.target} thawed and back")


def _cpu_ns(context: InjectionContext, node: int) -> int:
    """CPU time that the node's processes have used in all, in nanoseconds."""
    return int(context.cluster.stats(node)["cpu_stats"]["cpu_usage"]["total_usage"])


class Pause(ProcessFault):
    """Freeze every process of the target's nodes (cgroup freezer); healed by thawing them.

    What Kafka does: the broker sends no heartbeat and fetches nothing, while its connections stay open. A
    pause shorter than broker.session.timeout.ms and replica.lag.time.max.ms only stalls writes under
    acks=all; a longer one fences the broker. What was on its way to it sits in its socket buffers and is
    dealt with on resume, so a paused follower may still take what it had been sent. Brokers go on sending
    requests to a frozen active controller for controller.socket.timeout.ms (30 s) before they look for
    another.

    Proof: the engine says that the container is paused, its processes use no CPU time (so no heartbeat and
    no fetch can leave it), and the broker answers nothing.
    """

    kind: Literal["pause"] = "pause"
    needs: ClassVar[tuple[str, ...]] = ("cgroup freezer",)
    injection: ClassVar[type[Injection]] = Paused

    def aim(self, context: InjectionContext) -> Paused:
        return Paused(**resolve_nodes(context, self.target))
