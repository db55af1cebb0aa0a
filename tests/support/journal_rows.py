"""A journal in memory, and waiting until it has what a thread writes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from workloads.records.journal.row_journal import _checked


class Rows:
    """Rows in the order in which they came; with a schema, each is checked as when it goes to a file."""

    def __init__(self, schema: pa.Schema | None = None) -> None:
        self.rows: list[dict[str, Any]] = []
        self._schema = schema

    def append(self, row: dict[str, Any]) -> None:
        self.rows.append(row if self._schema is None else _checked(row, self._schema))

    def phases(self) -> list[tuple[str, str]]:
        """Fault and phase of each row of a journal of faults."""
        return [(row["fault"], row["phase"]) for row in self.rows]


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)
