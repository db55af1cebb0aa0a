"""Row groups that several blocks read, decoded once by the threads of one process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from threading import Lock
from typing import Any

from checkers.facts.planning import REPLICAS, ReadPlan
from checkers.journals.footers import RowGroup

MOST_ROWS = 2**20
"""Most rows that are kept for blocks to come. A row takes about 60 bytes."""

_Name = tuple[str, int]
"""Path and number of a row group."""


class DecodedGroups:
    """The tables of row groups that lie across the border of two bands, kept from the first block that reads
    them to the last one.

    About every second row group does in a history of many blocks, and decoding takes half of the time of a
    check. If there is no room for another table, the next block decodes it again. Blocks of stray records
    come last, so nothing is kept for them.
    """

    def __init__(self, plan: ReadPlan, room: int = MOST_ROWS) -> None:
        uses = Counter(
            (group.path, group.number)
            for block in plan.blocks
            if block.stray is None
            for name, groups in block.groups.items()
            if name != REPLICAS
            for group in groups
        )
        self._left = {name: count for name, count in uses.items() if count > 1}
        self._busy = {name: Lock() for name in self._left}
        self._kept: dict[_Name, Any] = {}
        self._room = room
        self._lock = Lock()

    def table(self, group: RowGroup, decode: Callable[[], Any]) -> Any:
        """The table of a row group; of two threads that ask for it at a time, one decodes it."""
        name = group.path, group.number
        if name not in self._left:
            return decode()
        with self._busy[name]:
            kept = self._kept.get(name)
            table = decode() if kept is None else kept
            with self._lock:
                self._left[name] -= 1
                if self._left[name] <= 0 and kept is not None:
                    del self._kept[name]
                    self._room += group.rows
                elif self._left[name] > 0 and kept is None and self._room >= group.rows:
                    self._kept[name] = table
                    self._room -= group.rows
        return table
