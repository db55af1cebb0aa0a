"""What the check has to know of a journal beside its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from checkers.journals.footers import JournalFile, row_count

Files = tuple[JournalFile, ...]


@dataclass(frozen=True)
class JournalSpec:
    """One journal: its folder in the run folder, and its columns.

    `known` are the values that this version knows, by column; any other one is a reason for an unknown
    verdict. `names_topics`: its rows may be about topics that the run's metadata do not name.
    """

    folder: str
    schema: pa.Schema
    known: Mapping[str, frozenset[str]] = field(default_factory=dict)
    names_topics: bool = False


@dataclass(frozen=True)
class Readable:
    """The readable files of one journal, and why the others cannot be read."""

    files: Files
    problems: tuple[str, ...]

    def lacks(self, rows: int | None) -> bool:
        """Whether its files, which can all be read, hold another number of rows than its writer counted
        (None: not known)."""
        return rows is not None and not self.problems and row_count(self.files) != rows
