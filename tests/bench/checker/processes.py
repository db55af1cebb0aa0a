"""Memory and processor time of a process and its descendants, read from /proc (Linux)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_UTIME, _CSTIME = 11, 14
"""Fields of /proc/PID/stat counted from behind the command's name: user, system, and those of children that
have been waited for."""


@dataclass(frozen=True)
class Use:
    """Resident memory in MiB (pages that two processes share count twice) and processor seconds so far."""

    mib: float
    cpu_seconds: float


def use_of(root: int) -> Use:
    """Memory and processor time of a process tree; both 0 when the process is gone."""
    children: dict[int, list[int]] = {}
    taken: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            pages = int((entry / "statm").read_text().split()[1])
            taken[int(entry.name)] = (pages, sum(map(int, fields[_UTIME : _CSTIME + 1])))
            children.setdefault(int(fields[1]), []).append(int(entry.name))
        except (OSError, ValueError, IndexError):
            continue  # it ended while we looked
    pages, ticks, waiting = 0, 0, [root]
    while waiting:
        one = waiting.pop()
        more = taken.get(one, (0, 0))
        pages, ticks = pages + more[0], ticks + more[1]
        waiting += children.get(one, [])
    return Use(pages * _PAGE / 2**20, ticks / _TICKS)
