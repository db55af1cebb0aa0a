"""Sends and reports of one producer, one JSON object per line.

docs/how-to/own-producer.md describes the format for users. `workloads.own.own_journal` writes it for programs
with confluent-kafka, and programs in any language can.

    {"event": "begin", "producer": 0, "run": 17, "topic": "orders"}
    {"event": "sent", "seq": 0, "time_ms": 1700000000000, "partition": 2, "key": "a", "size": 120, "txn": 0,
     "timestamp_ms": 1699999999000, "id": "order-11"}
    {"event": "acked", "seq": 0, "time_ms": 1700000000007, "partition": 2, "offset": 41}
    {"event": "failed", "seq": 1, "time_ms": 1700000000009, "error": "TimeoutException"}
    {"event": "refused", "seq": 2, "time_ms": 1700000000009, "error": "RecordTooLargeException"}
    {"event": "committed", "txn": 0, "time_ms": 1700000000020}      (or "aborted", "indeterminate")
    {"event": "end"}

`begin` is the first line. `sent` is written before the record is handed to the client, with dense numbers
from 0. A send that failed may be in the log all the same; a send that was refused before it was queued is
certainly not in the log. Unlike lines of Kafka's own tools (`harness.tools.interop.verifiable_events`), no
line is ignored, because a line that cannot be read may have been a send. The exception is a last line that is
cut off because its program has ended; such a file does not end with `end`.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args

from harness.model.errors import BadInput
from harness.model.journal import TxnOutcome
from workloads.own.client_settings import ClientSettings
from workloads.own.producer_folder import Acks, ProducerTarget
from workloads.own.record_ids import LONGEST_ID
from workloads.records.producer.send_journal import NO_TIMESTAMP
from workloads.records.record.identity import MAX_RUN

_MS = 1_000_000
MOST_NS = 2**63 - 1
_LONGEST_CLIENT = 200
_ERROR = re.compile(r"^[\x21-\x7e]{1,200}$")
TRANSACTION_ENDS = {end.value: end for end in TxnOutcome}
_TIME = {"time_ms", "time_ns"}
_SETTINGS = {field.name for field in fields(ClientSettings)}
_FIELDS: dict[str, set[str]] = {
    "begin": {"producer", "run", "topic", *_SETTINGS},
    "sent": {"seq", "partition", "key", "key_base64", "size", "txn", "timestamp_ms", "id", *_TIME},
    "acked": {"seq", "partition", "offset", *_TIME},
    "failed": {"seq", "partition", "error", *_TIME},
    "refused": {"seq", "partition", "error", *_TIME},
    **{name: {"txn", "error", "begun_ns", "asked", "answered", *_TIME} for name in TRANSACTION_ENDS},
    "end": set(),
}
CUT_OFF = "a line without its end"
"""Returned instead of an event for a last line that is no JSON because its program ended while it wrote."""
_NEXT = "correct the program that wrote it: docs/how-to/own-producer.md describes each event"


@dataclass(slots=True)
class EventLine:
    """One line that was parsed; its methods take fields, and refuse wrong ones."""

    file: Path
    number: int
    event: str
    fields: Mapping[str, Any]

    def bad(self, what: str, expected: str, found: str) -> BadInput:
        where = f"{self.file}, line {self.number}"
        return BadInput(what, where=where, expected=expected, found=found, next_step=_NEXT)

    def number_of(self, name: str, most: int, default: int | None = None, least: int = 0) -> int:
        value = self.fields.get(name, default)
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        raise self.bad(
            f"the event {self.event!r} has no usable {name!r}",
            f"a whole number from {least} to {most}",
            "none" if name not in self.fields else _shown(value),
        )

    def time(self) -> int:
        if "time_ns" in self.fields:
            return self.number_of("time_ns", MOST_NS)
        return self.number_of("time_ms", MOST_NS // _MS) * _MS

    def timestamp_ms(self) -> int:
        """The record's own time, as the producer gave it; negative: it gave none, which Kafka writes -1."""
        return self.number_of("timestamp_ms", MOST_NS, NO_TIMESTAMP, least=-MOST_NS)

    def one_of(self, name: str, values: Sequence[object], default: object) -> Any:
        value = self.fields.get(name, default)
        # True equals 1, and is none of the numbers.
        if any(value is allowed or (isinstance(value, str) and value == allowed) for allowed in values):
            return value
        raise self.bad(
            f"the event {self.event!r} has no usable {name!r}",
            " or ".join(json.dumps(allowed) for allowed in values),
            _shown(value),
        )

    def key(self) -> bytes | None:
        text, coded = self.fields.get("key"), self.fields.get("key_base64")
        with suppress(UnicodeEncodeError, binascii.Error):
            if isinstance(text, str) and coded is None:
                return text.encode()
            if isinstance(coded, str) and text is None:
                return base64.b64decode(coded, validate=True)
        if text is None and coded is None:
            return None
        raise self.bad(
            "the key cannot be read",
            "`key` (text) or `key_base64` (bytes in Base64), or neither for a record without a key",
            _shown({name: self.fields[name] for name in ("key", "key_base64") if name in self.fields}),
        )

    def record_id(self) -> str | None:
        """The record's own id."""
        value = self.fields.get("id")
        if value is None:
            return None
        with suppress(UnicodeEncodeError):
            if isinstance(value, str) and len(value.encode()) > 0 and len(value) <= LONGEST_ID:
                return value
        raise self.bad(
            "the event 'sent' has no usable 'id'", f"text of 1 to {LONGEST_ID} characters", _shown(value)
        )

    def error(self) -> str:
        value = self.fields.get("error")
        if isinstance(value, str) and _ERROR.match(value):
            return value
        raise self.bad(
            f"the event {self.event!r} has no usable 'error'",
            "the client's name for the error: at most 200 printable ASCII characters without spaces",
            "none" if value is None else _shown(value),
        )


def open_events(file: Path) -> tuple[EventLine, ProducerTarget, Iterator[EventLine]]:
    """The first line of a file, the run, the topic and the acks that it names, and the lines after it.

    Raises:
        BadInput: the file cannot be read, or its first line is no `begin`.
    """
    lines = _event_lines(file)
    begin = next(lines, None)
    if begin is None or begin.event != "begin":
        raise EventLine(file, 1, "", {}).bad(
            "the events do not begin with `begin`",
            '{"event": "begin", "producer": 0, "run": N, "topic": "NAME"}',
            "nothing" if begin is None else f"the event {begin.event!r}",
        )
    topic, acks = begin.fields.get("topic"), begin.fields.get("acks", "all")
    if not isinstance(topic, str) or not topic or not (topic.isascii() and topic.isprintable()):
        raise begin.bad("the event 'begin' has no usable 'topic'", "the name of a topic", _shown(topic))
    if acks not in get_args(Acks):
        raise begin.bad("the event 'begin' has no usable 'acks'", '"0", "1" or "all"', _shown(acks))
    return begin, ProducerTarget(begin.number_of("run", MAX_RUN), topic, acks), lines


def parse_settings(begin: EventLine) -> ClientSettings | None:
    """What the event `begin` tells of the client; None: it names no client, so that its program knows no more
    than the run.

    Raises:
        BadInput: a setting has no usable value.
    """
    if "client" not in begin.fields:
        return None
    client = begin.fields["client"]
    # Half a surrogate pair, for example, could be written into no report.
    usable = isinstance(client, str) and client.strip() and client.isprintable()
    if not usable or len(client) > _LONGEST_CLIENT:
        raise begin.bad(
            "the event 'begin' has no usable 'client'",
            "the library's name and version, as printable text",
            _shown(client),
        )
    times = {
        name: begin.number_of(name, 2**31 - 1)
        for name in ("max_in_flight", "delivery_timeout_ms", "transaction_timeout_ms")
        if name in begin.fields
    }
    acks = begin.one_of("acks", get_args(Acks), None)
    idempotent = begin.one_of("idempotent", (True, False), None)
    return ClientSettings(client, acks, idempotent, **times)


def _event_lines(file: Path) -> Iterator[EventLine]:
    """The lines of a file that are not empty. A line that is no event raises BadInput."""
    with (
        BadInput.for_os_errors(
            "a file of events cannot be read", where=file, next_step="name a file of events in JSON lines"
        ),
        file.open("rb") as stream,
    ):
        for number, raw in enumerate(stream, 1):
            if raw.strip():
                yield _parsed(file, number, raw)


def _parsed(file: Path, number: int, raw: bytes) -> EventLine:
    line = EventLine(file, number, CUT_OFF, {})
    try:
        parsed = json.loads(raw)
    except (ValueError, RecursionError):
        text = f"{raw[:80]!r}"
        if raw.endswith(b"\n"):
            raise line.bad("a line is no JSON", "one JSON object per line", text) from None
        line.fields = {"text": text}
        return line
    event = parsed.get("event") if isinstance(parsed, dict) else None
    if not isinstance(event, str) or event not in _FIELDS:
        raise line.bad("a line is no event", f"`event`: {', '.join(_FIELDS)}", _shown(parsed))
    unknown = parsed.keys() - _FIELDS[event] - {"event"}
    if unknown:
        known = ", ".join(sorted(_FIELDS[event])) or "no field"
        raise line.bad(f"the event {event!r} has an unknown field", known, _shown(min(unknown)))
    line.event, line.fields = event, parsed
    return line


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 100 else f"{text[:100]}..."


def has_ended(file: Path) -> bool:
    """Whether the last line of a file of events is `end`."""
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, file.stat().st_size - 200))
            return b'"end"' in stream.read().rstrip().rpartition(b"\n")[2]
    except OSError:
        return False
