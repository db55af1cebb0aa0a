"""The processes below another one, read from /proc (Linux)."""

from __future__ import annotations

import contextlib
from pathlib import Path


def descendants(pid: int) -> list[int]:
    """All processes below one, by the parents that they name: Linux's lists of children may miss some."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it may end meanwhile
            # The name of the command, before the bracket, may contain spaces.
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    found = list(children.get(pid, ()))
    for one in found:  # It grows meanwhile.
        found += children.get(one, ())
    return found
