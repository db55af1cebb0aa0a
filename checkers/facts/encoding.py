"""Strings of a run as numbers, in SQL text: a topic and its partition are one bigint (a spot).

Text, since each operation on a `Column` is a call to Spark's JVM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checkers.facts.columns import WIDTH


@dataclass(frozen=True)
class Codes:
    """Strings of a run that are replaced by their index: topic names, sorted."""

    topics: tuple[str, ...]


def literal(text: str) -> str:
    """A string as an SQL literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def encode(column: str, names: Sequence[str]) -> str:
    """Index of a string in `names` (int); null stays null, and an unknown name becomes null."""
    pairs = (f"{literal(name)}, {index}" for index, name in enumerate(names))
    return f"element_at(map({', '.join(pairs)}), {column})" if names else "cast(NULL AS int)"


def decode(code: str, names: Sequence[str]) -> str:
    """The inverse of `encode`; a code outside `names` gives null."""
    return f"get(array({', '.join(map(literal, names))}), {code})" if names else "cast(NULL AS string)"


def spot(topic: str, partition: str, codes: Codes) -> str:
    """Topic and partition as one bigint, so that they can be compared and shuffled as a number."""
    return f"cast({encode(topic, codes.topics)} AS bigint) * {WIDTH} + {partition}"


def spot_number(topic: str, partition: int, codes: Codes) -> int:
    """`spot` of one topic and partition."""
    return codes.topics.index(topic) * WIDTH + partition


def partition_of(spot: str) -> str:
    """The partition number in a `spot`."""
    return f"cast(pmod({spot} + {WIDTH // 2}, {WIDTH}) - {WIDTH // 2} AS int)"


def name_of(spot: str, codes: Codes) -> str:
    """A `spot` as people write it: `topic-partition`."""
    topic = f"cast(floor(({spot} + {WIDTH // 2}) / {WIDTH}) AS int)"
    return f"concat({decode(topic, codes.topics)}, '-', {partition_of(spot)})"
