"""Lines of Kafka's VerifiableProducer, VerifiableConsumer and VerifiableShareConsumer
(org.apache.kafka.tools), and of Confluent's clients of these names, one JSON object each.

A line that is no JSON object with a known `name` belongs to some log: it is counted and ignored. An object
that lacks a field, or is cut off, is damaged: the event that it recorded is no longer known.

Instead of `timestamp` (ms), Confluent's clients write `_time`, without a zone; those of librdkafka leave the
date out, and some events have no time at all. They write no key as "NULL" (librdkafka) or "" (Go), and a
failed send has a `message` alone (confluent-kafka-python: src/confluent_kafka/kafkatest; librdkafka:
examples/kafkatest_verifiable_client.cpp; confluent-kafka-go: kafkatest).

The values are text, "NUMBER" or "PREFIX.NUMBER". The prefix is the producer (0 without one), the number is
its seq. Such a value contains neither a run nor a checksum: a record of another run, or one whose digits were
changed, cannot be distinguished from ours. Keys are text too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from types import EllipsisType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from crc32c import crc32c

from workloads.records.record.identity import OK, UNDECODABLE, Decoded

_TEXT = (str,)
_MAYBE_TEXT = (str, type(None))
_NUMBER = (int,)
_MAYBE_NUMBER = (int, EllipsisType)
"""Such a field may be missing."""

_Fields = dict[str, tuple[type, ...]]
_TOPIC_PARTITION: _Fields = {"topic": _TEXT, "partition": _NUMBER}
_OF_BOTH: dict[str, _Fields] = {"startup_complete": {}, "shutdown_complete": {}, "shutdown_requested": {}}
PRODUCER: dict[str, _Fields] = {
    **_OF_BOTH,
    "producer_send_success": {**_TOPIC_PARTITION, "key": _MAYBE_TEXT, "value": _TEXT, "offset": _NUMBER},
    "producer_send_error": {"key": _MAYBE_TEXT, "value": _TEXT, "topic": _TEXT, "exception": _TEXT},
    "tool_data": {"sent": _NUMBER, "acked": _NUMBER},
}
RECORD: _Fields = {**_TOPIC_PARTITION, "key": _MAYBE_TEXT, "value": _MAYBE_TEXT, "offset": _NUMBER}
CONSUMER: dict[str, _Fields] = {
    **_OF_BOTH,
    "record_data": RECORD,
    "records_consumed": {"count": _NUMBER, "partitions": (list,)},
    "offsets_committed": {"offsets": (list,), "success": (bool,)},
    "partitions_assigned": {"partitions": (list,)},
    "partitions_revoked": {"partitions": (list,)},
}
SHARE_CONSUMER: dict[str, _Fields] = {
    **_OF_BOTH,
    "record_data": RECORD,
    "records_consumed": CONSUMER["records_consumed"],
    "offsets_acknowledged": {"partitions": (list,), "success": (bool,)},
    "offset_reset_strategy_set": {"offsetResetStrategy": _TEXT},
}
"""By event: its required fields and their types. All events of `parse` also have `timestamp` (ms)."""
_CONFLUENT_ERROR: _Fields = {"key": _MAYBE_TEXT, "value": _TEXT, "topic": _TEXT, "message": _TEXT}
_NO_KEY = ("", "NULL")
_OFFSET: _Fields = {"offset": _NUMBER}
_PARTS: dict[str, _Fields] = {
    "records_consumed": {**_TOPIC_PARTITION, "count": _MAYBE_NUMBER},
    "offsets_acknowledged": {**_TOPIC_PARTITION, "offsets": (list,)},
    "offsets_committed": {**_TOPIC_PARTITION, "offset": _NUMBER},
    "partitions_assigned": _TOPIC_PARTITION,
    "partitions_revoked": _TOPIC_PARTITION,
}
_LISTS = {"offsets_committed": "offsets"}
_MOST = {"partition": 2**31 - 1, "timestamp": 2**63 // 10**6 - 1}
_NO_OFFSET = -1001
"""librdkafka's RD_KAFKA_OFFSET_INVALID: nothing was committed of this partition, or no broker gave a record
an offset (in Python: None)."""
_DAY_MS = 86_400_000
_FIRST_DAY = "1970-01-01"
_EPOCH = datetime.fromisoformat(f"{_FIRST_DAY}T00:00:00+00:00")
_FORM = r"^(?:(?P<producer>0|[1-9][0-9]{0,8})\.)?(?P<seq>0|[1-9][0-9]{0,17})$"
_PLAIN_DIGITS = 18
"""Numbers of up to this many digits fit into 63 bits."""


@dataclass(slots=True)
class LineCounts:
    """Counts of the lines of one file. `elsewhere` are those of other containers, `first_damaged` is the
    number of the first damaged line, from 1, `last_ms` the time of the last event, `zoneless` and `dateless`
    tell that times without a zone (read as UTC) or without a date (read as 1970-01-01) were seen."""

    events: int = 0
    other: int = 0
    damaged: int = 0
    elsewhere: int = 0
    first_damaged: int | None = None
    last_ms: int = field(default=0, compare=False)
    zoneless: bool = field(default=False, compare=False)
    dateless: bool = field(default=False, compare=False)

    @property
    def seen(self) -> int:
        return self.events + self.other + self.damaged + self.elsewhere


def parse(line: str | bytes | None, known: dict[str, _Fields], lines: LineCounts) -> dict[str, Any] | None:
    """The event of one line (None: it contains none). Counts the line in `lines`; its text never raises.

    Args:
        line: None: a line of another container.
        known: `PRODUCER`, `CONSUMER` or `SHARE_CONSUMER`.
    """
    if line is None:
        lines.elsewhere += 1
        return None
    if line.lstrip()[:1] not in ("{", b"{"):
        lines.other += 1
        return None
    try:
        event: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError):
        count_damaged(lines)
        return None
    name = event.get("name")
    if not isinstance(name, str) or name not in known:
        lines.other += 1
        return None
    fields = known[name]
    if "timestamp" not in event:
        event["timestamp"] = _time_ms(event.get("_time"), lines)
        if event.get("key") in _NO_KEY:
            event["key"] = None
        if name == "producer_send_error":
            fields = _CONFLUENT_ERROR
        elif name == "producer_send_success" and event.get("offset", ...) in (None, _NO_OFFSET):
            event["offset"] = -1
    whole = has_fields(event, fields) and has_fields(event, {"timestamp": _NUMBER})
    parts = event[_LISTS.get(name, "partitions")] if whole and name in _PARTS else []
    if not whole or not all(isinstance(part, dict) and _is_part(part, name) for part in parts):
        count_damaged(lines)
        return None
    lines.events += 1
    lines.last_ms = event["timestamp"]
    return event


def _time_ms(text: object, lines: LineCounts) -> int | None:
    """`_time` in ms; that of the event before, if there is none; None: it is no time."""
    if text is None:
        return lines.last_ms
    try:
        dated = isinstance(text, str) and "-" in text
        at = datetime.fromisoformat(str(text) if dated else f"{_FIRST_DAY}T{text}")
        ms = (at.replace(tzinfo=at.tzinfo or UTC) - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        return None
    lines.zoneless |= at.tzinfo is None
    lines.dateless |= not dated
    # Of a clock without a date: the day on which this time is closest to the event before.
    return ms if dated else ms + _DAY_MS * max(0, round((lines.last_ms - ms) / _DAY_MS))


def _is_part(part: dict[str, Any], name: str) -> bool:
    if name == "offsets_committed" and part.get("offset") == _NO_OFFSET:
        part["offset"] = -1
    offsets = part.get("offsets", []) if name == "offsets_acknowledged" else []
    return has_fields(part, _PARTS[name]) and all(
        has_fields({"offset": offset}, _OFFSET) for offset in offsets
    )


def count_damaged(lines: LineCounts) -> None:
    """Count a line as damaged."""
    lines.damaged += 1
    if lines.first_damaged is None:
        lines.first_damaged = lines.seen


def has_fields(event: dict[str, Any], fields: _Fields) -> bool:
    """Whether an event has all of these fields, with values of their types that journals can hold."""
    for name, types in fields.items():
        value = event.get(name, ...)
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            return False
        # Kafka allows only ASCII in a topic's name, and a lone surrogate could not be stored.
        if name == "topic" and not str(value).isascii():
            return False
        if isinstance(value, int) and not -1 <= value <= _MOST.get(name, 2**63 - 1):
            return False
    return True


def decode_text(values: Sequence[bytes | None], run: int) -> Decoded:
    """As `workloads.records.record.identity.decode`, for text values; every value that decodes counts as one
    of this run."""
    count = len(values)
    fields = pc.extract_regex(pa.array(values, pa.binary()), pattern=_FORM)
    right = np.asarray(fields.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)
    return Decoded(
        state=np.where(right, OK, UNDECODABLE).astype(np.uint8),
        run=np.where(right, run, 0).astype(np.int64),
        producer=_numbers(fields, "producer", right).astype(np.int32),
        seq=_numbers(fields, "seq", right),
        crc=np.fromiter((crc32c(value or b"") for value in values), dtype=np.uint32, count=count),
    )


def _numbers(fields: pa.StructArray, name: str, right: np.ndarray) -> np.ndarray:
    """A field as int64, 0 if the value has none."""
    digits = pc.struct_field(fields, name).cast(pa.string())
    present = pc.if_else(pc.and_(pa.array(right), pc.not_equal(pc.fill_null(digits, ""), "")), digits, "0")
    return np.asarray(present.cast(pa.int64()).to_numpy(zero_copy_only=False), dtype=np.int64)


def key_id(key: str | bytes | None) -> int | None:
    """The key id of a key: its number if it is a decimal number in its shortest form, else 62 bits of its
    hash."""
    if key is None:
        return None
    raw = key.encode(errors="surrogatepass") if isinstance(key, str) else key
    if raw.isdigit() and len(raw) <= _PLAIN_DIGITS and (raw == b"0" or not raw.startswith(b"0")):
        return int(raw)
    return int.from_bytes(blake2b(raw, digest_size=8).digest(), "big") >> 2


def ascii_text(text: str) -> str | None:
    """A text for a journal (None: it is empty)."""
    return text.encode("ascii", "replace").decode() or None


def librdkafka_error(message: str) -> str:
    """The name of an error in "KafkaError{code=_MSG_TIMED_OUT,...}", else the beginning of the message."""
    code = re.search(r"\bcode=(\w+)", message)
    return ascii_text(code[1] if code else message[:100]) or "failed"
