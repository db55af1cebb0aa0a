"""Enough of EDN to read a history back: maps, vectors, keywords, integers, strings, nil, true, false."""

from __future__ import annotations

import json
import re
from typing import Any

_TOKEN = re.compile(r'\s*(?:,\s*)*([\[\]{}]|"(?:[^"\\]|\\.)*"|:[a-zA-Z?!-]+|-?\d+|nil|true|false)')
_WORDS: dict[str, Any] = {"nil": None, "true": True, "false": False}


def read(text: str) -> Any:
    """The one value in `text`; keywords as strings with their colon."""
    tokens = []
    place = 0
    while match := _TOKEN.match(text, place):
        tokens.append(match[1])
        place = match.end()
    if text[place:].strip():
        raise ValueError(f"no EDN: {text[place : place + 20]!r}")
    value, rest = _value(tokens)
    if rest:
        raise ValueError(f"more than one value: {rest}")
    return value


def _value(tokens: list[str]) -> tuple[Any, list[str]]:
    head, rest = tokens[0], tokens[1:]
    if head in "[{":
        items: list[Any] = []
        while rest[0] not in "]}":
            item, rest = _value(rest)
            items.append(item)
        if rest[0] != {"[": "]", "{": "}"}[head]:
            raise ValueError(f"{head} is closed by {rest[0]}")
        if head == "[":
            return items, rest[1:]
        pairs = dict(zip(items[::2], items[1::2], strict=True))
        if len(pairs) * 2 != len(items):
            raise ValueError("a key stands twice in a map")
        return pairs, rest[1:]
    if head in _WORDS:
        return _WORDS[head], rest
    if head[0] == '"':
        return json.loads(head), rest
    return (head if head[0] == ":" else int(head)), rest
