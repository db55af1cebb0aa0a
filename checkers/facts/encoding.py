"""Strings of a run as numbers, in SQL text: a topic and its partition are one bigint (a spot).

Text, since each operation on a `Column` is a call to Spark's JVM.
"""

from __future__ import annotations

from collections.abc import Sequence

from checkers.facts.columns import WIDTH


def literal(text: str) -> str:
    """A string as an SQL literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def encode(column: str, names: Sequence[str]) -> str:
    """Index of a string in `names` (int); null stays null, and an unknown name becomes null."""
    pairs = (f"{literal(name)}, {index}" for index, name in enumerate(names))
    return f"element_at(map({', '.join(pairs)}), {column})" if names else "cast(NULL AS int)"


def spot(topic: str, partition: str, topics: Sequence[str]) -> str:
    """Topic and partition as one bigint, so that they can be compared and shuffled as a number."""
    return f"cast({encode(topic, topics)} AS bigint) * {WIDTH} + {partition}"


def spot_number(topic: str, partition: int, topics: Sequence[str]) -> int:
    """`spot` of one topic and partition."""
    return topics.index(topic) * WIDTH + partition
