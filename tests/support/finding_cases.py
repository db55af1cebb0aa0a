"""Cases of findings: a history, and what must be found in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.history import History, Row

LOG_START, LOG_END = 10, 100
"""Bounds of every partition here. The topic keeps records for 60 s and the final read ended at 100 s."""


@dataclass(frozen=True)
class Case:
    """A history, and what must be found in it: rows of `findings` by the columns that matter."""

    tell: Callable[[History], object]
    expect: tuple[dict[str, Any], ...] = field(default=())


def same(found: list[Row], expected: tuple[dict[str, Any], ...]) -> None:
    """Each finding has what is expected of it; a text with a * goes by its parts."""
    assert len(found) == len(expected), found
    for row, wanted in zip(found, expected, strict=True):
        for column, value in wanted.items():
            if isinstance(value, str) and "*" in value:
                pattern = value.split("*")
                assert row[column].startswith(pattern[0]), row
                assert row[column].endswith(pattern[-1]), row
                assert all(part in row[column] for part in pattern), row
            else:
                assert row[column] == value, (column, row)
