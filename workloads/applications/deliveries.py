"""What an application says that it has handled: a file of JSON lines for each of its processes.

    {"event": "begin", "time_ms": 1700000000000, "client": "kafkajs 2.2.4"}
    {"event": "assigned", "time_ms": 1700000000100, "partitions": [0]}      (or "revoked", "lost")
    {"event": "handled", "time_ms": 1700000000107, "partition": 0, "offset": 41, "value": "4b434831..."}
    {"event": "failed", "time_ms": 1700000000109, "partition": 0, "offset": 42, "error": "HandlerFailed"}
    {"event": "end", "time_ms": 1700000000200}

`handled` is written when the handler is done with a record, with the first 28 bytes of its value (or those of
its header `kafka-chaos-identity`) in hexadecimal digits, and `failed` when it has raised an error. Every line
has the clock of its own process, and every process a file of its own: a partition that two members handle at
once is seen by that. A last line that is cut off belongs to a process that was killed.

Some clients hand out the end of a transaction as if it were a record. A line of such a marker, whose `value`
has its 6 bytes and whose `key` its 4, is passed over and counted.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from harness.model.errors import JournalError, words_of
from harness.model.frozen import Frozen

_BATCH = 4096
_MOST_LINE_BYTES = 2**20
_MOST_MS = 2**63 // 1_000_000 - 1
_MARKER_BYTES = 6
_MARKER_KEYS = (struct.pack(">hh", 0, 0), struct.pack(">hh", 0, 1))
"""Version 0, and the type: abort or commit (EndTransactionMarker among Kafka's message definitions)."""

_Hex = Annotated[str, Field(pattern=r"^([0-9a-fA-F]{2})*$")]
_Ms = Annotated[int, Field(strict=True, ge=0, le=_MOST_MS)]
_Partition = Annotated[int, Field(strict=True, ge=0, lt=2**31)]
_Offset = Annotated[int, Field(strict=True, ge=0, lt=2**63)]


class _Handled(Frozen):
    event: Literal["handled"]
    time_ms: _Ms
    partition: _Partition
    offset: _Offset
    value: _Hex = ""
    key: _Hex = ""


class _Failed(Frozen):
    event: Literal["failed"]
    time_ms: _Ms
    partition: _Partition
    offset: _Offset
    error: str | None = None


class _Partitions(Frozen):
    event: Literal["assigned", "revoked", "lost"]
    time_ms: _Ms
    partitions: tuple[_Partition, ...] = ()


class _Life(Frozen):
    event: Literal["begin", "end"]
    time_ms: _Ms
    client: str | None = None


_Event = _Handled | _Failed | _Partitions | _Life
_EVENT: TypeAdapter[_Event] = TypeAdapter(Annotated[_Event, Field(discriminator="event")])


@dataclass(frozen=True, slots=True)
class HandlerFailure:
    """A record on which a handler failed, in the file with this number."""

    member: int
    at_ns: int
    partition: int
    offset: int
    error: str | None


@dataclass(eq=False)
class DeliveryFiles:
    """Reads files of deliveries one after the other, and notes what is no record that was handled: `failures`
    of the handler, and the number of `markers`."""

    failures: list[HandlerFailure] = field(default_factory=list)
    markers: int = 0
    _files: int = 0

    def rows(self, path: Path) -> Iterator[list[tuple[dict[str, Any], int | None]]]:
        """The records of a file that were handled, in batches: the columns `value` (bytes), and the time (ms
        since the epoch).

        Raises:
            JournalError: a line is no event.
        """
        member, self._files = self._files, self._files + 1
        batch: list[tuple[dict[str, Any], int | None]] = []
        for event in _events(path):
            if isinstance(event, _Failed):
                at_ns = event.time_ms * 1_000_000
                self.failures.append(
                    HandlerFailure(member, at_ns, event.partition, event.offset, event.error)
                )
            elif isinstance(event, _Handled):
                value = bytes.fromhex(event.value)
                if len(value) == _MARKER_BYTES and bytes.fromhex(event.key) in _MARKER_KEYS:
                    self.markers += 1
                    continue
                batch.append(({"value": value}, event.time_ms))
                if len(batch) == _BATCH:
                    yield batch
                    batch = []
        if batch:
            yield batch


def _events(path: Path) -> Iterator[_Event]:
    """The events of a file.

    Raises:
        JournalError: a line is none.
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(_MOST_LINE_BYTES):
            number += 1
            try:
                yield _EVENT.validate_json(line)
            except ValidationError as error:
                if not line.endswith(b"\n") and len(line) < _MOST_LINE_BYTES:
                    return
                raise JournalError(
                    "a line of a journal of deliveries cannot be used",
                    where=f"{path.name}, line {number}",
                    expected="begin, assigned, revoked, lost, handled, failed or end, with its fields",
                    found=words_of(error),
                    next_step="correct the program that wrote it: docs/how-to/your-client.md describes each",
                ) from error
