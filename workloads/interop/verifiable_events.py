"""Lines of Kafka's VerifiableProducer and VerifiableConsumer (org.apache.kafka.tools), one JSON object
each.

A line that is no JSON object with a known `name` belongs to some log: it is counted and ignored. An object
that lacks a field, or is cut off, is damaged: the event that it recorded is no longer known.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

_TEXT = (str,)
_MAYBE_TEXT = (str, type(None))
_NUMBER = (int,)

PRODUCER: dict[str, dict[str, tuple[type, ...]]] = {
    "startup_complete": {},
    "shutdown_complete": {},
    "shutdown_requested": {},
    "producer_send_success": {
        "key": _MAYBE_TEXT,
        "value": _TEXT,
        "topic": _TEXT,
        "partition": _NUMBER,
        "offset": _NUMBER,
    },
    "producer_send_error": {"key": _MAYBE_TEXT, "value": _TEXT, "topic": _TEXT, "exception": _TEXT},
    "tool_data": {"sent": _NUMBER, "acked": _NUMBER},
}
CONSUMER: dict[str, dict[str, tuple[type, ...]]] = {
    "startup_complete": {},
    "shutdown_complete": {},
    "shutdown_requested": {},
    "record_data": {
        "key": _MAYBE_TEXT,
        "value": _MAYBE_TEXT,
        "topic": _TEXT,
        "partition": _NUMBER,
        "offset": _NUMBER,
    },
    "records_consumed": {"count": _NUMBER, "partitions": (list,)},
    "offsets_committed": {"offsets": (list,), "success": (bool,)},
    "partitions_assigned": {"partitions": (list,)},
    "partitions_revoked": {"partitions": (list,)},
}
"""By event: its required fields and their types. All events also have `timestamp` (ms)."""
_TOPIC_PARTITION: dict[str, tuple[type, ...]] = {"topic": _TEXT, "partition": _NUMBER}
_PARTS: dict[str, dict[str, tuple[type, ...]]] = {
    "records_consumed": {**_TOPIC_PARTITION, "count": _NUMBER},
    "offsets_committed": {**_TOPIC_PARTITION, "offset": _NUMBER},
    "partitions_assigned": _TOPIC_PARTITION,
    "partitions_revoked": _TOPIC_PARTITION,
}
_LISTS = {"offsets_committed": "offsets"}
_MOST_MS = 2**63 // 10**6 - 1
_MOST = {"partition": 2**31 - 1, "timestamp": _MOST_MS}


@dataclass(slots=True)
class Lines:
    """Counts of the lines of one file. `first_damaged` is the number of the first damaged line, from 1."""

    events: int = 0
    other: int = 0
    damaged: int = 0
    first_damaged: int | None = None

    @property
    def seen(self) -> int:
        return self.events + self.other + self.damaged


def parse(
    line: str | bytes, known: dict[str, dict[str, tuple[type, ...]]], lines: Lines
) -> dict[str, Any] | None:
    """The event of one line (None: it contains none). Counts the line in `lines`; its text never raises.

    Args:
        known: `PRODUCER` or `CONSUMER`.
    """
    if line.lstrip()[:1] not in ("{", b"{"):
        lines.other += 1
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        _damaged(lines)
        return None
    name = event.get("name")
    if not isinstance(name, str) or name not in known:
        lines.other += 1
        return None
    parts = event.get(_LISTS.get(name, "partitions"), []) if name in _PARTS else []
    whole = _has(event, known[name]) and _has(event, {"timestamp": _NUMBER})
    if not whole or not all(isinstance(part, dict) and _has(part, _PARTS[name]) for part in parts):
        _damaged(lines)
        return None
    lines.events += 1
    found: dict[str, Any] = event
    return found


def _damaged(lines: Lines) -> None:
    lines.damaged += 1
    if lines.first_damaged is None:
        lines.first_damaged = lines.seen


def _has(event: dict[str, Any], fields: dict[str, tuple[type, ...]]) -> bool:
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
