"""Memory and processor time of a process and its descendants, read from /proc (Linux)."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support.process_tree import descendants

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
    pages, ticks = 0, 0
    for one in (root, *descendants(root)):
        with suppress(OSError, IndexError):  # it may end meanwhile
            entry = Path(f"/proc/{one}")
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            own_pages = int((entry / "statm").read_text().split()[1])
            pages, ticks = pages + own_pages, ticks + sum(map(int, fields[_UTIME : _CSTIME + 1]))
    return Use(pages * _PAGE / 2**20, ticks / _TICKS)
