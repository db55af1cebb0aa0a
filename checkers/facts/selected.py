"""The records of a block that are not clean, kept between two tasks: in memory, or in a file."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from checkers.facts.block import AnomalousRecords
from checkers.facts.columns import ColumnBatch
from checkers.facts.places import Places
from checkers.facts.reading import read_replicas
from checkers.journals.footers import RowGroup
from harness.model.storage import place

MOST_BYTES = 64 * 2**20
"""Most memory for records that are kept: as much as decoded row groups take before they are selected."""


class KeptRecords:
    """Records of blocks that one process keeps in memory, as long as there is room."""

    def __init__(self, room: int = MOST_BYTES) -> None:
        self._kept: dict[int, SelectedRecords] = {}
        self._room = room
        self._lock = Lock()

    def put(self, number: int, records: SelectedRecords) -> bool:
        """Keep the records of a block instead of earlier ones; False: there is no room."""
        with self._lock:
            before = self._kept.pop(number, None)
            self._room += 0 if before is None else before.size
            if records.size > self._room:
                return False
            self._room -= records.size
            self._kept[number] = records
            return True

    def take(self, number: int) -> SelectedRecords | None:
        """The records of a block, which are no longer kept then; None: they are in a file."""
        with self._lock:
            found = self._kept.pop(number, None)
            self._room += 0 if found is None else found.size
            return found


@dataclass(frozen=True)
class SelectedRecords:
    """The records of a block that are not clean.

    `errors` are the names of errors of sends. `replicas` has the rows of `reading.REPLICA_COLUMNS` of these
    records; None: they are still to be read from `groups`, row groups of the replicas' files.
    """

    records: AnomalousRecords
    errors: tuple[str, ...]
    groups: tuple[RowGroup, ...] = ()
    replicas: ColumnBatch | None = None

    @property
    def size(self) -> int:
        """Bytes of all columns."""
        batches = [value for value in self._values() if isinstance(value, ColumnBatch)]
        columns = [column for batch in batches for column in batch.columns.values()]
        return sum(int(getattr(one, "nbytes", 0)) for one in (*columns, *self._values()))

    def _values(self) -> list[Any]:
        return [*vars(self.records).values(), self.replicas]

    def save(self, scratch: str, number: int, kept: KeptRecords | None) -> None:
        """Keep them in memory, or else in a file of the folder `scratch`."""
        target = place(scratch) / f"selected-{number:06}"
        if kept is not None and kept.put(number, self):
            return
        if not isinstance(target, Path):
            target.write_bytes(pickle.dumps(self, protocol=5))
            return
        # Columns go to the file as they are, without a copy of all of them as bytes.
        with target.open("wb") as file:
            pickle.dump(self, file, protocol=5)

    @classmethod
    def load(cls, scratch: str, number: int, kept: KeptRecords | None) -> SelectedRecords:
        """What `save` kept of this block."""
        found = None if kept is None else kept.take(number)
        if found is not None:
            return found
        saved = place(scratch) / f"selected-{number:06}"
        # Written by `save` in a folder of this very check.
        if isinstance(saved, Path):
            with saved.open("rb") as file:
                found = pickle.load(file)
        else:
            found = pickle.loads(saved.read_bytes())
        assert isinstance(found, cls)
        return found

    def holders(self, chosen: Places) -> ColumnBatch:
        """The rows of replicas' own files that hold records which have a place in `chosen`."""
        if self.replicas is None:
            return read_replicas(self.groups, lambda producer, seq: chosen.of(producer, seq) >= 0)
        return self.replicas.where(chosen.of(self.replicas["producer"], self.replicas["seq"]) >= 0)
