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
    """A column of integers, strings or lists of integers."""
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
    group = np.zeros(len(columns[0].codes), np.int64)
    keys: list[tuple[Any, ...]] = [()]
    for column in columns:
        if len(column.values) == 1:
            keys = [(*key, column.values[0]) for key in keys]
            continue
        width = len(column.values)
        kinds, group = ranked(group * width + column.codes)
        keys = [(*keys[kind // width], column.values[kind % width]) for kind in kinds.tolist()]
    found: Counter[Any] = Counter()
    for key, count in zip(keys, np.bincount(group, minlength=len(keys)).tolist(), strict=True):
        # Two numbers may stand for one value.
        found[key] += count
    return found


@dataclass(frozen=True)
class CodedTable:
    """The columns of a table, each coded when it is first asked for."""

    table: pa.Table
    _done: dict[str, Coded] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Coded:
        if name not in self._done:
            self._done[name] = coded(self.table.column(name))
        return self._done[name]
