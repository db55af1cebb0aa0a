"""Kafka's own names in a text that is not read, in any spelling: nobody is told that there are none."""

from __future__ import annotations

import re
from functools import cache

from harness.tools.audit.known_settings import every_name, known_settings

_WORD = re.compile(r"[A-Za-z][\w.\-]*[A-Za-z0-9]")
_VARIABLE = re.compile(r"^(?:.*__|(?:KAFKA|CONNECT)_(?:CFG_)?)", re.IGNORECASE)
_IN_EVERY_FILE = frozenset(
    ("client.id", "group.id", "node.id", "broker.id", "listeners", "partitions", "retries")
)
"""Names whose words other software has, too."""
_ALONE = ("acks",)
_LONGEST = 100_000
_MOST = 6


def kafka_names(text: str) -> tuple[str, ...]:
    """The first names in a text that Kafka's clients, topics or brokers have: also behind other names
    (`app.consumer.auto.offset.reset`), and in other spellings (`AutoOffsetReset`)."""
    names: dict[str, None] = {}
    for word in _WORD.findall(text[:_LONGEST]):
        if (name := inner_name(word) or _in_another_spelling(word)) is not None:
            names[name] = None
        if len(names) == _MOST:
            break
    return tuple(names)


def inner_name(name: str) -> str | None:
    """The name of Kafka that a dotted name is, or ends with; None: none."""
    rest = name
    while rest:
        if rest in every_name() and rest not in _IN_EVERY_FILE and ("." in rest or rest in _ALONE):
            return rest
        rest = rest.partition(".")[2]
    return None


def _in_another_spelling(word: str) -> str | None:
    last = _VARIABLE.sub("", word)
    several = re.search(r"[a-z][A-Z]|[A-Za-z][_-][A-Za-z]", last) or last.lower() in _ALONE
    return _by_letters().get(re.sub(r"[^a-z0-9]", "", last.lower())) if several else None


@cache
def _by_letters() -> dict[str, str]:
    return {
        re.sub(r"[^a-z0-9]", "", name): name
        for name in known_settings()
        if name not in _IN_EVERY_FILE and ("." in name or name in _ALONE)
    }
