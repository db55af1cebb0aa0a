"""Sentences about findings, as columns: SQL's concat and CASE.

A text may name columns in braces: `{offset}`, or `{reader:a member}` with what replaces null. As in SQL, a
sentence of which a part is null is null; `if_null` replaces it.
"""

from __future__ import annotations

from string import Formatter

from pyspark.sql import Column
from pyspark.sql import functions as F

Part = Column | str
"""A column, which becomes a string, or a text."""


def say(*parts: Part) -> Column:
    """The parts one after the other."""
    return F.concat(*map(text, parts))


def text(part: Part) -> Column:
    """A part as a column of strings, with the values of the columns that it names."""
    if not isinstance(part, str):
        return part.cast("string")
    pieces = [F.lit("")]
    for literal, name, replacement, _ in Formatter().parse(part):
        pieces.append(F.lit(literal))
        if name:
            value = F.col(name).cast("string")
            pieces.append(if_null(value, replacement) if replacement else value)
    return F.concat(*pieces)


def when(condition: Column, this: Part, that: Part) -> Column:
    """`this` where the condition holds, else (also where it is null) `that`."""
    return F.when(condition, text(this)).otherwise(text(that))


def if_null(part: Part, replacement: Part) -> Column:
    """The part, or the replacement where it is null."""
    return F.coalesce(text(part), text(replacement))
