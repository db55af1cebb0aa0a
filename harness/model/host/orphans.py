"""Ends the processes of applications whose harness is gone: each carries a mark in its environment."""

from __future__ import annotations

import os

from harness.model.host import processes
from harness.model.host.processes import owner_has_ended, owner_label

MARK = "KAFKA_CHAOS_APPLICATION"
"""Environment variable of the processes of an application: name of the cluster, and owner label."""


def mark_of(cluster: str) -> str:
    """The value of the variable for an application that this process starts beside `cluster`."""
    return f"{cluster} {owner_label(os.getpid())}"


def end_marked(mark: str) -> int:
    """Kill the processes with exactly this mark, also those that have left their group; returns how many."""
    return processes.end_carrying(MARK, lambda value: value == mark)


def end_orphans(cluster: str | None = None, *, everything: bool = False) -> int:
    """Kill the processes of applications whose harness has ended, or, with `everything`, of all harnesses of
    this machine; with `cluster` only those beside it. Returns how many. Containers of applications carry the
    labels of the cluster's own, and are removed with these."""

    def wanted(value: str) -> bool:
        name, _, owner = value.partition(" ")
        return cluster in (None, name) and (everything or owner_has_ended(owner))

    return processes.end_carrying(MARK, wanted)
