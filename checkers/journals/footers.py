"""Which row group holds which records, read from the footers of journal files alone."""

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
        """Raises OSError or pyarrow.ArrowException if it is no Parquet file."""
        with open_parquet(path) as file:
            return cls(str(path), file.metadata)

    @property
    def rows(self) -> int:
        return int(self.footer.num_rows)


@dataclass(frozen=True)
class RowGroup:
    """A row group.

    `bounds`: least and greatest producer, least and greatest sequence number (None: no row has an identity).
    `size` is in bytes. `reader` is the number of the live reader whose journal it belongs to.
    """

    path: str
    number: int
    rows: int
    size: int
    bounds: tuple[int, int, int, int] | None
    reader: int = -1


class NoStatistics(Exception):
    """A footer has no statistics of the identities in a row group."""


def row_groups(files: Sequence[JournalFile], reader: int = -1) -> list[RowGroup]:
    """All row groups that hold a row, by file and number.

    Raises:
        NoStatistics: the bounds of a row group's identities are not in the footer.
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
            found.append(RowGroup(file.path, number, group.num_rows, size, both, reader))
    return found


def distinct_words(files: Sequence[JournalFile], name: str) -> set[str] | None:
    """All different strings of a column in these files; None: they cannot be read from the footers."""
    found = set()
    for file in files:
        for number in range(file.footer.num_row_groups):
            group = file.footer.row_group(number)
            for index in range(group.num_columns if group.num_rows else 0):
                column = group.column(index)
                if column.path_in_schema != name:
                    continue
                statistics = column.statistics
                if statistics is None or not statistics.has_min_max or statistics.min != statistics.max:
                    return None
                found.add(str(statistics.min))
    return found


def _bounds(group: Any, index: int) -> tuple[int, int] | None:
    statistics = group.column(index).statistics
    if statistics is not None and statistics.has_min_max:
        return int(statistics.min), int(statistics.max)
    if statistics is not None and statistics.has_null_count and statistics.null_count == group.num_rows:
        return None
    raise NoStatistics
