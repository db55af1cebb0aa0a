"""Throttling a container's disk by its control group, and measuring it. Pure: scripts and their output.

Docker's API accepts such limits only when a container is created: its `update` ignores them silently
(observed with 20.10). So they are written where Docker would have written them: cgroup v1, `blkio.throttle.*`
(Documentation/admin-guide/cgroup-v1/blkio-controller.rst); cgroup v2, `io.max` (cgroup-v2.rst).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from faults.limits.limited_nodes import MIB
from harness.model.node_layout import DATA_DIR

SECONDS = 1.5
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
        found = _COPIED.search(text)
        if found is None or int(found[1]) != self.block * self.count:
            return None
        return float(found[2])


def bytes_probe(way: str, per_second: float) -> Probe:
    """Measures bytes: the number that should take `SECONDS`."""
    block = _BLOCK if per_second < MIB else _LARGE_BLOCK
    return Probe(way, block, max(4, round(min(_MOST, per_second * SECONDS) / block)))


def operations_probe(way: str, per_second: float) -> Probe:
    """Measures operations of the smallest size: the number that should take `SECONDS`."""
    return Probe(way, _SMALL_BLOCK, max(4, round(min(_MOST / _SMALL_BLOCK, per_second * SECONDS))))
