"""What the limits on a node's container share: what the engine says of them, and what its samples show.

Samples are those of `docker stats` under cgroup v1 and v2, where the same things have other names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from faults.base import InjectionContext, node_name
from harness.model.errors import FaultError

MIB = 2**20


@dataclass(frozen=True, slots=True)
class CpuSample:
    """CPU use of a container up to a moment: seconds used, and enforcement periods that passed, and of those
    in how many it was throttled. `cpus` is how many processors the machine has (0: not told)."""

    at: float
    used: float
    periods: int
    throttled: int
    cpus: int


def cpu_sample(stats: Mapping[str, Any]) -> CpuSample:
    """CPU use from a sample of `docker stats`."""
    cpu = stats["cpu_stats"]
    throttling = cpu.get("throttling_data", {})
    # Nine digits of a fraction are more than Python reads.
    whole, _, fraction = str(stats["read"]).rstrip("Z").partition(".")
    return CpuSample(
        at=datetime.fromisoformat(f"{whole}+00:00").timestamp() + float(f"0.{fraction or 0}"),
        used=cpu["cpu_usage"]["total_usage"] / 1e9,
        periods=int(throttling.get("periods", 0)),
        throttled=int(throttling.get("throttled_periods", 0)),
        cpus=int(cpu.get("online_cpus", 0)),
    )


@dataclass(frozen=True, slots=True)
class MemorySample:
    """Memory of a container in bytes: its limit, what it uses, and how much of that are cached files, which
    the kernel can take away."""

    limit: int
    usage: int
    files: int

    @property
    def held(self) -> int:
        """What nothing can take from the process: heap, stacks, kernel memory, files in a tmpfs."""
        return self.usage - self.files


def memory_sample(stats: Mapping[str, Any]) -> MemorySample:
    """Memory use from a sample of `docker stats`."""
    memory = stats["memory_stats"]
    details = memory.get("stats", {})

    def detail(name: str) -> int:
        return int(details.get(f"total_{name}", details.get(name, 0)))

    return MemorySample(
        limit=int(memory["limit"]),
        usage=int(memory["usage"]),
        files=detail("active_file") + detail("inactive_file"),
    )


def host_config(context: InjectionContext, node: int) -> Mapping[str, Any]:
    """The limits of a node's container as the engine has them (`docker inspect`, HostConfig)."""
    config: Mapping[str, Any] = context.cluster.inspect(node)["HostConfig"]
    return config


def describe_difference(context: InjectionContext, node: int, asked: Mapping[str, int]) -> str | None:
    """The first limit that the engine does not have as asked, in words."""
    found = host_config(context, node)
    for name, value in asked.items():
        if found.get(name) != value:
            return f"{node_name(node)}: {name} is {found.get(name)}, not {value}"
    return None


def check_restored(context: InjectionContext, node: int, restored: Mapping[str, int]) -> None:
    """Raises FaultError: a limit is not what it was before."""
    wrong = describe_difference(context, node, restored)
    if wrong is not None:
        raise FaultError(
            "a limit is still there",
            where=node_name(node),
            found=wrong,
            next_step="`kafka-chaos heal` tries again; `docker update` sets it by hand",
        )
