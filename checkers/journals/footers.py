"""What the footers of journal files tell: which row group holds which records, without reading any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.model.storage import StoragePath, open_parquet


@dataclass(frozen=True)
class JournalFile:
    """A Parquet file and its footer."""

    path: str
    footer: Any

    @classmethod
    def open(cls, path: StoragePath) -> JournalFile:
        """Raises OSError or pyarrow.ArrowException for what is no Parquet file."""
        with open_parquet(path) as file:
            return cls(str(path), file.metadata)

    @property
    def rows(self) -> int:
        return int(self.footer.num_rows)


@dataclass(frozen=True)
class Group:
    """A row group: its producers and sequence numbers lie within these bounds (None: it has none).

    `size` is its bytes. `reader` is the live reader whose journal it is of.
    """

    path: str
    number: int
    rows: int
    size: int
    bounds: tuple[int, int, int, int] | None
    reader: int = -1


class NoStatistics(Exception):
    """A file tells nothing of what its row groups hold."""


def groups(files: Sequence[JournalFile], reader: int = -1) -> list[Group]:
    """All row groups that hold a row, by file and number.

    Raises:
        NoStatistics: a row group does not tell the bounds of its identities.
    """
    found = []
    for file in files:
        for number in range(file.footer.num_row_groups):
            group = file.footer.row_group(number)
            if not group.num_rows:
                continue
            columns = {group.column(index).path_in_schema: index for index in range(group.num_columns)}
            size = sum(group.column(index).total_compressed_size for index in columns.values())
            producer = _bounds(group, columns["producer"])
            seq = _bounds(group, columns["seq"])
            both = None if producer is None or seq is None else (*producer, *seq)
            found.append(Group(file.path, number, group.num_rows, size, both, reader))
    return found


def words(files: Sequence[JournalFile], name: str) -> set[str] | None:
    """All different strings of a column in these files; None: the footers do not tell."""
    found = set()
    for file in files:
        for number in range(file.footer.num_row_groups):
            group = file.footer.row_group(number)
            for index in range(group.num_columns if group.num_rows else 0):
                column = group.column(index)
                if column.path_in_schema != name:
                    continue
                told = column.statistics
                if told is None or not told.has_min_max or told.min != told.max:
                    return None
                found.add(str(told.min))
    return found


def _bounds(group: Any, index: int) -> tuple[int, int] | None:
    told = group.column(index).statistics
    if told is not None and told.has_min_max:
        return int(told.min), int(told.max)
    if told is not None and told.has_null_count and told.null_count == group.num_rows:
        return None
    raise NoStatistics
