"""What the limits on a node's container share: setting and restoring them, and samples of their effect.

Samples are those of `docker stats` under cgroup v1 and v2, which use different names for the same values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from faults.shared.fault_spec import Evidence, InjectionContext
from faults.shared.process_fault import OnNodes
from faults.shared.words import node_name
from harness.model.errors import FaultError

MIB = 2**20


@dataclass(frozen=True, slots=True)
class CpuSample:
    """CPU use of a container until the time `at`: seconds used, the number of enforcement periods, and the
    number of those in which it was throttled. `cpus` is the number of processors of the machine (0: not
    reported)."""

    at: float
    used: float
    periods: int
    throttled: int
    cpus: int


def cpu_sample(stats: Mapping[str, Any]) -> CpuSample:
    """CPU use from a sample of `docker stats`."""
    cpu = stats["cpu_stats"]
    throttling = cpu.get("throttling_data", {})
    # Python does not parse a fraction of nine digits.
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
    """Memory of a container in bytes: its limit, its use, and the part of that which is cached files, which
    the kernel can reclaim."""

    limit: int
    usage: int
    files: int

    @property
    def unreclaimable(self) -> int:
        """What cannot be reclaimed: heap, stacks, kernel memory, files in a tmpfs."""
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
    """The first limit whose value is not as asked, in words; None: all are."""
    config = host_config(context, node)
    for name, value in asked.items():
        if config.get(name) != value:
            return f"{node_name(node)}: {name} is {config.get(name)}, not {value}"
    return None


class Limited(OnNodes):
    """Limits of these nodes' containers were changed. `before` is (node, two values) as the engine had them;
    0 stands for its default."""

    limits: ClassVar[tuple[tuple[str, str, int], tuple[str, str, int]]]
    """The names of the two limits in `docker inspect` (HostConfig), and as arguments of `docker update`, and
    the engine's defaults."""

    before: tuple[tuple[int, int, int], ...]

    def undo(self, context: InjectionContext) -> None:
        for node, *values in self.before:
            former = zip(self.limits, values, strict=True)
            context.cluster.limit(node, **{name: value or default for (_, name, default), value in former})

    def healed(self, context: InjectionContext) -> Evidence:
        for node, *values in self.before:
            former = zip(self.limits, values, strict=True)
            asked = {name: value or default for (name, _, default), value in former}
            wrong = describe_difference(context, node, asked)
            if wrong is not None:
                next_step = "`kafka-chaos heal` tries again; `docker update` sets it by hand"
                raise FaultError(
                    "a limit is still set", where=node_name(node), found=wrong, next_step=next_step
                )
        return super().healed(context)

    @classmethod
    def present(cls, context: InjectionContext, nodes: Iterable[int]) -> tuple[tuple[int, int, int], ...]:
        """The present values of the two limits, by node."""
        (first, *_), (second, *_) = cls.limits
        configs = {node: host_config(context, node) for node in nodes}
        return tuple((node, config[first], config[second]) for node, config in configs.items())
