"""Lines of Kafka's VerifiableProducer and VerifiableConsumer (org.apache.kafka.tools), one JSON object
each.

A line that is no JSON object with a known `name` belongs to some log: it is counted and ignored. An object
that lacks a field, or is cut off, is damaged: the event that it recorded is no longer known.

The values are text, "NUMBER" or "PREFIX.NUMBER". The prefix is the producer (0 without one), the number is
its seq. Such a value contains neither a run nor a checksum: a record of another run, or one whose digits were
changed, cannot be distinguished from ours. Keys are text too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from crc32c import crc32c

from workloads.record.identity import OK, UNDECODABLE, Decoded

_TEXT = (str,)
_MAYBE_TEXT = (str, type(None))
_NUMBER = (int,)

_Fields = dict[str, tuple[type, ...]]
_TOPIC_PARTITION: _Fields = {"topic": _TEXT, "partition": _NUMBER}
_OF_BOTH: dict[str, _Fields] = {"startup_complete": {}, "shutdown_complete": {}, "shutdown_requested": {}}
PRODUCER: dict[str, _Fields] = {
    **_OF_BOTH,
    "producer_send_success": {**_TOPIC_PARTITION, "key": _MAYBE_TEXT, "value": _TEXT, "offset": _NUMBER},
    "producer_send_error": {"key": _MAYBE_TEXT, "value": _TEXT, "topic": _TEXT, "exception": _TEXT},
    "tool_data": {"sent": _NUMBER, "acked": _NUMBER},
}
CONSUMER: dict[str, _Fields] = {
    **_OF_BOTH,
    "record_data": {**_TOPIC_PARTITION, "key": _MAYBE_TEXT, "value": _MAYBE_TEXT, "offset": _NUMBER},
    "records_consumed": {"count": _NUMBER, "partitions": (list,)},
    "offsets_committed": {"offsets": (list,), "success": (bool,)},
    "partitions_assigned": {"partitions": (list,)},
    "partitions_revoked": {"partitions": (list,)},
}
"""By event: its required fields and their types. All events also have `timestamp` (ms)."""
_PARTS: dict[str, _Fields] = {
    "records_consumed": {**_TOPIC_PARTITION, "count": _NUMBER},
    "offsets_committed": {**_TOPIC_PARTITION, "offset": _NUMBER},
    "partitions_assigned": _TOPIC_PARTITION,
    "partitions_revoked": _TOPIC_PARTITION,
}
_LISTS = {"offsets_committed": "offsets"}
_MOST = {"partition": 2**31 - 1, "timestamp": 2**63 // 10**6 - 1}
_FORM = r"^(?:(?P<producer>0|[1-9][0-9]{0,8})\.)?(?P<seq>0|[1-9][0-9]{0,17})$"
_PLAIN_DIGITS = 18
"""Numbers of up to this many digits fit into 63 bits."""


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


def parse(line: str | bytes, known: dict[str, _Fields], lines: Lines) -> dict[str, Any] | None:
    """The event of one line (None: it contains none). Counts the line in `lines`; its text never raises.

    Args:
        known: `PRODUCER` or `CONSUMER`.
    """
    if line.lstrip()[:1] not in ("{", b"{"):
        lines.other += 1
        return None
    try:
        event: dict[str, Any] = json.loads(line)
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
    return event


def _damaged(lines: Lines) -> None:
    lines.damaged += 1
    if lines.first_damaged is None:
        lines.first_damaged = lines.seen


def _has(event: dict[str, Any], fields: _Fields) -> bool:
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
    """As `workloads.record.identity.decode`, for text values; every value that decodes counts as one of this
    run."""
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
