"""Strings of a run as numbers, in SQL: a topic and its partition are one bigint (a spot)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from checkers.facts.columns import WIDTH as _WIDTH


@dataclass(frozen=True)
class Codes:
    """Strings of a run that are replaced by their index: topic names, sorted."""

    topics: tuple[str, ...]


def encode(column: Column, names: Sequence[str]) -> Column:
    """Index of a string in `names` (int); null stays null, and an unknown name becomes null."""
    code = F.lit(None).cast("int")
    if names:
        pairs = [F.lit(item) for index, name in enumerate(names) for item in (name, index)]
        code = F.element_at(F.create_map(*pairs), column)
    return code


def decode(code: Column, names: Sequence[str]) -> Column:
    """The inverse of `encode`; a code outside `names` gives null."""
    if not names:
        return F.lit(None).cast("string")
    return F.get(F.array(*(F.lit(name) for name in names)), code)


def spot(topic: Column, partition: Column, codes: Codes) -> Column:
    """Topic and partition as one bigint, so that they can be compared and shuffled as a number."""
    return encode(topic, codes.topics).cast("bigint") * F.lit(_WIDTH) + partition


def spot_number(topic: str, partition: int, codes: Codes) -> int:
    """`spot` of one topic and partition."""
    return codes.topics.index(topic) * _WIDTH + partition


def partition_of(spot: Column) -> Column:
    """The partition number in a `spot`."""
    return (F.pmod(spot + F.lit(_WIDTH // 2), F.lit(_WIDTH)) - F.lit(_WIDTH // 2)).cast("int")


def name_of(spot: Column, codes: Codes) -> Column:
    """A `spot` as people write it: `topic-partition`."""
    topic = F.floor((spot + F.lit(_WIDTH // 2)) / F.lit(_WIDTH)).cast("int")
    return F.concat(decode(topic, codes.topics), F.lit("-"), partition_of(spot).cast("string"))
