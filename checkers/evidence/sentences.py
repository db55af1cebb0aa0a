"""Sentences about findings, as columns: SQL's concat and CASE.

A text may name columns in braces: `{offset}`, or `{reader:a member}` with what replaces null. As in SQL, a
sentence of which a phrase is null is null; `if_null` replaces it.
"""

from __future__ import annotations

from string import Formatter

from pyspark.sql import Column
from pyspark.sql import functions as F

Phrase = Column | str
"""A column, which becomes a string, or a text."""


def say(*phrases: Phrase) -> Column:
    """The phrases one after the other."""
    return F.concat(*map(text, phrases))


def text(phrase: Phrase) -> Column:
    """A phrase as a column of strings, with the values of the columns that it names."""
    if not isinstance(phrase, str):
        return phrase.cast("string")
    pieces = [F.lit("")]
    for literal, name, replacement, _ in Formatter().parse(phrase):
        pieces.append(F.lit(literal))
        if name:
            value = F.col(name).cast("string")
            pieces.append(if_null(value, replacement) if replacement else value)
    return F.concat(*pieces)


def when(condition: Column, this: Phrase, that: Phrase) -> Column:
    """`this` where the condition holds, else (also where it is null) `that`."""
    return F.when(condition, text(this)).otherwise(text(that))


def if_null(phrase: Phrase, replacement: Phrase) -> Column:
    """The phrase, or the replacement where it is null."""
    return F.coalesce(text(phrase), text(replacement))
