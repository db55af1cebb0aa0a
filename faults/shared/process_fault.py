"""What the faults on a node's process share: an injection aimed at nodes, and what partitions they led."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from faults.shared.fault_spec import Evidence, FaultSpec, Injection, InjectionContext
from faults.shared.waiting import await_rejoined, partition_numbers
from faults.targets import Target
from faults.targets.fault_cluster import FaultCluster
from faults.targets.target_context import BaseTarget, ClusterShape
from harness.model.node_layout import CLIENT
from harness.model.polling import poll_within

CLEAN_EXITS = (0, 143)
"""143: ended by SIGTERM after the JVM's shutdown hooks have run."""
_EXIT_SECONDS = 60.0
_ENDING = "Terminating process due to signal"
"""The first line that Kafka logs after SIGTERM (2.0 and later)."""


class OnNodes(Injection):
    """An injection aimed at the nodes `numbers`. `led` holds (partition, leader) of each partition that one
    of them led when it was aimed; `active_controller` is set if one of them is a controller."""

    back: ClassVar[str] = "is back, and is in every ISR"
    """What `healed` says of the nodes when they run again and are in every ISR."""

    numbers: tuple[int, ...]
    led: tuple[tuple[int, int], ...] = ()
    active_controller: int | None = None

    @property
    def nodes(self) -> tuple[int, ...]:
        return self.numbers

    def healed(self, context: InjectionContext) -> Evidence:
        await_rejoined(context, self.nodes)
        return Evidence(True, f"{self.target} {self.back}")


class ProcessFault(FaultSpec):
    """Base of faults on the processes of one target."""

    target: Target = Field(description="the nodes to affect")

    def aim(self, context: InjectionContext) -> Injection:
        return self.injection(**resolve_nodes(context, self.target), **self.parameters())

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        if self.target.may_include_client():
            raise ValueError(
                f"target `{self.target}`: the client's process cannot be affected; use a `partition`"
            )
        if self.max_brokers_down(shape) < shape.brokers:
            return ()
        return ("no broker is left while this fault is open: every send fails or waits",)

    def max_brokers_down(self, shape: ClusterShape) -> int:
        return self.target.max_brokers(shape)

    def taken_down(self, shape: ClusterShape) -> BaseTarget:  # noqa: ARG002
        return self.target


def resolve_nodes(context: InjectionContext, target: BaseTarget) -> dict[str, Any]:
    """The fields of an `OnNodes` for a target as it is now.

    Raises:
        FaultError: the target matches nothing.
    """
    snapshot = context.snapshot()
    numbers = tuple(number for number in target.resolve(snapshot) if number != CLIENT)
    touches_controllers = bool(set(numbers) & set(snapshot.cluster.controller_ids))
    return {
        "numbers": numbers,
        "led": tuple(
            (number, state.leader)
            for number in partition_numbers(snapshot.view)
            if (state := snapshot.view.partition(context.topic, number)) and state.leader in numbers
        ),
        "active_controller": snapshot.cluster.controller() if touches_controllers else None,
    }


def start_stopped(cluster: FaultCluster, nodes: tuple[int, ...]) -> None:
    """Start the nodes that do not run. A node that is still shutting down is waited for first, since it must
    not count as running."""
    for node in nodes:
        _await_end(cluster, node)
        cluster.start_node(node)


def _await_end(cluster: FaultCluster, node: int) -> None:
    if cluster.is_running(node) and _ENDING in cluster.log_since(node, cluster.started_ns(node)):
        poll_within(_EXIT_SECONDS, lambda: "still ending" if cluster.is_running(node) else None)
