"""Processes of this machine: which one owns a container or a record (host, pid, start time) and whether it
has ended; and what is in a process group.

A group is known by the process id of its leader, whose start time is recorded too, so that another process
with the same id is never taken for it. Groups are for Linux only: they are read from /proc.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_FIRST_NAMESPACE = "pid:[4026531836]"
"""The process ids of the machine itself (PROC_PID_INIT_INO of Linux)."""


def machine_name() -> str:
    """The name of the machine whose process ids this process sees: the host's, and in a container with
    process ids of its own also which these are. Jobs of a CI system in containers with the host's network all
    have the host's name, and none sees the processes of another."""
    namespace = _FIRST_NAMESPACE
    with suppress(OSError):  # no Linux
        namespace = os.readlink("/proc/self/ns/pid")
    own = "" if namespace == _FIRST_NAMESPACE else namespace.removeprefix("pid:[").removesuffix("]")
    return socket.gethostname() + (own and f"-{own}")


def owner_label(pid: int) -> str:
    """This machine's process `pid` as an owner label."""
    return f"{machine_name()}/{pid}/{_start_time(pid) or 'unknown'}"


def owner_has_ended(label: str | None) -> bool:
    """Whether the process of an owner label has ended.

    False for a process of another machine, whose state is unknown, and for things without an owner, which
    somebody uses by hand.
    """
    host, _, rest = (label or "").partition("/")
    pid, _, started = rest.partition("/")
    if host != machine_name() or not pid.isdigit():
        return False
    return _start_time(int(pid)) != started


def _start_time(pid: int) -> str | None:
    """When a process started, in the system's own format; None: there is no such process."""
    try:
        # Field 22 of /proc/<pid>/stat (proc(5)); the second may contain spaces, so count after its bracket.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        if Path("/proc/self/stat").exists():
            return None
    listed = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return " ".join(listed.stdout.split()) or None


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One process: its id, its state as one letter (proc(5)), and the CPU time it has used, in ns."""

    pid: int
    state: str
    cpu_ns: int


def members(group: int) -> tuple[GroupMember, ...]:
    """The processes of a process group, without those that have ended."""
    processes = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, IndexError):  # it may end meanwhile
            # The second field may contain spaces and brackets, so count after the last one.
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] not in "ZX":
                ticks = int(fields[11]) + int(fields[12])
                processes.append(GroupMember(int(path.parent.name), fields[0], ticks * 10**9 // _TICKS))
    return tuple(processes)


def send_signal(group: int, number: signal.Signals) -> bool:
    """Send a signal to every process of a group; returns whether there was one."""
    if group <= 1:
        raise ValueError(f"{group} is no process group of ours")
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


def end_carrying(variable: str, wanted: Callable[[str], bool]) -> int:
    """Kill this user's processes whose environment has this variable with a wanted value; returns their
    number. A pidfd keeps each process while its environment is read, so that a new process with the same id
    is never killed."""
    ended = 0
    prefix = f"{variable}="
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError), ExitStack() as at_end:
            held = os.pidfd_open(int(path.parent.name))
            at_end.callback(os.close, held)
            settings = path.read_bytes().decode(errors="replace").split("\0")
            if any(
                wanted(setting.removeprefix(prefix)) for setting in settings if setting.startswith(prefix)
            ):
                signal.pidfd_send_signal(held, signal.SIGKILL)
                ended += 1
    return ended
