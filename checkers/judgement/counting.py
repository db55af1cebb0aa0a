"""Counts rows by the values of several columns, as numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.facts.columns import NULL, Flags, Ints, integers
from checkers.facts.places import ranked
from checkers.findings.table import Labels


@dataclass(frozen=True)
class Coded:
    """A column: the number of each row's value in `values`, of which some may not occur."""

    codes: Ints
    values: Sequence[Any]

    @classmethod
    def of_labels(cls, labels: Labels) -> Coded:
        missing = labels.codes < 0
        if not missing.any():
            return cls(labels.codes, labels.names)
        return cls(np.where(missing, len(labels.names), labels.codes), [*labels.names, None])

    def where(self, chosen: Flags) -> Coded:
        return self if chosen.all() else Coded(self.codes[chosen], self.values)

    def among(self, values: Collection[Any]) -> Flags:
        """Which rows have one of these values."""
        return np.array([value in values for value in self.values] or [False], bool)[self.codes]


def coded(column: pa.ChunkedArray) -> Coded:
    """A column of integers, strings (or a dictionary of them) or lists of integers."""
    if column.null_count == len(column):
        return Coded(np.zeros(len(column), np.int64), [None])
    if pa.types.is_integer(column.type):
        many, codes = ranked(integers(column))
        return Coded(codes, [None if one == NULL else one for one in many.tolist()])
    whole = column.combine_chunks()
    if pa.types.is_list(column.type):
        texts = pc.binary_join(whole.cast(pa.list_(pa.string())), ",").dictionary_encode()
        kinds = [tuple(map(int, text.split(","))) if text else () for text in texts.dictionary.to_pylist()]
    else:
        texts = whole.dictionary_encode()
        kinds = texts.dictionary.to_pylist()
    if texts.null_count:
        return Coded(integers(pc.fill_null(texts.indices, len(kinds))), [*kinds, None])
    return Coded(integers(texts.indices), kinds)


def counted(columns: Sequence[Coded]) -> Counter[Any]:
    """The number of rows by the values of these columns.

    Most columns have few values and many only one, so this takes a fraction of the time of Arrow's grouping.
    """
    group, width = np.zeros(len(columns[0].codes), np.int64), 1
    keys: list[tuple[Any, ...]] = [()]
    since: list[Sequence[Any]] = []

    def key(number: int) -> tuple[Any, ...]:
        """The values that a number in `group` stands for."""
        found = []
        for values in reversed(since):
            number, code = divmod(number, len(values))
            found.append(values[code])
        return (*keys[number], *reversed(found))

    for column in columns:
        many = len(column.values)
        if width * many > _MOST_NUMBERS:
            kinds, group = ranked(group)
            keys, width = [key(number) for number in kinds.tolist()], len(kinds)
            since.clear()
        if many > 1:
            group = column.codes if width == 1 else group * many + column.codes
        width *= many
        since.append(column.values)
    numbers = None
    if width > _MOST_NUMBERS:
        numbers, group = ranked(group)
    counts = np.bincount(group)
    found: Counter[Any] = Counter()
    for place in np.flatnonzero(counts).tolist():
        # Two numbers may stand for one value.
        found[key(place if numbers is None else int(numbers[place]))] += int(counts[place])
    return found


_MOST_NUMBERS = 2**16
"""Most combinations of values that are numbered without a look at which of them occur."""


@dataclass(frozen=True)
class CodedTable:
    """The columns of a table, each coded when it is first asked for."""

    table: pa.Table
    _done: dict[str, Coded] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Coded:
        if name not in self._done:
            self._done[name] = coded(self.table.column(name))
        return self._done[name]
