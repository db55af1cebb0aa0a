"""Records in a table with a header, as SQL shells and user interfaces of Kafka export them.

There is a line for each record, with columns between tabs, commas or semicolons: partition, offset and value,
and perhaps topic and key.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Any

from harness.tools.interop.topic_dumps import whole_number

TABLE = "a table with partition, offset and value"
_SEPARATORS = ("\t", ",", ";")
_VALUE = ("value", "payload", "content")
_SIGNS_IN_WORDS = str.maketrans("", "", "_.-")
_SIGNS = str.maketrans("", "", "_.- ")
"""What may stand in the name of a column: blanks only where tabs are between columns."""


@dataclass(frozen=True, slots=True)
class TableHeader:
    """The names of the columns, in lower case, and what stands between them."""

    separator: str
    names: tuple[str, ...]

    def event(self, line: str, topic: str | None) -> dict[str, Any]:
        """The record of a line, as in `record_data`; empty: it has other columns."""
        cells = _cells(line, self.separator)
        if len(cells) != len(self.names):
            return {}
        row = dict(zip(self.names, cells, strict=True))
        return {
            "topic": row.get("topic") or topic,
            "partition": whole_number(row["partition"]),
            "offset": whole_number(row["offset"]),
            "key": row.get("key"),
            "value": next(row[name] for name in _VALUE if name in row),
            "keyless": "key" not in row,
        }


def dump_header(line: bytes) -> TableHeader | None:
    """The header of a table that says where each record is, and what it is; None: it is none."""
    if b"artition" not in line and b"ARTITION" not in line:
        return None
    header = table_header(line)
    names = set(header.names) if header is not None else set()
    return header if {"partition", "offset"} <= names and names.intersection(_VALUE) else None


def table_header(line: bytes) -> TableHeader | None:
    """The header that a line is: names of columns, each once; None: it is none."""
    text = line.decode(errors="replace").strip("\r\n")
    for separator in _SEPARATORS:
        names = tuple(name.strip().lower() for name in _cells(text, separator))
        if (
            len(names) > 1
            and len(set(names)) == len(names)
            and all(_is_name(name, separator) for name in names)
        ):
            return TableHeader(separator, names)
    return None


def _cells(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return []


def _is_name(text: str, separator: str) -> bool:
    plain = text.translate(_SIGNS if separator == "\t" else _SIGNS_IN_WORDS)
    return plain.isalnum() and not text[0].isdigit()
