"""Records as `kcat -J` and kafka-console-consumer print them, with partitions and offsets, and as JSON.

kcat prints a JSON object per record (kcat: json.c). rpk (`rpk topic consume -f json`), Kafka UI and AKHQ
write objects with `partition`, `offset` and `value`, some without a topic, or with an object for it. The
console consumer prints columns with a separator (key.separator, a tab unless it is set); partition and offset
are among them if print.partition and print.offset are true (Kafka 2.7, KIP-431; DefaultMessageFormatter):
[timestamp] Partition:0 Offset:7 [Delivery:1] [headers] [key] value.
"""

from __future__ import annotations

import json
import re
from typing import Any

from harness.tools.interop.verifiable_events import RECORD, LineCounts, count_damaged, has_fields

KCAT, CONSOLE = "kcat -J", "kafka-console-consumer"
JSON_DUMP = "JSON lines with partition, offset and value"
_VALUES = ("payload", "value", "content")
_BEGIN = re.compile(rb"(?:CreateTime|LogAppendTime):-?\d|NO_TIMESTAMP|Partition:\d|Offset:\d")
_LINE = re.compile(
    rb"(?:(?:(?:CreateTime|LogAppendTime):-?\d+|NO_TIMESTAMP).{1,9}?)?"
    rb"Partition:(?P<partition>\d{1,9})(?P<separator>\D.{0,8}?)Offset:(?P<offset>\d{1,18})(?P<rest>\D.*)",
    re.DOTALL,
)
_NULL = b"null"
_DIGITS = 18
"""Numbers of up to this many digits fit into 63 bits."""


def dump_tool(line: bytes) -> str | None:
    """Which of the two tools printed a line; None: neither."""
    if line.startswith(b"{"):
        event = _kcat(line, None)
        if event is None:
            return None
        return KCAT if b'"payload"' in line and event["topic"] else JSON_DUMP
    return CONSOLE if _LINE.fullmatch(line) else None


def parse_dump(
    line: str | bytes | None, lines: LineCounts, topic: str | None, at_ms: int
) -> dict[str, Any] | None:
    """The `record_data` event of one line, counted in `lines`; None: it is no such line, and not counted.

    `keyless` of the event tells that the key was not printed.

    Args:
        topic: that of the console consumer, which prints none.
        at_ms: the time of reading, which neither prints.
    """
    raw = line.encode(errors="replace") if isinstance(line, str) else line or b""
    if raw.startswith(b"{"):
        parsed = _kcat(raw, topic)
        if parsed is None:
            return None
        event = parsed
    elif _BEGIN.match(raw):
        event = _console(raw, topic)
    else:
        return None
    event |= {"name": "record_data", "timestamp": at_ms}
    if not has_fields(event, RECORD):
        count_damaged(lines)
        return None
    lines.events += 1
    return event


def _kcat(line: bytes, topic: str | None) -> dict[str, Any] | None:
    """The record of a line, as of kcat -J or of others that write JSON; None: it is none."""
    if b'"partition"' not in line or b'"offset"' not in line:
        return None
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError):
        return None
    value = next((name for name in _VALUES if name in parsed), None)
    if "name" in parsed or value is None or not {"partition", "offset"} <= parsed.keys():
        return None
    named = parsed.get("topic", parsed.get("topicName"))
    named = named.get("name") if isinstance(named, dict) else named
    return {
        "topic": named or topic,
        "partition": whole_number(parsed["partition"]),
        "offset": whole_number(parsed["offset"]),
        "key": _text(parsed.get("key")),
        "value": _text(parsed[value]),
        "keyless": "key" not in parsed,
    }


def whole_number(value: object) -> object:
    """A number that is written as text, as one; anything else unchanged."""
    plain = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _DIGITS
    return int(str(value)) if plain else value


def _text(value: object) -> object:
    """The text of a value that was printed as a number; anything else unchanged."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _console(line: bytes, topic: str | None) -> dict[str, Any]:
    """The event of a line; empty if it is incomplete, or its columns cannot be told apart."""
    match = _LINE.fullmatch(line)
    if match is None or not match["rest"].startswith(match["separator"]):
        return {}
    columns = match["rest"][len(match["separator"]) :].split(match["separator"])
    if columns[0].startswith(b"Delivery:"):
        del columns[0]
    if len(columns) > 1 and (columns[0] == b"NO_HEADERS" or b":" in columns[0]):
        del columns[0]
    if not 1 <= len(columns) <= 2:
        return {}
    key, value = [None, *(None if text == _NULL else text.decode(errors="replace") for text in columns)][-2:]
    return {
        "topic": topic,
        "partition": int(match["partition"]),
        "offset": int(match["offset"]),
        "key": key,
        "value": value,
        "keyless": len(columns) == 1,
    }
