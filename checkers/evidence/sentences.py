"""Sentences about findings, as columns: SQL's concat and CASE.

As in SQL, a sentence of which a part is null is null; `otherwise` replaces what is null.
"""

from __future__ import annotations

from string import Formatter

from pyspark.sql import Column
from pyspark.sql import functions as F

Part = Column | str
"""A column, which becomes a string, or the same text in all rows."""


def say(*parts: Part) -> Column:
    """The parts one after the other."""
    return F.concat(*map(text, parts))


def text(part: Part) -> Column:
    """A part as a column of strings."""
    return F.lit(part) if isinstance(part, str) else part.cast("string")


def when(condition: Column, this: Part, that: Part) -> Column:
    """`this` where the condition holds, else (also where it is null) `that`."""
    return F.when(condition, text(this)).otherwise(text(that))


def otherwise(part: Column, replacement: Part) -> Column:
    """The part, or the replacement where it is null."""
    return F.coalesce(text(part), text(replacement))


def fill(template: str) -> Column:
    """The template with the values of columns: `{offset}`, or `{reader:a member}` with what replaces null."""
    parts: list[Part] = []
    for literal, name, replacement, _ in Formatter().parse(template):
        parts.append(literal)
        if name:
            parts.append(otherwise(F.col(name), replacement) if replacement else F.col(name))
    return say(*parts)
