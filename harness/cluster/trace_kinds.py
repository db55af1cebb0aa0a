"""What faults can leave in a node, kind by kind, and how each kind is read.

A kind is one entry of a table: `SCRIPTED` kinds are read by one shell script per scope, so that a node costs
one command in its container and one in its network sidecar, whatever the number of kinds; `ASKED` kinds are
read by requests. What is `compared` may be there, but only as it was when the cluster was started or
connected to: its baseline (`harness.cluster.traces`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Literal

from faults.clock_skew import CLOCK_DIR
from faults.logs.disk_fault import NOTES_DIR
from harness.cluster.live import LiveCluster
from harness.model.node_layout import DATA_DIR

TAG_PREFIX = "kafka-chaos-"
"""The tag of every injection begins with this (`harness.run.experiment_run`), and so do the comments of its
firewall rules and, after a dot, the names of its files."""

Scope = Literal["network", "node"]

_UNLIMITED = re.compile(r"\b\d{19,}\b")
_FOLDERS = (DATA_DIR, NOTES_DIR, "/tmp")
"""Where faults write files: ballast and probes, notes, and what fills the page cache."""
_REJECT = 0x200
"""The flag of a route that refuses, in /proc/net/route (RTF_REJECT)."""


def _limit(printed: str) -> str:
    """A limit of 2^60 bytes or more means "unlimited": the kernel's default differs from the largest value
    that the engine takes."""
    return _UNLIMITED.sub("max", printed)


def _route(printed: str) -> str:
    """A route in words, from the columns of /proc/net/route, whose addresses are hexadecimal."""
    device, flags, *rest = printed.split()
    to, mask, via = (IPv4Address(int(word, 16).to_bytes(4, "little")) for word in rest)
    if device == "*":
        how = "unreachable" if int(flags, 16) & _REJECT else "blackhole"
    else:
        how = f"dev {device}" + (f" via {via}" if int(via) else "")
    return f"{IPv4Network((to, str(mask)), strict=False)} {how}"


_AS_STARTED = "as when the cluster was started or connected to"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """`name` names one thing of this kind, `expected` says what should be there, `next_step` what to do."""

    name: str
    expected: str = _AS_STARTED
    next_step: str

    @property
    def compared(self) -> bool:
        """Whether its things are compared with those of the start."""
        return self.expected == _AS_STARTED

    @property
    def called(self) -> str:
        """One thing of this kind, in a sentence."""
        return f"{'an' if self.name[0] in 'aeiou' else 'a'} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedKind(Kind):
    """A kind that a script reads: in bash of the toolbox image in the node's network namespace, or in sh of
    the node's own container. It prints `name: thing` for each thing; `read` puts a thing into words."""

    scope: Scope
    script: str
    read: Callable[[str], str] = str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedKind(Kind):
    """A kind that a request answers, once for each broker or once for the cluster."""

    each: Literal["broker", "cluster"]
    ask: Callable[[LiveCluster, int], tuple[str, ...]]


_RESTART = "restart the node's container: they die with it"

SCRIPTED: tuple[ScriptedKind, ...] = (
    ScriptedKind(
        name="rule",
        scope="network",
        script=f"iptables-save 2>/dev/null | grep -F -- {TAG_PREFIX} | sed 's/^/rule: /'",
        expected="no firewall rule of ours",
        next_step=_RESTART,
    ),
    ScriptedKind(
        name="qdisc",
        scope="network",
        script="""
tc qdisc show | grep -vE 'qdisc (noqueue|pfifo_fast|fq_codel|mq|pfifo) ' | sed 's/^/qdisc: /'""",
        expected="only the kernel's default queueing disciplines",
        next_step=_RESTART,
    ),
    ScriptedKind(
        name="routing rule",
        scope="network",
        script="ip -4 rule show | grep -vE 'lookup (local|main|default) *$' | sed 's/^/routing rule: /'",
        expected="only the kernel's rules for the tables local, main and default",
        next_step="`ip rule del` in its network namespace, or restart the node's container",
    ),
    ScriptedKind(
        name="stopped process",
        scope="node",
        # The state stands after the name, which may contain blanks and brackets.
        script="""
for stat in /proc/[0-9]*/stat; do
  { read -r line <"$stat"; } 2>/dev/null || continue
  case ${line##*) } in [Tt]*) echo "stopped process: ${line%)*})" ;; esac
done""",
        expected="every process runs",
        next_step="`docker exec NODE kill -CONT PID` lets it run again",
    ),
    ScriptedKind(
        name="file",
        scope="node",
        script=f"""
for file in {CLOCK_DIR}/offset.new {" ".join(f"{folder}/.{TAG_PREFIX}*" for folder in _FOLDERS)}; do
  [ ! -e "$file" ] || echo "file: $file"
done""",
        expected="no file of a fault, but those that a fault declares to leave",
        next_step="delete it in the node's container",
    ),
    ScriptedKind(
        name="host name",
        scope="node",
        script=f"""
[ ! -r /etc/hosts ] || grep -F '# {TAG_PREFIX}' /etc/hosts | sed 's/^/host name: /'""",
        expected="no line of a fault in the hosts file",
        next_step="delete the line in /etc/hosts of the node's container, or restart the container",
    ),
    ScriptedKind(
        name="clock offset",
        scope="node",
        script=f"""
if [ -r {CLOCK_DIR}/offset ] && read -r offset <{CLOCK_DIR}/offset; then
  case $offset in *[1-9]*) echo "clock offset: $offset s" ;; esac
fi""",
        expected="the true time",
        next_step=f"write +0 into {CLOCK_DIR}/offset in the node's container",
    ),
    ScriptedKind(
        name="route",
        scope="node",
        # Every image has these files, and not every image has `ip`. A blackhole has no device.
        script="""
if [ -r /proc/net/route ]; then
  { read -r header
    while read -r device to via flags count use metric mask rest; do
      echo "route: $device $flags $to $mask $via"
    done; } </proc/net/route
fi""",
        next_step="`ip route` in its network namespace, or restart the node's container",
        read=_route,
    ),
    ScriptedKind(
        name="interface",
        scope="node",
        # The kernel itself adds those that are left out to every namespace, when their module is loaded.
        script="""
for folder in /sys/class/net/*; do
  case ${folder##*/} in sit0 | *tunl0 | *tnl0 | *gre*0 | erspan0 | *_vti0) continue ;; esac
  { read -r flags <"$folder/flags" && read -r mtu <"$folder/mtu"; } 2>/dev/null || continue
  [ $((flags & 1)) = 1 ] && up=up || up=down
  echo "interface: ${folder##*/} $up mtu $mtu"
done""",
        next_step="`ip link` in its network namespace, or restart the node's container",
    ),
    ScriptedKind(
        name="limit",
        scope="node",
        script="""
limits() {
  for file; do
    [ -r "/sys/fs/cgroup/$file" ] || continue
    while read -r value; do echo "limit: ${file##*/} $value"; done <"/sys/fs/cgroup/$file"
  done
}
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  limits cpu.max cpuset.cpus memory.max pids.max io.max
else
  limits cpu/cpu.cfs_quota_us cpuset/cpuset.cpus memory/memory.limit_in_bytes pids/pids.max
  for way in read write; do
    limits blkio/blkio.throttle.${way}_bps_device blkio/blkio.throttle.${way}_iops_device
  done
fi""",
        next_step="`docker update` for CPU, memory and processes; a restart of the container ends the others",
        read=_limit,
    ),
)

ASKED: tuple[AskedKind, ...] = (
    AskedKind(
        name="dynamic setting",
        each="broker",
        ask=lambda cluster, number: cluster.dynamic_settings(number),
        next_step="`kafka-configs.sh --entity-type brokers --alter` deletes it or sets it back",
    ),
    AskedKind(
        name="client quota",
        each="broker",
        ask=lambda cluster, number: cluster.quota_words(number),
        next_step="`kafka-configs.sh --entity-type clients --alter` deletes it or sets it back",
    ),
    AskedKind(
        name="access rule",
        each="broker",
        ask=lambda cluster, number: cluster.rule_words(number),
        next_step="`kafka-acls.sh --remove` removes it, `--add` adds it",
    ),
    AskedKind(
        name="reassignment under way",
        each="cluster",
        ask=lambda cluster, _: cluster.reassignments(),
        expected="no partition that moves",
        next_step="`kafka-reassign-partitions.sh --cancel` ends it",
    ),
    AskedKind(
        name="rule of a proxy",
        each="cluster",
        ask=lambda cluster, _: () if cluster.proxies is None else cluster.proxies.all_rules(),
        expected="proxies without rules",
        next_step="`kafka-chaos heal` removes it; so does a restart of the node",
    ),
    AskedKind(
        name="running container",
        each="cluster",
        ask=lambda cluster, _: cluster.containers_beside(),
        expected="nodes, lasting network sidecars and keepers of volumes only",
        next_step="`docker rm -f` removes it",
    ),
)
