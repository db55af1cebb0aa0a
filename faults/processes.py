"""Kill, stop and pause: a node's process is ended at once, shut down, or frozen."""

from __future__ import annotations

import time
from typing import Literal

from faults.shared.fault_spec import Evidence, InjectionContext
from faults.shared.process_fault import CLEAN_EXITS, OnNodes, ProcessFault, start_stopped
from faults.shared.words import node_names, shortened
from harness.model.broker_views import TopologyView
from harness.model.node_layout import is_application
from harness.model.polling import poll_within

_ELECTION_MARGIN_SECONDS = 30.0
_EXIT_SECONDS = 60.0
_FREEZE_SECONDS = 10.0
_HANDED_OVER = (
    "The controller has asked us to exit controlled shutdown",
    "Controlled shutdown request returned successfully",
)
"""What a broker logs, before it closes its logs and exits, when the controller has moved every partition that
it led: with KRaft (BrokerLifecycleManager), and with ZooKeeper (KafkaServer)."""


class Halted(OnNodes):
    """An injection that ends the processes of its nodes; `undo` starts them again."""

    stops_process = True
    back = "started and back"

    def still_led(self, context: InjectionContext, view: TopologyView) -> str | None:
        """The first partition that its old leader still leads, in words; None: all moved or are offline."""
        for partition, old in self.led:
            state = view.partition(context.topic, partition)
            if state is None or state.leader == old:
                return f"partition {partition} is still led by broker {old}"
        return None

    def leaders(self, context: InjectionContext, view: TopologyView) -> dict[int, int | None]:
        """The present leaders of the partitions that the nodes led (None: no leader)."""
        states = {partition: view.partition(context.topic, partition) for partition, _ in self.led}
        return {
            partition: None if state is None or state.leader < 0 else state.leader
            for partition, state in states.items()
        }

    def moves(self, now: dict[int, int | None]) -> str:
        """Changes of leadership in words, at most eight of them."""
        return ", ".join(shortened([f"partition {part} from {old} to {now[part]}" for part, old in self.led]))

    def undo(self, context: InjectionContext) -> None:
        start_stopped(context.cluster, self.nodes)


def describe_leaderless(nodes: tuple[int, ...]) -> str:
    """What a proof says of nodes that led no partition; applications never do."""
    brokers = not all(map(is_application, nodes))
    return "it led no partition of the topic" if brokers else "it is no broker"


class Killed(Halted):
    """SIGKILL was sent to these nodes."""

    def apply(self, context: InjectionContext) -> None:
        for node in context.running(self.nodes):
            context.cluster.kill(node)

    def verify(self, context: InjectionContext) -> Evidence:
        cluster, topic = context.cluster, context.topic

        def missing() -> str | None:
            running = context.running(self.nodes)
            if running:
                return f"the process of {node_names(running)} still runs"
            view = cluster.view((topic,))
            # If no broker answers, there is none left to elect: everything is offline.
            led = self.still_led(context, view) if view.answered() else None
            if led is not None:
                return led
            if self.active_controller in self.nodes and cluster.controller() == self.active_controller:
                return f"controller {self.active_controller} is still reported as the active one"
            return None

        left = poll_within(context.session_seconds + _ELECTION_MARGIN_SECONDS, missing)
        if left is not None:
            return Evidence(False, left)
        now = self.leaders(context, cluster.view((topic,)))
        facts: dict[str, object] = {
            "exit_codes": {node: cluster.exit_code(node) for node in self.nodes},
            "led": dict(self.led),
            "leaders_now": now,
        }
        what = f"leadership moved: {self.moves(now)}" if self.led else describe_leaderless(self.nodes)
        if self.active_controller in self.nodes:
            facts["controller_now"] = cluster.controller()
            now_active = facts["controller_now"] or "none, or one that no broker knows yet"
            what += f"; active controller from {self.active_controller} to {now_active}"
        return Evidence(True, f"process ended; {what}", facts)


class Kill(ProcessFault):
    """SIGKILL to every node of the target; healed by starting it again.

    What Kafka does: the controller fences a broker that has sent no heartbeat for
    broker.session.timeout.ms, elects a new leader from the ISR for each partition that it led, and removes
    it from the ISR of all others (KIP-500, KIP-631). Data that was not flushed is not lost: the page cache
    survives the process. If the active controller is killed, the other voters elect a new one (KIP-595);
    without a majority of voters there are no elections and no ISR changes, while leaders continue to serve.

    Proof: the process has ended, and every partition that the broker led has another leader or none; a
    killed active controller is no longer the active one.
    """

    kind: Literal["kill"] = "kill"
    external = "containers"
    applications = "all"
    injection = Killed


class Stopped(Halted):
    """SIGTERM was sent to these nodes."""

    def apply(self, context: InjectionContext) -> None:
        for node in context.running(self.nodes):
            context.cluster.terminate(node)

    def verify(self, context: InjectionContext) -> Evidence:
        cluster, topic = context.cluster, context.topic
        deadline = time.monotonic() + _EXIT_SECONDS
        moved_while_running: dict[int, int | None] | None = None
        # No pause between two views: the time between the last move and the exit is short.
        while context.running(self.nodes):
            if time.monotonic() > deadline:
                return Evidence(False, f"{self.target} still runs {_EXIT_SECONDS:g} s after SIGTERM")
            view = cluster.view((topic,))
            if moved_while_running is None and self.still_led(context, view) is None:
                running = set(context.running(self.nodes))
                if running >= {old for _, old in self.led}:
                    moved_while_running = self.leaders(context, view)
        codes = {node: cluster.exit_code(node) for node in self.nodes}
        facts: dict[str, object] = {"exit_codes": codes, "led": dict(self.led)}
        unclean = {node: code for node, code in codes.items() if code not in CLEAN_EXITS}
        if unclean:
            return Evidence(False, f"not a clean exit: {unclean}", facts)
        if not self.led:
            return Evidence(True, f"clean exit; {describe_leaderless(self.nodes)}", facts)
        if moved_while_running is None:
            # With thousands of partitions one view takes longer than a broker from the last move to its exit.
            view = cluster.view((topic,))
            if self.still_led(context, view) is None and self.handed_over(context):
                moved_while_running = self.leaders(context, view)
        if moved_while_running is None:
            return Evidence(False, "leadership was not seen to move before the exit", facts)
        facts["leaders_before_exit"] = moved_while_running
        return Evidence(True, f"leadership moved before the exit: {self.moves(moved_while_running)}", facts)

    def handed_over(self, context: InjectionContext) -> bool:
        """Every broker that led a partition logged that the controller had moved all that it led."""
        cluster = context.cluster
        led = {broker for _, broker in self.led}
        logs = (cluster.log_since(broker, cluster.started_ns(broker)) for broker in led)
        return all(any(line in log for line in _HANDED_OVER) for log in logs)


class Stop(ProcessFault):
    """SIGTERM to every node of the target; healed by starting it again.

    What Kafka does: with controlled.shutdown.enable (the default) the broker asks the controller to move
    the partitions that it leads, and only then closes its logs and exits; so writes stall only briefly, and
    nothing has to be recovered at the next start.

    Proof: every partition that it led has another leader while its process still runs (as other brokers say,
    or as its own log says), and the process ends with a clean exit code.
    """

    kind: Literal["stop"] = "stop"
    external = "containers"
    applications = "all"
    injection = Stopped


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
            answering = [seen.broker for seen in view.answered() if seen.broker in self.nodes]
            return f"broker {answering} still answers" if answering else None

        left = poll_within(_FREEZE_SECONDS, missing)
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

    With acks=1 a paused leader loses more than a killed one, if another one is elected meanwhile. The thawed
    broker still believes that it leads: it writes and acknowledges all produce requests that wait in its
    sockets, in its old epoch, and truncates them as soon as it hears of the new leader. Of clients that went
    on sending to it, pauses of 20 s lost 104 to 1,605 of 2,800 acknowledged records (aiokafka, kafka-python,
    sarama), and kills 0 to 10; acks=all lost none in either.

    Proof: the engine reports that the container is paused, its processes use no CPU time (so no heartbeat
    and no fetch can leave it), and the broker answers no request.
    """

    kind: Literal["pause"] = "pause"
    needs = ("cgroup freezer",)
    external = "containers"
    applications = "all"
    injection = Paused
