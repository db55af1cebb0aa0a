"""Journal files before an engine reads them: their numbers of rows, and the topics and states in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from harness.model.storage import StoragePath, open_parquet

_COLUMNS = ("topic", "state")


@dataclass(frozen=True)
class JournalFile:
    """A Parquet file, its footer and Arrow schema, and the different values of its columns `topic` and
    `state`, null among them."""

    path: str
    footer: Any
    schema: pa.Schema
    values: Mapping[str, frozenset[str | None]]

    @classmethod
    def open(cls, path: StoragePath) -> JournalFile:
        """Raises OSError or pyarrow.ArrowException if its footer is none, or these columns cannot be read.

        The columns are read, although the footer has their bounds: statistics of a damaged footer are not
        asked for.
        """
        with open_parquet(path) as file:
            footer, schema = file.metadata, file.schema_arrow
        names = [name for name in _COLUMNS if name in schema.names]
        distinct: dict[str, set[Any]] = {name: set() for name in names}
        if names:
            with open_parquet(path, metadata=footer, read_dictionary=names, memory_map=True) as file:
                for number in range(footer.num_row_groups):
                    group = file.read_row_group(number, columns=names)
                    for name in names:
                        distinct[name].update(group.column(name).unique().to_pylist())
        return cls(str(path), footer, schema, {name: frozenset(some) for name, some in distinct.items()})

    @property
    def rows(self) -> int:
        return int(self.footer.num_rows)


def row_count(files: Iterable[JournalFile]) -> int:
    """The number of rows in these files."""
    return sum(file.rows for file in files)


def distinct_values(files: Iterable[JournalFile], name: str) -> set[str]:
    """All different values of the column `topic` or `state` in these files, but null."""
    return {value for file in files for value in file.values.get(name, ()) if value is not None}


def constant_values(files: Iterable[JournalFile]) -> dict[str, str]:
    """The value of each of the columns `topic` and `state` that has the same in all rows of these files."""
    files, known = tuple(files), {}
    for name in _COLUMNS:
        # What a file lacks is null in all of its rows.
        values = {value for file in files for value in file.values.get(name, (None,))}
        if len(values) == 1 and (value := values.pop()) is not None:
            known[name] = value
    return known
