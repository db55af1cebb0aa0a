"""Who owned a partition of a group, and when nobody did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from checkers.facts.columns import MOST, ColumnBatch
from checkers.facts.group_journals import ASSIGNED, REVOKED


@dataclass(frozen=True)
class Ownership:
    """A reader owned a partition from `begin` to `end` (`MOST`: to the end of the journal), in ns, by its own
    journal. `offset` is where it began to read (null: not known); `confirmed`: it gave the partition up, it
    did not lose it."""

    reader: int
    begin: int
    end: int
    offset: int
    confirmed: bool


def ownerships(owners: ColumnBatch) -> list[Ownership]:
    """The ownerships of one partition, from rows of `OWNER_ROWS`, by time.

    A partition that is assigned to its owner again, as after a seek, begins another one, so that the time
    between is not taken for certain.
    """
    open_since: dict[int, tuple[int, int]] = {}
    found = []
    order = np.argsort(owners["at_ns"], kind="stable")
    for number in order.tolist():
        reader, at, event = (int(owners[name][number]) for name in ("reader", "at_ns", "event"))
        if reader in open_since:
            begin, offset = open_since.pop(reader)
            found.append(Ownership(reader, begin, at, offset, event == REVOKED))
        if event == ASSIGNED:
            open_since[reader] = (at, int(owners["offset"][number]))
    found += [
        Ownership(reader, begin, MOST, offset, confirmed=False)
        for reader, (begin, offset) in open_since.items()
    ]
    return sorted(found, key=lambda one: (one.begin, one.reader))


def unowned(owned: Sequence[Ownership]) -> Iterable[tuple[int, int]]:
    """The stretches (begin, end) between two ownerships in which a partition had no owner, in ns."""
    upto: int | None = None
    for one in owned:
        if upto is not None and one.begin > upto:
            yield upto, one.begin
        upto = one.end if upto is None else max(upto, one.end)
