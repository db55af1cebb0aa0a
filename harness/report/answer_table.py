"""Answers to queries about saved runs: as a table, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from harness.report.page.blocks import Table

_DECIMALS = 3
_TEXT = 20
"""Characters below which a column of text is not folded."""


def shown(answer: pa.Table, width: int) -> Table:
    """A table for people: numbers to the right, fractions to three decimals at most, "-" for no value.

    Where the columns do not fit into `width` characters, each row is a column of names and one of values.
    """
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    numbers = {field.name for field in answer.schema if any(is_kind(field.type) for is_kind in kinds)}
    columns = [[_cell(value) for value in column.to_pylist()] for column in answer.columns]
    widest = {
        name: max(map(len, (name, *cells))) for name, cells in zip(answer.column_names, columns, strict=True)
    }
    needed = sum(wide if name in numbers else min(wide, _TEXT) for name, wide in widest.items())
    if needed + 2 * len(columns) > width:
        answer_rows = [
            pair
            for number, row in enumerate(zip(*columns, strict=True), start=1)
            for pair in ((f"row {number}", ""), *zip(answer.column_names, row, strict=True))
        ]
        return Table(("column", "value"), answer_rows, no_wrap=("column",))
    return Table(
        answer.column_names,
        list(zip(*columns, strict=True)) if columns else (),
        right=numbers,
        no_wrap=numbers,
    )


def answer_rows(answer: pa.Table) -> list[dict[str, Any]]:
    """The rows with values that JSON has: bytes as hexadecimal, times in ISO 8601, non-numbers as null."""
    return [{name: _plain(value) for name, value in row.items()} for row in answer.to_pylist()]


def csv_text(answer: pa.Table) -> str:
    """The rows as CSV with a header (RFC 4180, but lines end with a line feed alone): nothing for null,
    arrays as JSON."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(answer.column_names)
    for row in answer_rows(answer):
        writer.writerow(
            json.dumps(value) if isinstance(value, dict | list) else value for value in row.values()
        )
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.{_DECIMALS}f}".rstrip("0").rstrip(".")
    plain = _plain(value)
    return json.dumps(plain) if isinstance(plain, dict | list | bool) else str(plain)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta | Decimal):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value
