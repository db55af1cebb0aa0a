"""CPU limit: a broker may use only a share of the processors."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field

from faults.limits.limited_nodes import Limited, cpu_sample, describe_difference
from faults.shared.fault_spec import Evidence, InjectionContext, node_name
from faults.shared.process_fault import ProcessFault, resolve_nodes
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError

_PERIOD_US = 100_000
_TRIES = 3
_TOLERANCE = 1.2
_STARVED = 0.05
"""With this share a broker kept up with some hundred records per second; with 0.02 it did not."""


class CpuLimited(Limited):
    """These nodes may use `cpus` processors. `before` is (node, CPU period, CPU quota) in microseconds."""

    kind: Literal["cpu_limit"] = "cpu_limit"
    cpus: float

    limits = (
        ("CpuPeriod", "cpu_period", _PERIOD_US),
        # The engine takes a quota of 0 as "no change"; -1 means no limit.
        ("CpuQuota", "cpu_quota", -1),
    )
    back = "has its CPUs back, and is in every ISR"

    def apply(self, context: InjectionContext) -> None:
        for node in self.nodes:
            context.cluster.limit(node, cpu_period=_PERIOD_US, cpu_quota=quota(self.cpus))

    def verify(self, context: InjectionContext) -> Evidence:
        measured: dict[int, dict[str, float]] = {}
        facts: dict[str, object] = {"asked_cpus": self.cpus, "measured": measured}
        for node in self.nodes:
            if not context.cluster.is_running(node):
                return Evidence(False, f"{node_name(node)} does not run", facts)
            wrong = describe_difference(
                context, node, {"CpuPeriod": _PERIOD_US, "CpuQuota": quota(self.cpus)}
            )
            if wrong is not None:
                return Evidence(False, wrong, facts)
            for _ in range(_TRIES):
                measured[node] = found = _under_load(context, node, self.cpus)
                held = found["throttled"] > 0 and found["cpus"] <= self.cpus * _TOLERANCE
                if held:
                    break
            else:
                used = f"{found['cpus']:g} CPUs under load, throttled in {found['throttled']:g} periods"
                return Evidence(
                    False, f"{node_name(node)} used {used}: a limit of {self.cpus:g} has no effect", facts
                )
        most = max(one["cpus"] for one in measured.values())
        least = min(one["throttled"] / one["periods"] for one in measured.values())
        what = f"{most:g} of {self.cpus:g} CPUs used under load, throttled in {least:.0%} of the periods"
        return Evidence(True, what, facts)


class CpuLimit(ProcessFault):
    """Limit the CPU time of the target's nodes (the kernel's CFS bandwidth control); healed by taking the
    limit away.

    With `cpus: 0.1` all threads of a node together may run for 10 ms of every 100 ms; then they are stopped
    until the next period begins. `cpus: 1.5` on two processors slows only phases that keep both busy.

    What Kafka does: every request takes longer, in steps of up to 100 ms; garbage collections and elections
    take many times as long. Followers on a starved broker fall behind and leave the ISR after
    replica.lag.time.max.ms. A broker that cannot send a heartbeat within broker.session.timeout.ms is fenced
    (KIP-631), and a starved active controller is replaced by another (KIP-595). The limit remains when the
    broker restarts; a start needs seconds of CPU time, so it may take minutes.

    Proof: the engine reports the limit; and while busy loops of the lowest priority run in the node's
    container for a second, the container uses no more than the limit (within 20 %), and the kernel's count of
    throttled periods rises.
    """

    kind: Literal["cpu_limit"] = "cpu_limit"
    cpus: float = Field(ge=0.01, allow_inf_nan=False, description="number of CPUs that a node may use")
    needs = ("cpu limit",)
    applications = "containers"
    injection = CpuLimited

    def aim(self, context: InjectionContext) -> CpuLimited:
        fields = resolve_nodes(context, self.target)
        before = CpuLimited.present(context, fields["numbers"])
        injection = CpuLimited(before=before, **fields, **self.parameters())
        for node in context.running(injection.nodes):
            available = cpu_sample(context.cluster.stats(node)).cpus
            if 0 < available <= self.cpus:
                raise FaultError(
                    "this is no limit on this machine",
                    where=node_name(node),
                    expected=f"fewer than the machine's {available} CPUs",
                    found=f"cpus: {self.cpus:g}",
                    next_step="set a lower limit",
                )
        return injection

    def max_brokers_down(self, shape: ClusterShape) -> int:
        return self.target.max_brokers(shape) if self.cpus < _STARVED else 0


def quota(cpus: float) -> int:
    """The CPU time of this number of processors in one period, in microseconds."""
    return round(cpus * _PERIOD_US)


def load_script(cpus: float) -> str:
    """Keeps more processors busy than the limit allows, for a second, with the lowest priority: the broker
    keeps nearly all of its share."""
    loops = " ".join(map(str, range(math.ceil(cpus) + 1)))
    return f"for i in {loops}; do nice -n 19 timeout 1 sh -c 'while :; do :; done' & done; wait"


def _under_load(context: InjectionContext, node: int, cpus: float) -> dict[str, float]:
    """CPUs used, throttled periods and periods while busy loops run."""
    first = cpu_sample(context.cluster.stats(node))
    context.cluster.in_node(node, load_script(cpus))
    last = cpu_sample(context.cluster.stats(node))
    return {
        "cpus": round((last.used - first.used) / (last.at - first.at), 3),
        "throttled": last.throttled - first.throttled,
        "periods": max(1, last.periods - first.periods),
    }
