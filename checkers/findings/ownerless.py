"""How long partitions of consumer groups had no owner."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checkers.facts.columns import partitions
from checkers.facts.group_journals import read_owners, read_tables
from checkers.facts.ownership import ownerships, unowned
from checkers.findings.delivery_findings import units_of
from checkers.findings.progress_findings import group_files
from checkers.journals.load import RunJournals
from harness.model.result import OwnerlessTime

_SHORTEST_SECONDS = 1.0
"""Shorter times are not told: an eager rebalance takes a moment."""
_MOST = 50


def ownerless_times(journals: RunJournals, topics: Mapping[str, int]) -> tuple[OwnerlessTime, ...]:
    """The partitions that no member of a group owned for a second or more at a time, between one owner and
    the next, by the journal of assignments; the longest times first. `topics` are numbers by name."""
    units = [unit for unit in units_of(journals) if unit.group]
    if not units or not journals.files.assignments:
        return ()
    assignments = read_tables(group_files(journals)).assignments
    found = []
    for unit in units:
        owners = read_owners(unit, assignments, topics)
        for spot in np.unique(owners["spot"]):
            owned = ownerships(owners.where(np.flatnonzero(owners["spot"] == spot)))
            seconds = [(end - begin) / 1e9 for begin, end in unowned(owned)]
            if max(seconds, default=0.0) >= _SHORTEST_SECONDS:
                found.append(
                    OwnerlessTime(
                        group=unit.name,
                        partition=int(partitions(np.array([spot]))[0]),
                        seconds=round(sum(seconds), 3),
                        longest=round(max(seconds), 3),
                    )
                )
    return tuple(sorted(found, key=lambda one: (-one.longest, one.group, one.partition))[:_MOST])
