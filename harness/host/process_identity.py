"""Identifies the process that owns a container or a record (host, pid, start time), and whether it has
ended."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path


def owner_label(pid: int) -> str:
    """This machine's process `pid` as an owner label."""
    return f"{socket.gethostname()}/{pid}/{_start_time(pid) or 'unknown'}"


def owner_has_ended(label: str | None) -> bool:
    """Whether the process of an owner label has ended.

    False for a process of another machine, whose state is unknown, and for things without an owner, which
    somebody uses by hand.
    """
    host, _, rest = (label or "").partition("/")
    pid, _, started = rest.partition("/")
    if host != socket.gethostname() or not pid.isdigit():
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
