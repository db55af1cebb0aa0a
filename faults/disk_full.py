"""Disk full: a broker's log dir has no space left."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal

from pydantic import Field

from faults.base import Evidence, Injection, InjectionContext, node_name, node_names
from faults.leadership import await_rejoined
from faults.logs.disk import DiskFault, each, sidecar
from faults.process_fault import OnNodes, resolve_nodes
from faults.target_context import ClusterShape
from harness.model.errors import FaultError
from harness.model.node_layout import DATA_DIR
from harness.model.polling import seen_within

_SECONDS = 45.0
_EXIT_SECONDS = 10.0
_TRIES = 5
_NO_SPACE = "No space left on device"
_NO_PAGE = "unsafe memory access operation"
"""What the JVM says (InternalError) when a page of a mapped file, here an index, cannot be had."""
_BY_SIGNAL = (137, 143)
"""Exit codes of a process that was ended from outside: SIGKILL, SIGTERM."""


class DiskFilled(OnNodes):
    """The log dirs of these nodes were filled up. `since` is when that was decided, by the engine's clock
    (nanoseconds since the epoch, by node)."""

    kind: Literal["disk_full"] = "disk_full"
    leave_kib: int
    since: tuple[tuple[int, int], ...]

    def apply(self, context: InjectionContext) -> None:
        each(self.nodes, lambda node: sidecar(context, node, fill_script(context.tag, self.leave_kib)))

    def verify(self, context: InjectionContext) -> Evidence:
        since = dict(self.since)
        told: dict[int, str] = {}

        def missing() -> str | None:
            for node in self.nodes:
                if node not in told and (line := no_space_line(context.cluster.log_since(node, since[node]))):
                    told[node] = line
            left = set(self.nodes) - set(told)
            if not left:
                return None
            # A broker frees space too: what was deleted goes after file.delete.delay.ms.
            each(tuple(left & _running(context, self.nodes)), lambda node: sidecar(context, node, top_up))
            return _describe_unaffected(context, left)

        top_up = f"[ -e {ballast(context.tag)} ] || exit 0\n{fill_script(context.tag, self.leave_kib)}"
        left = seen_within(_SECONDS, missing, every=0.3)
        if left is None:
            seen_within(_EXIT_SECONDS, lambda: "runs" if _running(context, self.nodes) else None)
        free = dict(zip(self.nodes, each(self.nodes, lambda node: free_kib(context, node)), strict=True))
        facts: dict[str, object] = {
            "free_kib": free,
            "log": told,
            "exit_codes": {node: context.cluster.exit_code(node) for node in self.nodes},
        }
        if left is not None:
            return Evidence(False, left, facts)
        ended = set(self.nodes) - _running(context, self.nodes)
        what = f"; {node_names(ended)} has ended itself" if ended else ""
        return Evidence(
            True, f"{node_names(told)} was refused a write ({', '.join(_causes(told))}){what}", facts
        )

    def undo(self, context: InjectionContext) -> None:
        each(self.nodes, lambda node: sidecar(context, node, f"rm -f {ballast(context.tag)}"))
        for node in self.nodes:
            self._revive(context, node)

    def healed(self, context: InjectionContext) -> Evidence:
        # A broker whose log dir has failed may have been seen a moment before it ended itself.
        for node in self.nodes:
            self._revive(context, node)
        await_rejoined(context, self.nodes)
        free = dict(zip(self.nodes, each(self.nodes, lambda node: free_kib(context, node)), strict=True))
        return Evidence(True, f"{self.target} has space again and is back", {"free_kib": free})

    def _revive(self, context: InjectionContext, node: int) -> None:
        """Start a broker that its full disk has ended. One that met it and still runs has given its log dir
        up, whatever becomes of the space: that one is ended first."""
        cluster = context.cluster
        met = no_space_line(cluster.log_since(node, cluster.started_ns(node))) is not None
        if cluster.is_running(node):
            if met:
                cluster.kill(node)
                cluster.start_node(node)
        elif met or cluster.exit_code(node) not in _BY_SIGNAL:
            cluster.start_node(node)


class DiskFull(DiskFault):
    """Fill the log dirs of the target's brokers up; healed by freeing the space and starting the brokers.

    Needs the cluster option `disk_mib`: each broker's log dir is then a volume of that size, which is filled
    with one big file. `leave_kib` leaves some space, so that the workload itself meets the end of it; with
    none left, a broker meets it within seconds also where nobody writes, when it checkpoints its high
    watermarks (replica.high.watermark.checkpoint.interval.ms, 5 s).

    What Kafka does: a write that the disk refuses takes the log dir offline (KIP-112). A broker whose only
    log dir is offline ends at once with exit code 1, without a controlled shutdown; the controller elects
    other leaders as after a crash. It cannot start again while the disk is full. Its log is recovered at
    the next start. Where the workload itself fills a disk, the other replicas of its partitions are
    as big: then all of them are full at about the same time.

    Proof: "No space left on device" in the log of each broker, printed after the injection, or the
    InternalError of a JVM that was refused a page of a mapped index. Whether it has ended itself is told
    beside it.
    """

    kind: Literal["disk_full"] = "disk_full"
    leave_kib: int = Field(default=0, ge=0, description="space that is left free, in KiB")
    needs: ClassVar[tuple[str, ...]] = ("tmpfs volume",)
    injection: ClassVar[type[Injection]] = DiskFilled

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        if shape.disk_mib is None:
            raise ValueError("set `cluster.disk_mib`: only a log dir of a limited size can be filled up")
        if self.leave_kib >= shape.disk_mib * 1024:
            raise ValueError(
                f"leave_kib: {self.leave_kib} is all of the log dir: cluster.disk_mib is {shape.disk_mib}"
            )
        return super().warnings(shape)

    def aim(self, context: InjectionContext) -> DiskFilled:
        fields = resolve_nodes(context, self.target)
        numbers: tuple[int, ...] = fields["numbers"]
        said = each(numbers, lambda node: sidecar(context, node, LOOK_SCRIPT).split())
        for node, words in zip(numbers, said, strict=True):
            if words[0] != "limited":
                raise FaultError(
                    "only a log dir of a limited size can be filled up",
                    where=node_name(node),
                    expected="a volume of its own, of a given size",
                    found="a folder on the machine's disk",
                    next_step="set `cluster.disk_mib`, or choose another target",
                )
        since = tuple((node, int(words[1])) for node, words in zip(numbers, said, strict=True))
        return DiskFilled(leave_kib=self.leave_kib, since=since, **fields)


# A mount of a tmpfs's root. A folder in the engine's own tmpfs is not: filling that would fill the machine's.
LOOK_SCRIPT = f"""
awk '$5 == "{DATA_DIR}" && $4 == "/" && / - tmpfs / {{ own = 1 }} END {{ print own ? "limited" : "not" }}' \\
  /proc/self/mountinfo
date +%s%N
"""


def fill_script(tag: str, leave_kib: int) -> str:
    """Makes the ballast as big as the free space allows, in a few tries: the broker may take some meanwhile.
    Filling again what is full changes nothing."""
    return f"""
ballast={ballast(tag)}
for try in {" ".join(map(str, range(_TRIES)))}; do
  free=$(df -k --output=avail {DATA_DIR} | tail -n 1)
  more=$((free - {leave_kib}))
  [ $more -gt 0 ] || exit 0
  held=$(stat -c %s "$ballast" 2>/dev/null || echo 0)
  fallocate -l $((held / 1024 + more))KiB "$ballast" && exit 0 || true
done
exit 1
"""


def ballast(tag: str) -> str:
    """The file that takes the space, quoted for a shell; Kafka looks at folders only in its log dir."""
    return shlex.quote(f"{DATA_DIR}/.{tag}.ballast")


def no_space_line(log: str) -> str | None:
    """The first line of a broker's log that says that the disk refused a write, or a page."""
    told = (line.strip()[:200] for line in log.splitlines() if _NO_SPACE in line or _NO_PAGE in line)
    return next(told, None)


def _causes(told: Mapping[int, str]) -> list[str]:
    return sorted({_NO_SPACE if _NO_SPACE in line else "no page of a mapped file" for line in told.values()})


def _describe_unaffected(context: InjectionContext, nodes: set[int]) -> str:
    """What is to be said of brokers whose logs do not tell of a full disk."""
    ended = nodes - _running(context, nodes)
    if ended:
        codes = {node: context.cluster.exit_code(node) for node in sorted(ended)}
        return f"{node_names(ended)} has ended and not said that its disk is full: exit codes {codes}"
    return f"{node_names(nodes)} has not met a full disk: nothing was written to it"


def free_kib(context: InjectionContext, node: int) -> int:
    """Free space in a node's log dir."""
    return int(sidecar(context, node, f"df -k --output=avail {DATA_DIR} | tail -n 1"))


def _running(context: InjectionContext, nodes: Iterable[int]) -> set[int]:
    return {node for node in nodes if context.cluster.is_running(node)}
