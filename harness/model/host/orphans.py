"""Ends the processes of programs whose harness is gone: of applications under test, and of the user's own
producers. Each carries a mark in its environment."""

from __future__ import annotations

import os

from harness.model.host import processes
from harness.model.host.processes import owner_has_ended, owner_label

MARK = "KAFKA_CHAOS_APPLICATION"
"""Environment variable of these processes: name of the cluster, owner label, and the part of the run."""
_PART = "#"


def mark_of(cluster: str, part: str = "") -> str:
    """The value of the variable for a program that this process starts beside `cluster`. Programs that end
    apart from each other have different parts."""
    mark = f"{cluster} {owner_label(os.getpid())}"
    return f"{mark}{_PART}{part}" if part else mark


def end_marked(mark: str) -> int:
    """Kill the processes with exactly this mark, also those that have left their group; returns how many."""
    return processes.end_carrying(MARK, lambda value: value == mark)


def end_orphans(cluster: str | None = None, *, everything: bool = False) -> int:
    """Kill the processes of programs whose harness has ended, or, with `everything`, of all harnesses of
    this machine; with `cluster` only those beside it. Returns how many. Containers of applications carry the
    labels of the cluster's own, and are removed with these."""

    def wanted(value: str) -> bool:
        name, _, owner = value.partition(_PART)[0].partition(" ")
        return cluster in (None, name) and (everything or owner_has_ended(owner))

    return processes.end_carrying(MARK, wanted)
