"""A record of an application's output, as a client or a table gives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class OutputMessage(Protocol):
    """What is asked of an output; a message of confluent_kafka answers all of it."""

    def topic(self) -> str | None: ...
    def partition(self) -> int | None: ...
    def offset(self) -> int | None: ...
    def key(self) -> Any: ...
    def value(self) -> Any: ...
    def headers(self) -> Any: ...
    def timestamp(self) -> tuple[int, int]: ...
    def leader_epoch(self) -> int | None: ...


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


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table, as an `OutputMessage`: its columns `key` and `value`, if it has them, are the
    record's."""

    table: str
    file: int
    row: int
    columns: Mapping[str, Any]

    def topic(self) -> str:
        return self.table

    def partition(self) -> int:
        return self.file

    def offset(self) -> int:
        return self.row

    def key(self) -> bytes | None:
        return _as_bytes(self.columns.get("key"))

    def value(self) -> bytes | None:
        return _as_bytes(self.columns.get("value"))

    def headers(self) -> None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return (0, 0)

    def leader_epoch(self) -> None:
        return None


def _as_bytes(content: Any) -> bytes | None:
    if content is None or isinstance(content, bytes):
        return content
    return str(content).encode()


def record_of(message: OutputMessage) -> OutputRecord:
    """The record of a message, for a function of the user."""
    kind, stamp = message.timestamp()
    headers: Sequence[tuple[str, bytes | None]] = message.headers() or ()
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
