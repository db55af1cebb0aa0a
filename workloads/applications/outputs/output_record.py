"""A record of an application's output, as a client or a table gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_NOT_AVAILABLE, Message


@dataclass(frozen=True, slots=True)
class OutputRecord:
    """One record of an output, as the function of `identity: {callable: ...}` gets it.

    Of a table, `partition` is the number of the file and `offset` the number of the row, and `columns` has
    the row of a Parquet file by column.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None
    columns: Mapping[str, Any] | None = None


class TableRow(Message):
    """One row of a table, as a message: its columns `key` and `value`, if it has them, are the record's, and
    `time_ms` its timestamp (None: it has none)."""

    def __init__(
        self, table: str, file: int, row: int, columns: Mapping[str, Any], time_ms: int | None = None
    ) -> None:
        key, value = _as_bytes(columns.get("key")), _as_bytes(columns.get("value"))
        stamp = (TIMESTAMP_NOT_AVAILABLE, 0) if time_ms is None else (TIMESTAMP_CREATE_TIME, time_ms)
        super().__init__(topic=table, partition=file, offset=row, key=key, value=value, timestamp=stamp)
        self.columns = columns


def _as_bytes(content: Any) -> bytes | None:
    if content is None or isinstance(content, bytes):
        return content
    return str(content).encode()


def record_of(message: Message) -> OutputRecord:
    """The record of a message, for a function of the user."""
    kind, stamp = message.timestamp()
    headers: Any = message.headers() or ()
    return OutputRecord(
        topic=message.topic() or "",
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        key=message.key(),
        value=message.value(),
        headers=tuple(headers),
        timestamp_ms=stamp if kind else None,
        columns=message.columns if isinstance(message, TableRow) else None,
    )
