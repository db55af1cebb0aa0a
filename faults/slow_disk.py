"""Slow disk: reads and writes of a broker are throttled by its container's control group.

Docker's API accepts such limits only when a container is created: its `update` ignores them silently
(observed with 20.10). So they are written where Docker would have written them: cgroup v1, `blkio.throttle.*`
(Documentation/admin-guide/cgroup-v1/blkio-controller.rst); cgroup v2, `io.max` (cgroup-v2.rst).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pydantic import Field, model_validator

from faults.logs.disk_fault import sidecar
from faults.shared.fault_spec import Evidence, InjectionContext
from faults.shared.limited_nodes import MIB
from faults.shared.process_fault import OnNodes, ProcessFault, resolve_nodes
from faults.shared.waiting import in_parallel, unless_ended
from faults.shared.words import node_name, node_names
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from harness.model.node_layout import DATA_DIR

_TRIES = 3
_TOLERANCE = 1.25
_SECONDS = 1.5
"""The approximate duration of a measurement under the limit."""
_MOST = 64 * MIB
_SMALL_BLOCK, _BLOCK, _LARGE_BLOCK = 4096, 16384, 262144
_V1_FILES = {
    "rbps": "read_bps_device",
    "wbps": "write_bps_device",
    "riops": "read_iops_device",
    "wiops": "write_iops_device",
}
_COPIED = re.compile(r"^(\d+) bytes .*, ([\d.e+-]+) s(?:econds)?,", re.MULTILINE)

Limits = Mapping[str, int | None]
"""Bytes and operations per second by the names of `io.max`: rbps, wbps, riops, wiops; None: no limit."""

DEVICE_SCRIPT = f"""
dev=$(awk '$5 == "{DATA_DIR}" {{ print $3 }}' /proc/self/mountinfo)
[ ! -e "/sys/dev/block/$dev/partition" ] || dev=$(cat "/sys/dev/block/$dev/../dev")
if [ -e "/sys/dev/block/$dev" ]; then echo "disk $dev"; else stat -f -c %T {DATA_DIR}; fi
"""
"""Prints the disk of a log dir ("disk 8:0"), or the type of its file system if that is not on a disk. Limits
apply to whole disks, not to partitions."""

Direction = Literal["read", "write", "both"]


def limits_script(device: str, limits: Limits) -> str:
    """Sets the limits of a device (those that are not named: no limit), and prints the kernel's values
    afterwards.

    For a sidecar beside a container: its process is PID 1 there, the engine's control groups are in /cgroup.
    """
    wanted = {name: limits.get(name) for name in _V1_FILES}
    line = " ".join(f"{name}={'max' if value is None else value}" for name, value in wanted.items())
    old = "\n".join(
        f'echo "{device} {wanted[name] or 0}" >"$group/blkio.throttle.{file}"\n'
        f'echo "{name} $(sed -n "s/^{device} //p" "$group/blkio.throttle.{file}")"'
        for name, file in _V1_FILES.items()
    )
    return f"""
set -eu
if [ -e /cgroup/cgroup.controllers ]; then
  group=/cgroup$(sed -n 's/^0:://p' /proc/1/cgroup)
  echo "{device} {line}" >"$group/io.max"
  sed -n 's/^{device} //p' "$group/io.max" | tr ' =' '\\n '
else
  group=/cgroup/blkio$(sed -nE 's/^[0-9]+:([^:]*,)?blkio(,[^:]*)?://p' /proc/1/cgroup)
{old}
fi
"""


def parse_limits(text: str) -> dict[str, int]:
    """The limits that `limits_script` printed; a name that is missing is not limited."""
    rows = (line.split() for line in text.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[0] in _V1_FILES and row[1].isdigit()}


@dataclass(frozen=True, slots=True)
class Probe:
    """One measurement of a disk, past the page cache: `count` blocks are written, or written and read."""

    way: str
    block: int
    count: int

    def script(self, tag: str) -> str:
        """For the toolbox's bash and for a node's own sh; `seconds` parses the output."""
        path = shlex.quote(f"{DATA_DIR}/.{tag}.probe")
        size = f"bs={self.block} count={self.count}"
        write = f"dd if=/dev/zero of={path} {size} oflag=direct"
        if self.way == "read":
            write += f" 2>/dev/null && dd if={path} of=/dev/null {size} iflag=direct"
        return f"{write} 2>&1; rm -f {path}"

    def seconds(self, text: str) -> float | None:
        """The duration in seconds; None: it failed, or is incomplete."""
        match = _COPIED.search(text)
        if match is None or int(match[1]) != self.block * self.count:
            return None
        return float(match[2])


def bytes_probe(way: str, per_second: float) -> Probe:
    """Measures bytes: the number that should take `_SECONDS`."""
    block = _BLOCK if per_second < MIB else _LARGE_BLOCK
    return Probe(way, block, max(4, round(min(_MOST, per_second * _SECONDS) / block)))


def operations_probe(way: str, per_second: float) -> Probe:
    """Measures operations of the smallest size: the number that should take `_SECONDS`."""
    return Probe(way, _SMALL_BLOCK, max(4, round(min(_MOST / _SMALL_BLOCK, per_second * _SECONDS))))


class IoLimit(NamedTuple):
    """One limit to prove: at most `most` of `unit` per second, by `probe` (`each`: units per block)."""

    most: float
    unit: str
    each: float
    probe: Probe


class DiskSlowed(OnNodes):
    """The disk of these nodes is throttled. `devices` is the disk of each node's log dir, "major:minor"."""

    back = "has the whole disk again, and is in every ISR"
    mib_per_second: float | None
    iops: int | None
    direction: Direction
    devices: tuple[tuple[int, str], ...]

    def apply(self, context: InjectionContext) -> None:
        in_parallel(context.running(self.nodes), lambda node: self._throttle(context, node, self._limits()))

    def verify(self, context: InjectionContext) -> Evidence:
        stopped = set(self.nodes) - set(context.running(self.nodes))
        if stopped:
            return Evidence(False, f"{node_names(stopped)} does not run")
        measured: list[str] = []
        facts: dict[str, object] = {"measured": measured}
        for node in self.nodes:
            for limit in self._io_limits():
                for _ in range(_TRIES):
                    words, wrong = _measure(context, node, limit)
                    if wrong is None:
                        break
                measured.append(words)
                if wrong is not None:
                    return Evidence(False, f"{words}: {wrong}", facts)
        return Evidence(True, "; ".join(measured), facts)

    def undo(self, context: InjectionContext) -> None:
        # A node's control group is removed with its process, and with it the limits.
        in_parallel(
            context.running(self.nodes),
            lambda node: unless_ended(context, node, lambda: self._throttle(context, node, {})),
        )

    def restarted(self, context: InjectionContext, node: int) -> bool:
        self._throttle(context, node, self._limits())
        return True

    def _ways(self) -> tuple[str, ...]:
        return ("write", "read") if self.direction == "both" else (self.direction,)

    def _limits(self) -> Limits:
        rate = None if self.mib_per_second is None else round(self.mib_per_second * MIB)
        return {
            way[0] + name: value
            for way in self._ways()
            for name, value in (("bps", rate), ("iops", self.iops))
        }

    def _io_limits(self) -> Iterator[IoLimit]:
        for way in self._ways():
            if self.mib_per_second is not None:
                probe = bytes_probe(way, self.mib_per_second * MIB)
                yield IoLimit(self.mib_per_second, "MiB", probe.block / MIB, probe)
            if self.iops is not None:
                yield IoLimit(self.iops, "operations", 1, operations_probe(way, self.iops))

    def _throttle(self, context: InjectionContext, node: int, limits: Limits) -> None:
        device = dict(self.devices)[node]
        output = context.cluster.in_cgroups(node, limits_script(device, limits))
        wanted = {name: value for name, value in limits.items() if value is not None}
        if output.code != 0 or parse_limits(output.text) != wanted:
            raise FaultError(
                "a disk could not be throttled, or released",
                where=f"{node_name(node)}, device {device}",
                expected=", ".join(f"{name} {value}" for name, value in wanted.items()) or "no limits",
                found=output.text.strip()[-300:],
                next_step="`kafka-chaos doctor` shows what this kernel can do",
            )


class SlowDisk(ProcessFault):
    """Throttle the disk of the target's nodes (block I/O control group); healed by taking the limits away.

    The limit is in bytes or operations per second, or both, for reads, writes or both.

    What Kafka does: fsync gets slower (the metadata log of a controller, KIP-595; checkpoint files, every 5 s
    and 60 s; a segment that is rolled), and so do reads of data that is no longer in the page cache
    (consumers and followers that lag). Ordinary appends do not get slower: Kafka leaves flushing to the
    operating system (Kafka's documentation, "Application vs. OS flush management"), so an append only reaches
    the page cache, and under cgroup v1 the kernel's later write-back is not charged to the container. Under
    v2 it is charged, and appends wait too once too many pages are dirty. Set log.flush.interval.messages=1
    for a broker that waits for its disk on every append. A controller whose fsync takes longer than
    controller.quorum.fetch.timeout.ms loses its leadership.

    Proof: throughput in the log dir, bypassing the page cache, is measured within the broker's limits and in
    a container without them: the first exceeds the limit by at most 25 %, the second is faster.
    """

    kind: Literal["slow_disk"] = "slow_disk"
    mib_per_second: float | None = Field(
        default=None, ge=0.05, allow_inf_nan=False, description="maximum throughput, in MiB per second"
    )
    iops: int | None = Field(default=None, ge=2, description="maximum number of operations per second")
    direction: Direction = Field(default="both", description="what is throttled: read, write or both")
    needs = ("disk throttle",)
    injection = DiskSlowed

    @model_validator(mode="after")
    def _slow_somehow(self) -> SlowDisk:
        if self.mib_per_second is None and self.iops is None:
            raise ValueError("a slow disk has `mib_per_second` or `iops`, or both")
        return self

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        if shape.disk_mib is not None:
            raise ValueError("with `cluster.disk_mib` log dirs lie in memory: there is no disk to slow down")
        return super().warnings(shape)

    def aim(self, context: InjectionContext) -> DiskSlowed:
        fields = resolve_nodes(context, self.target)
        outputs = in_parallel(fields["numbers"], lambda node: sidecar(context, node, DEVICE_SCRIPT))
        devices = []
        for node, text in outputs.items():
            what, _, device = text.strip().partition(" ")
            if what != "disk":
                raise FaultError(
                    "the log dir is not on a disk that can be throttled",
                    where=node_name(node),
                    expected="a file system on a block device",
                    found=what,
                    next_step="keep the engine's volumes on a disk (ext4, xfs)",
                )
            devices.append((node, device))
        return DiskSlowed(devices=tuple(devices), **self.parameters(), **fields)

    def max_brokers_down(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return 0


def _measure(context: InjectionContext, node: int, asked: IoLimit) -> tuple[str, str | None]:
    """The throughput in the node and in a container without its limits, in words, and what is wrong."""
    script = asked.probe.script(context.tag)
    slow = asked.probe.seconds(context.cluster.in_node(node, script).text)
    free = asked.probe.seconds(context.cluster.in_files(node, script).text)
    if not slow or not free:
        return (f"{node_name(node)}: its disk could not be measured", "writing with O_DIRECT failed")
    amount = asked.each * asked.probe.count
    words = (
        f"{node_name(node)} {asked.probe.way}s {_format_rate(amount / slow)}"
        f" of {asked.most:g} {asked.unit} per second, {_format_rate(amount / free)} without the limit"
    )
    if amount / slow > asked.most * _TOLERANCE:
        return words, "that is more than was asked for"
    if amount / free <= asked.most * _TOLERANCE:
        return words, "the disk is no faster without the limit"
    return words, None


def _format_rate(amount: float) -> str:
    return f"{amount:.0f}" if amount >= 100 else f"{amount:.3g}"
