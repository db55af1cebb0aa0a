"""Kill: SIGKILL to a node's process."""

from __future__ import annotations

from typing import ClassVar, Literal

from faults.base import Evidence, Injection, InjectionContext, node_names
from faults.leadership import await_rejoined, describe_moves, describe_unmoved, leaders_of
from faults.process_fault import OnNodes, ProcessFault, resolve_nodes, start_stopped
from harness.model.polling import seen_within

_MARGIN_SECONDS = 30.0


class Killed(OnNodes):
    """SIGKILL was sent to these nodes."""

    kind: Literal["kill"] = "kill"
    stops_process: ClassVar[bool] = True

    def apply(self, context: InjectionContext) -> None:
        for node in self.nodes:
            if context.cluster.is_running(node):
                context.cluster.kill(node)

    def verify(self, context: InjectionContext) -> Evidence:
        cluster, topic = context.cluster, context.topic

        def missing() -> str | None:
            running = [node for node in self.nodes if cluster.is_running(node)]
            if running:
                return f"the process of {node_names(running)} still runs"
            view = cluster.view((topic,))
            # Nobody left to elect: everything is offline.
            led = describe_unmoved(view, topic, self.led) if view.answered() else None
            if led is not None:
                return led
            if self.active_controller in self.nodes and cluster.controller() == self.active_controller:
                return f"controller {self.active_controller} is still said to be the active one"
            return None

        left = seen_within(context.session_seconds + _MARGIN_SECONDS, missing)
        if left is not None:
            return Evidence(False, left)
        now = leaders_of(cluster.view((topic,)), topic, self.led)
        facts: dict[str, object] = {
            "exit_codes": {node: cluster.exit_code(node) for node in self.nodes},
            "led": dict(self.led),
            "leaders_now": now,
        }
        what = (
            f"leadership moved: {describe_moves(self.led, now)}"
            if self.led
            else "it led no partition of the topic"
        )
        if self.active_controller in self.nodes:
            facts["controller_now"] = cluster.controller()
            now_active = facts["controller_now"] or "one that no broker knows yet, or none"
            what += f"; active controller from {self.active_controller} to {now_active}"
        return Evidence(True, f"process gone; {what}", facts)

    def undo(self, context: InjectionContext) -> None:
        start_stopped(context.cluster, self.nodes)

    def healed(self, context: InjectionContext) -> Evidence:
        await_rejoined(context, self.nodes)
        return Evidence(True, f"{self.target} started and back")


class Kill(ProcessFault):
    """SIGKILL to every node of the target; healed by starting it again.

    What Kafka does: the controller fences a broker that has sent no heartbeat for
    broker.session.timeout.ms, elects a new leader from the ISR for each partition that it led, and takes
    it out of the ISR of all others (KIP-500, KIP-631). Nothing unsynced is lost: the page cache survives
    the process. Without the active controller the other voters elect one (KIP-595); without a majority of
    them there are no elections and no ISR changes, while leaders go on serving.

    Proof: the process is gone, and every partition that the broker led has another leader or none; a
    killed active controller is not the active one any more.
    """

    kind: Literal["kill"] = "kill"
    injection: ClassVar[type[Injection]] = Killed

    def aim(self, context: InjectionContext) -> Killed:
        return Killed(**resolve_nodes(context, self.target))
