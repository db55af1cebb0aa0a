"""The answers of two engines to one query, row by row."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

SHOWN = 5
"""Rows that differ and are shown."""
_DIGITS = 12
"""Fractions that agree in as many digits are the same: engines add them up in different orders."""

AnswerRow = tuple[Any, ...]


@dataclass(frozen=True)
class AnswerComparison:
    """Whether two answers have the same rows, and sentences about it."""

    same: bool
    lines: tuple[str, ...]


def compare_answers(first: pa.Table, second: pa.Table, names: tuple[str, str]) -> AnswerComparison:
    """Compare two answers as collections of rows, by the values in the order of the columns.

    Names and types of columns, the order of rows, and the last digits of fractions make no difference; that
    the order or the digits differ is told.
    """
    one, other = names
    if first.num_columns != second.num_columns:
        line = f"{one} answers {first.num_columns} columns, {other} {second.num_columns}"
        return AnswerComparison(False, (line,))
    exact = [list(_rows(table)) for table in (first, second)]
    rounded = [[tuple(map(_rounded, row)) for row in rows] for rows in exact]
    only = [_without(rows, others) for rows, others in (rounded, rounded[::-1])]
    if only[0] or only[1]:
        lines = [
            f"the engines answer differently: {one} has {len(rounded[0]):,} rows, {other} "
            f"{len(rounded[1]):,}; {len(only[0]):,} are answered by {one} alone, {len(only[1]):,} by {other}"
        ]
        for name, rows in zip(names, only, strict=True):
            lines += [f"  {name} alone: {_row_text(first.column_names, row)}" for row in rows[:SHOWN]]
        return AnswerComparison(False, tuple(lines))
    notes = []
    if Counter(exact[0]) != Counter(exact[1]):
        notes.append("the last digits of fractions differ")
    if rounded[0] != rounded[1]:
        notes.append("their order differs")
    same = f"{one} and {other} answer the same {len(rounded[0]):,} rows"
    return AnswerComparison(True, ("; ".join([same, *notes]),))


def _rows(table: pa.Table) -> Iterable[AnswerRow]:
    columns = [column.to_pylist() for column in table.columns]
    return (tuple(map(_hashable, row)) for row in zip(*columns, strict=True))


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((name, _hashable(field)) for name, field in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    # NaN is not equal to itself.
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_rounded, value))
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.{_DIGITS}g}")
    return value


def _without(rows: list[AnswerRow], others: list[AnswerRow]) -> list[AnswerRow]:
    """The rows, in their order, that the others lack, each as often as it is missing."""
    left, missing = Counter(others), []
    for row in rows:
        if left[row]:
            left[row] -= 1
        else:
            missing.append(row)
    return missing


def _row_text(names: list[str], row: AnswerRow) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in zip(names, row, strict=True))
