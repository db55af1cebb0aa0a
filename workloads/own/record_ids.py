"""The id that a record of the user's has of its own, found where `IdSpec` says, and its key as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from workloads.records.config.id_spec import IdSpec

LONGEST_ID = 1_000
"""Characters of an id, and of a key as text; a longer one is cut off."""
_JOIN = "/"


def id_of(
    spec: IdSpec, key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, Any]] | None
) -> str | None:
    """The id of a record; None: it has none there."""
    found: str | None = None
    if spec.json_field is not None:
        found = _in_json(spec.fields, value)
    elif spec.header is not None:
        found = next((_text(content) for name, content in headers or () if name == spec.header), None)
    elif spec.bytes_of_value is not None:
        first = spec.bytes_of_value.offset
        part = (value or b"")[first : first + spec.bytes_of_value.length]
        found = part.hex() if len(part) == spec.bytes_of_value.length else None
    else:
        found = _text(key)
    # Half a surrogate pair, which JSON may hold, can be written into no journal.
    return found.encode("utf-8", "backslashreplace").decode()[:LONGEST_ID] if found else None


def key_text(key: bytes | None) -> str | None:
    """A key as people read it: its text, or the hexadecimal digits of bytes that are none; None: there is no
    key, or an empty one."""
    if not key:
        return None
    try:
        text = key.decode()
    except UnicodeDecodeError:
        text = ""
    return (text if text.isprintable() and text else f"0x{key.hex()}")[:LONGEST_ID]


def _in_json(fields: tuple[str, ...], value: bytes | None) -> str | None:
    try:
        # A number keeps the digits that it has in the value.
        parsed = json.loads(value or b"", parse_float=str)
    except (ValueError, RecursionError):
        return None
    parts = [_field(parsed, field.split(".")) for field in fields]
    return None if None in parts else _JOIN.join(filter(None, parts))


def _field(parsed: Any, path: list[str]) -> str | None:
    for name in path:
        if not isinstance(parsed, Mapping) or name not in parsed:
            return None
        parsed = parsed[name]
    if isinstance(parsed, bool):
        return str(parsed).lower()
    return str(parsed) if isinstance(parsed, int | str) and parsed != "" else None


def _text(content: Any) -> str | None:
    """Text as UTF-8; bytes that are none are written as escapes, so that two ids stay two."""
    if isinstance(content, bytes):
        return content.decode("utf-8", "backslashreplace")
    return content if isinstance(content, str) else None
