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
    `size` is in bytes. `reader` is the number of the live reader whose journal it belongs to. `places`: least
    and greatest partition, least and greatest offset (None: the footer does not say).
    """

    path: str
    number: int
    rows: int
    size: int
    bounds: tuple[int, int, int, int] | None
    reader: int = -1
    places: tuple[int, int, int, int] | None = None

    def may_hold(self, partition: int, low: int, high: int) -> bool:
        """Whether it may have a row of this partition with an offset in [low, high]."""
        if self.places is None:
            return True
        least, most, first, last = self.places
        return least <= partition <= most and first <= high and low <= last


class NoStatistics(Exception):
    """A footer has no statistics of the identities in a row group."""


def row_groups(files: Sequence[JournalFile], reader: int = -1, *, identities: bool = True) -> list[RowGroup]:
    """All row groups that hold a row, by file and number; without `identities`, their bounds are None.

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
            bounds = _pair(group, columns, "producer", "seq") if identities else None
            try:
                places = _pair(group, columns, "partition", "offset")
            except NoStatistics:
                places = None
            found.append(RowGroup(file.path, number, group.num_rows, size, bounds, reader, places))
    return found


def distinct_words(files: Sequence[JournalFile], name: str) -> set[str]:
    """All different strings of a column in these files, from the footers where they say it."""
    found: set[str] = set()
    for file in files:
        unclear = []
        for number in range(file.footer.num_row_groups):
            group = file.footer.row_group(number)
            column = next(
                group.column(index)
                for index in range(group.num_columns)
                if group.column(index).path_in_schema == name
            )
            statistics = column.statistics
            if not group.num_rows:
                continue
            if statistics is not None and statistics.has_min_max and statistics.min == statistics.max:
                found.add(str(statistics.min))
            else:
                unclear.append(number)
        if unclear:
            found |= _words_in(file, unclear, name)
    return found


def _words_in(file: JournalFile, groups: list[int], name: str) -> set[str]:
    with open_parquet(file.path, read_dictionary=[name], memory_map=True) as parquet:
        return {
            str(word)
            for number in groups
            for word in parquet.read_row_group(number, columns=[name]).column(name).unique().to_pylist()
            if word is not None
        }


def _pair(group: Any, columns: dict[str, int], one: str, other: str) -> tuple[int, int, int, int] | None:
    """Least and greatest value of two columns; None: one of them has only nulls."""
    first, second = _bounds(group, columns[one]), _bounds(group, columns[other])
    return None if first is None or second is None else (*first, *second)


def _bounds(group: Any, index: int) -> tuple[int, int] | None:
    statistics = group.column(index).statistics
    if statistics is not None and statistics.has_min_max:
        return int(statistics.min), int(statistics.max)
    if statistics is not None and statistics.has_null_count and statistics.null_count == group.num_rows:
        return None
    raise NoStatistics
