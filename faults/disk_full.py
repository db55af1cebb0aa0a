"""Disk full: a broker's log dir has no space left."""

from __future__ import annotations

import shlex
from typing import Literal

from pydantic import Field

from faults.logs.disk_fault import DiskFault, sidecar
from faults.shared.fault_spec import Evidence, InjectionContext
from faults.shared.process_fault import OnNodes, resolve_nodes
from faults.shared.waiting import await_rejoined, in_parallel
from faults.shared.words import node_name, node_names
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from harness.model.node_layout import DATA_DIR
from harness.model.polling import poll_within

_SECONDS = 45.0
_EXIT_SECONDS = 10.0
_TRIES = 5
_NO_SPACE = "No space left on device"
_NO_PAGE = "unsafe memory access operation"
"""The message of the JVM's InternalError when it gets no page for a mapped file (an index)."""
_BY_SIGNAL = (137, 143)
"""Exit codes of a process that was ended from outside: SIGKILL, SIGTERM."""


class DiskFilled(OnNodes):
    """The log dirs of these nodes were filled up. `since` is when that was decided, by the engine's clock
    (nanoseconds since the epoch, by node)."""

    leave_kib: int
    since: tuple[tuple[int, int], ...]

    def apply(self, context: InjectionContext) -> None:
        in_parallel(self.nodes, lambda node: sidecar(context, node, fill_script(context.tag, self.leave_kib)))

    def verify(self, context: InjectionContext) -> Evidence:
        since = dict(self.since)
        lines: dict[int, str] = {}

        def missing() -> str | None:
            for node in self.nodes:
                if node not in lines and (
                    line := no_space_line(context.cluster.log_since(node, since[node]))
                ):
                    lines[node] = line
            left = set(self.nodes) - set(lines)
            if not left:
                return None
            # The broker may free space too: deleted files are removed after file.delete.delay.ms.
            in_parallel(context.running(left), lambda node: sidecar(context, node, top_up))
            return _describe_unaffected(context, left)

        top_up = f"[ -e {ballast(context.tag)} ] || exit 0\n{fill_script(context.tag, self.leave_kib)}"
        left = poll_within(_SECONDS, missing, every=0.3)
        if left is None:
            poll_within(_EXIT_SECONDS, lambda: "runs" if context.running(self.nodes) else None)
        free = in_parallel(self.nodes, lambda node: free_kib(context, node))
        facts: dict[str, object] = {
            "free_kib": free,
            "log": lines,
            "exit_codes": {node: context.cluster.exit_code(node) for node in self.nodes},
        }
        if left is not None:
            return Evidence(False, left, facts)
        ended = set(self.nodes) - set(context.running(self.nodes))
        what = f"; {node_names(ended)} has ended itself" if ended else ""
        pages = "no page of a mapped file"
        causes = sorted({_NO_SPACE if _NO_SPACE in line else pages for line in lines.values()})
        return Evidence(True, f"{node_names(lines)} was refused a write ({', '.join(causes)}){what}", facts)

    def undo(self, context: InjectionContext) -> None:
        in_parallel(self.nodes, lambda node: sidecar(context, node, f"rm -f {ballast(context.tag)}"))
        for node in self.nodes:
            self._revive(context, node)

    def healed(self, context: InjectionContext) -> Evidence:
        # A broker whose log dir has failed may have ended itself only after `undo` saw it running.
        for node in self.nodes:
            self._revive(context, node)
        await_rejoined(context, self.nodes)
        free = in_parallel(self.nodes, lambda node: free_kib(context, node))
        return Evidence(True, f"{self.target} has space again and is back", {"free_kib": free})

    def _revive(self, context: InjectionContext, node: int) -> None:
        """Start a broker that has ended because of its full disk. One that was refused a write and still runs
        has taken its log dir offline, even if there is space again: that one is ended first."""
        cluster = context.cluster
        met = no_space_line(cluster.log_since(node, cluster.started_ns(node))) is not None
        if cluster.is_running(node):
            if met:
                cluster.kill(node)
                cluster.start_node(node)
        elif met or cluster.exit_code(node) not in _BY_SIGNAL:
            cluster.start_node(node)


class DiskFull(DiskFault):
    """Fill up the log dirs of the target's brokers; healed by freeing the space and starting the brokers.

    Needs the cluster option `disk_mib`: each broker's log dir is then a volume of that size, which is filled
    with one big file. `leave_kib` leaves some space, so that the workload itself uses up the rest. With no
    space left, a broker is refused a write within seconds even without a workload, when it checkpoints its
    high watermarks (replica.high.watermark.checkpoint.interval.ms, 5 s).

    What Kafka does: a refused write takes the log dir offline (KIP-112). A broker whose only log dir is
    offline ends at once with exit code 1, without a controlled shutdown; the controller elects other leaders
    as after a crash. It cannot start again while the disk is full. Its log is recovered at the next start. If
    the workload itself fills a disk, the other replicas of its partitions are as large, so all of their disks
    are full at about the same time.

    Proof: "No space left on device" in the log of each broker, printed after the injection, or the
    InternalError of a JVM that was refused a page of a mapped index. The evidence also says which brokers
    have ended.
    """

    kind: Literal["disk_full"] = "disk_full"
    leave_kib: int = Field(default=0, ge=0, description="space to leave free, in KiB")
    needs = ("tmpfs volume",)
    injection = DiskFilled

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
        outputs = in_parallel(numbers, lambda node: sidecar(context, node, LOOK_SCRIPT).split())
        for node, words in outputs.items():
            if words[0] != "limited":
                raise FaultError(
                    "only a log dir of a limited size can be filled up",
                    where=node_name(node),
                    expected="a volume of its own, of a given size",
                    found="a folder on the machine's disk",
                    next_step="set `cluster.disk_mib`, or choose another target",
                )
        since = tuple((node, int(words[1])) for node, words in outputs.items())
        return DiskFilled(since=since, **self.parameters(), **fields)


# A mount of a tmpfs's root. A folder in the engine's own tmpfs is not: filling that would fill the machine's.
LOOK_SCRIPT = f"""
awk '$5 == "{DATA_DIR}" && $4 == "/" && / - tmpfs / {{ own = 1 }} END {{ print own ? "limited" : "not" }}' \\
  /proc/self/mountinfo
date +%s%N
"""


def fill_script(tag: str, leave_kib: int) -> str:
    """Makes the ballast file as large as the free space allows, in a few tries, since the broker may use some
    meanwhile. Filling a full disk again changes nothing."""
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
    """The file that takes the space, quoted for a shell; Kafka ignores files in its log dir."""
    return shlex.quote(f"{DATA_DIR}/.{tag}.ballast")


def no_space_line(log: str) -> str | None:
    """The first line of a broker's log that says that the disk refused a write, or a page."""
    lines = (line.strip()[:200] for line in log.splitlines() if _NO_SPACE in line or _NO_PAGE in line)
    return next(lines, None)


def _describe_unaffected(context: InjectionContext, nodes: set[int]) -> str:
    """The state of brokers whose logs do not mention a full disk, in words."""
    ended = nodes - set(context.running(nodes))
    if ended:
        codes = {node: context.cluster.exit_code(node) for node in sorted(ended)}
        return f"{node_names(ended)} has ended without an error about a full disk: exit codes {codes}"
    return f"{node_names(nodes)} was not refused a write: nothing was written to its disk"


def free_kib(context: InjectionContext, node: int) -> int:
    """Free space in a node's log dir, in KiB."""
    return int(sidecar(context, node, f"df -k --output=avail {DATA_DIR} | tail -n 1"))
