"""CPU and memory limits: a node may use only a share of the processors, or of the memory."""

from __future__ import annotations

import math
import re
import shlex
from typing import Literal

from pydantic import Field

from faults.shared.fault_spec import Evidence, InjectionContext
from faults.shared.limited_nodes import MIB, Limited, cpu_sample, describe_difference, memory_sample
from faults.shared.process_fault import ProcessFault, resolve_nodes
from faults.shared.words import node_name, node_names
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError

_PERIOD_US = 100_000
_TRIES = 3
_TOLERANCE = 1.2
_STARVED = 0.05
"""With this share a broker kept up with some hundred records per second; with 0.02 it did not."""
_UNLIMITED = 2**62
"""The engine cannot take a memory limit away, only raise it: 4 EiB."""
_HEADROOM = 16 * MIB
_OVER = 64 * MIB


class CpuLimited(Limited):
    """These nodes may use `cpus` processors. `before` is (node, CPU period, CPU quota) in microseconds."""

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
                measured[node] = usage = _under_load(context, node, self.cpus)
                held = usage["throttled"] > 0 and usage["cpus"] <= self.cpus * _TOLERANCE
                if held:
                    break
            else:
                used = f"{usage['cpus']:g} CPUs under load, throttled in {usage['throttled']:g} periods"
                return Evidence(
                    False, f"{node_name(node)} used {used}: a limit of {self.cpus:g} has no effect", facts
                )
        most = max(load["cpus"] for load in measured.values())
        least = min(load["throttled"] / load["periods"] for load in measured.values())
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
    (KIP-631), and a starved active controller is replaced by another (KIP-595). A leader that is fenced while
    its followers are behind and still in the ISR has acknowledged with acks=1 what is lost then (`kafka-chaos
    run starved-leader`). The limit remains when the broker restarts; a start needs seconds of CPU time, so it
    may take minutes.

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


class MemoryLimited(Limited):
    """The containers of these nodes may use `mib` MiB. `before` is (node, memory, memory and swap) in
    bytes."""

    mib: int

    limits = (("Memory", "mem_limit", _UNLIMITED), ("MemorySwap", "memswap_limit", _UNLIMITED))
    back = "may use more memory again, and is in every ISR"

    def apply(self, context: InjectionContext) -> None:
        for node in self.nodes:
            # No swap beside it: what does not fit must go.
            context.cluster.limit(node, mem_limit=self.mib * MIB, memswap_limit=self.mib * MIB)

    def verify(self, context: InjectionContext) -> Evidence:
        measured: dict[int, dict[str, float]] = {}
        facts: dict[str, object] = {"asked_mib": self.mib, "measured": measured}
        killed = []
        for node in self.nodes:
            wrong = describe_difference(context, node, {"Memory": self.mib * MIB})
            if wrong is not None:
                return Evidence(False, wrong, facts)
            what = None if _out_of_memory(context, node) else self._squeeze(context, node, measured)
            if _out_of_memory(context, node):
                killed.append(node)
            elif what is not None:
                return Evidence(False, what, facts)
        parts = [f"the kernel has killed {node_names(killed)} because of the limit"] if killed else []
        for node, usage in measured.items():
            asked = f"{usage['asked_for_mib']:g} MiB were requested, {usage['usage_mib']:g} used"
            parts.append(f"{node_name(node)}: {asked} of {self.mib}")
        return Evidence(True, "; ".join(parts), facts | {"killed": killed})

    def undo(self, context: InjectionContext) -> None:
        super().undo(context)
        for node in self.nodes:
            if not context.cluster.is_running(node) and _out_of_memory(context, node):
                context.cluster.start_node(node)

    def _squeeze(
        self, context: InjectionContext, node: int, measured: dict[int, dict[str, float]]
    ) -> str | None:
        """Fill more page cache than fits; returns what is wrong with the result (None: nothing)."""
        if not context.cluster.is_running(node):
            return f"{node_name(node)} does not run"
        before = memory_sample(context.cluster.stats(node))
        more = self.mib * MIB - before.usage + _OVER
        said = context.cluster.in_node(node, fill_script(context.tag, more))
        usage = used_bytes(said.text)
        if usage is None:
            # Also if the kernel has killed this very command, or the broker.
            return f"{node_name(node)}: its memory could not be filled: {said.text.strip()[-200:]!r}"
        measured[node] = {
            "limit_mib": round(before.limit / MIB, 1),
            "held_mib": round(before.unreclaimable / MIB, 1),
            "asked_for_mib": round((before.usage + more) / MIB, 1),
            "usage_mib": round(usage / MIB, 1),
        }
        if before.limit != self.mib * MIB or usage > before.limit:
            return f"{node_name(node)} uses {usage / MIB:.1f} MiB under a limit of {before.limit / MIB:.1f}"
        return None


class MemoryLimit(ProcessFault):
    """Limit the memory of the target's nodes (memory cgroup, no swap); healed by raising the limit again.

    The limit includes the memory of the process and the page cache of the files that it has read and written.
    The cache is reclaimed first, and Kafka depends on it, since it has no cache of its own (Kafka's
    documentation, "Persistence"). A JVM does not return its heap, so a limit below the memory that the broker
    holds already would be a kill and is refused. A new broker holds about 150 MiB; its heap alone may grow to
    512 MiB under load.

    What Kafka does: consumers and followers that lag are served from disk, and writes wait until older pages
    are written to disk. When the heap has grown so much that nothing is left to reclaim, the kernel kills the
    broker: a crash with all its consequences; healing starts it again. The limit remains when the broker
    restarts. The log dirs of `cluster.disk_mib` are in memory: they count, and cannot be reclaimed.

    Proof: the engine reports the limit; and when a file is written in the node's container whose pages exceed
    the limit by 64 MiB, the use of memory stays within the limit. It is also proof if the kernel has killed
    the broker because it was out of memory.
    """

    kind: Literal["memory_limit"] = "memory_limit"
    mib: int = Field(ge=64, description="maximum memory of a node, in MiB")
    needs = ("memory limit",)
    applications = "containers"
    injection = MemoryLimited
    leaves = {"a limit of 4 EiB, which is none, but under cgroup v2 leaves the node without swap": ()}

    def aim(self, context: InjectionContext) -> MemoryLimited:
        fields = resolve_nodes(context, self.target)
        for node in context.running(fields["numbers"]):
            held = memory_sample(context.cluster.stats(node)).unreclaimable
            if self.mib * MIB < held + _HEADROOM:
                least = (held + _HEADROOM) // MIB
                raise FaultError(
                    "this memory limit would be a kill",
                    where=node_name(node),
                    expected=f"over {least} MiB: it holds {held // MIB} without page cache",
                    found=f"mib: {self.mib}",
                    next_step="set a higher limit, or use a `kill`",
                )
        before = MemoryLimited.present(context, fields["numbers"])
        return MemoryLimited(before=before, **fields, **self.parameters())

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        if shape.disk_mib is not None and shape.disk_mib >= self.mib:
            raise ValueError(
                f"mib: {self.mib}, and each log dir takes up to {shape.disk_mib} of memory: cluster.disk_mib"
            )
        return super().warnings(shape)


def fill_script(tag: str, size: int) -> str:
    """Writes a file of `size` bytes, prints what the container uses then (cgroup v1, v2), and removes it."""
    path = shlex.quote(f"/tmp/.{tag}.fill")
    usage = "cat /sys/fs/cgroup/memory/memory.usage_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.current"
    fill = f"dd if=/dev/zero of={path} bs=1048576 count={max(1, -(-size // MIB))} 2>/dev/null"
    return f'{fill} && echo "used $({usage})"; rm -f {path}'


def used_bytes(text: str) -> int | None:
    """What `fill_script` has printed; None: the file could not be written, or no control group is seen."""
    match = re.search(r"^used (\d+)$", text, re.MULTILINE)
    return None if match is None else int(match[1])


def _out_of_memory(context: InjectionContext, node: int) -> bool:
    """Whether the kernel has ended the node's process because of the limit."""
    state = context.cluster.inspect(node)["State"]
    return bool(state["OOMKilled"]) and not state["Running"]
