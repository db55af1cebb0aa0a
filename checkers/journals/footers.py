"""What the footers of journal files say: numbers of rows, bounds of row groups, and values of columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from harness.model.storage import StoragePath, open_parquet


@dataclass(frozen=True)
class JournalFile:
    """A Parquet file and its footer."""

    path: str
    footer: Any

    @classmethod
    def open(cls, path: StoragePath) -> JournalFile:
        """Raises OSError or pyarrow.ArrowException if its footer is none, or contradicts itself."""
        with open_parquet(path) as file:
            footer = file.metadata
        names = [footer.schema.column(number).path for number in range(footer.num_columns)]
        for number in range(footer.num_row_groups):
            group = footer.row_group(number)
            if [group.column(column).path_in_schema for column in range(group.num_columns)] != names:
                raise pa.ArrowInvalid(f"row group {number} has other columns than the file's schema")
        return cls(str(path), footer)

    @property
    def rows(self) -> int:
        return int(self.footer.num_rows)


def rows_of(files: Iterable[JournalFile]) -> int:
    """The number of rows in these files."""
    return sum(file.rows for file in files)


def distinct_values(files: Iterable[JournalFile], name: str) -> set[str]:
    """All different strings of a column in these files, from the footers where they say it."""
    found: set[Any] = set()
    for file in files:
        unclear = []
        for number in range(file.footer.num_row_groups):
            group = file.footer.row_group(number)
            columns = map(group.column, range(group.num_columns))
            statistics = next(column.statistics for column in columns if column.path_in_schema == name)
            if statistics is not None and statistics.has_min_max and statistics.min == statistics.max:
                found.add(statistics.min)
            elif group.num_rows:
                unclear.append(number)
        if unclear:
            with open_parquet(file.path, read_dictionary=[name], memory_map=True) as parquet:
                for number in unclear:
                    column = parquet.read_row_group(number, columns=[name]).column(name)
                    found.update(column.unique().to_pylist())
    return {str(value) for value in found if value is not None}
