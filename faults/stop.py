"""Stop: a controlled shutdown of a node."""

from __future__ import annotations

import time
from typing import Literal

from faults.shared.fault_spec import Evidence, InjectionContext
from faults.shared.leadership import describe_leaderless, describe_moves, describe_unmoved, leaders_of
from faults.shared.process_fault import CLEAN_EXITS, Halted, ProcessFault

_SECONDS = 60.0


class Stopped(Halted):
    """SIGTERM was sent to these nodes."""

    kind: Literal["stop"] = "stop"

    def apply(self, context: InjectionContext) -> None:
        for node in context.running(self.nodes):
            context.cluster.terminate(node)

    def verify(self, context: InjectionContext) -> Evidence:
        cluster, topic = context.cluster, context.topic
        deadline = time.monotonic() + _SECONDS
        moved_while_running: dict[int, int | None] | None = None
        # No pause between two views: the time between the last move and the exit is short.
        while context.running(self.nodes):
            if time.monotonic() > deadline:
                return Evidence(False, f"{self.target} still runs {_SECONDS:g} s after SIGTERM")
            view = cluster.view((topic,))
            if moved_while_running is None and describe_unmoved(view, topic, self.led) is None:
                running = set(context.running(self.nodes))
                if running >= {old for _, old in self.led}:
                    moved_while_running = leaders_of(view, topic, self.led)
        codes = {node: cluster.exit_code(node) for node in self.nodes}
        facts: dict[str, object] = {"exit_codes": codes, "led": dict(self.led)}
        unclean = {node: code for node, code in codes.items() if code not in CLEAN_EXITS}
        if unclean:
            return Evidence(False, f"not a clean exit: {unclean}", facts)
        if not self.led:
            return Evidence(True, f"clean exit; {describe_leaderless(self.nodes)}", facts)
        if moved_while_running is None:
            return Evidence(False, "leadership was not seen to move before the exit", facts)
        facts["leaders_before_exit"] = moved_while_running
        return Evidence(
            True, f"leadership moved before the exit: {describe_moves(self.led, moved_while_running)}", facts
        )


class Stop(ProcessFault):
    """SIGTERM to every node of the target; healed by starting it again.

    What Kafka does: with controlled.shutdown.enable (the default) the broker asks the controller to move
    the partitions that it leads, and only then closes its logs and exits; so writes stall only briefly, and
    nothing has to be recovered at the next start.

    Proof: every partition that it led has another leader while its process still runs, and the process ends
    with a clean exit code.
    """

    kind: Literal["stop"] = "stop"
    external = "containers"
    applications = "all"
    injection = Stopped
