"""Columns of numbers: from Arrow to numpy and back. NULL stands for a null in every column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from harness.model.journal import ReadState, SendOutcome, TxnOutcome

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NULL = int(np.iinfo(np.int64).min)
"""Stands for a null. Of the columns here only a key could have this value; it then counts as no key."""
MOST = int(np.iinfo(np.int64).max)

OUTCOMES = tuple(outcome.value for outcome in SendOutcome)
ACKED, UNCONFIRMED, REJECTED, INDETERMINATE = (
    OUTCOMES.index(word)
    for word in (SendOutcome.ACKED, SendOutcome.UNCONFIRMED, SendOutcome.REJECTED, SendOutcome.INDETERMINATE)
)
TXN_OUTCOMES = tuple(outcome.value for outcome in TxnOutcome)
COMMITTED, ABORTED = (TXN_OUTCOMES.index(word) for word in (TxnOutcome.COMMITTED, TxnOutcome.ABORTED))
READABLE = (ReadState.OK.value, ReadState.FOREIGN.value)
"""States of values whose identity can be trusted."""
OTHER = -1
"""Code of a word that is unknown to this version."""

WIDTH = 2**32
"""Partition numbers have 32 bits: topic index * WIDTH + partition is one number per pair, called a *spot*."""


@dataclass(frozen=True)
class ColumnBatch:
    """Columns of one length, by name."""

    columns: dict[str, Ints]

    def __getitem__(self, name: str) -> Ints:
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def where(self, chosen: npt.NDArray[Any]) -> ColumnBatch:
        """Rows of a mask, or at these indices."""
        return ColumnBatch({name: column[chosen] for name, column in self.columns.items()})

    @classmethod
    def empty(cls, names: Iterable[str]) -> ColumnBatch:
        return cls({name: np.empty(0, np.int64) for name in names})

    @classmethod
    def joined(
        cls, parts: Sequence[ColumnBatch], names: Iterable[str], *, given_up: bool = False
    ) -> ColumnBatch:
        """All rows of all parts, which must have these columns; parts that are given up lose each column as
        soon as it is joined, which halves the memory that it takes."""
        if len(parts) == 1:
            return parts[0]
        columns = {}
        for name in names:
            columns[name] = np.concatenate([part[name] for part in parts] or [np.empty(0, np.int64)])
            if given_up:
                for part in parts:
                    del part.columns[name]
        return cls(columns)


def integers(column: Any) -> Ints:
    """An Arrow column of integers or booleans as int64, nulls as NULL."""
    column = _whole(column)
    if column.null_count == len(column):
        return np.full(len(column), NULL, np.int64)
    if column.null_count:
        column = pc.fill_null(column.cast(pa.int64()), NULL)
    return _values(column).astype(np.int64, copy=False)


def _whole(column: Any) -> Any:
    """The one array of a column, which is copied only if it comes in several."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def flags(column: Any) -> Flags:
    """An Arrow column of booleans without nulls."""
    return integers(column).astype(bool)


def _values(column: Any) -> npt.NDArray[Any]:
    """The numbers of a column without nulls. `Array.to_numpy` would import pandas, which takes longer than
    the check of a small run."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    kind = np.dtype(column.type.to_pandas_dtype())
    return np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column)]


def words(column: Any) -> tuple[npt.NDArray[np.int32], list[str]]:
    """An Arrow column of strings as indices into its different words; nulls are -1."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    if isinstance(column, pa.ChunkedArray) and column.num_chunks != 1:
        column = column.unify_dictionaries()
    column = _whole(column)
    indices = column.indices
    if indices.null_count:
        indices = pc.fill_null(indices.cast(pa.int32()), -1)
    found = _values(indices).astype(np.int32, copy=False) if len(indices) else np.empty(0, np.int32)
    return found, [str(word) for word in column.dictionary.to_pylist()]


def codes(column: Any, known: Mapping[str, int]) -> Ints:
    """An Arrow column of strings as the numbers that they have in `known` (else OTHER); nulls are NULL."""
    indices, found = words(column)
    numbers = np.array([known.get(word, OTHER) for word in found] + [NULL], np.int64)
    return np.asarray(numbers[indices])


def spots(topic: Any, partition: Any, topics: Mapping[str, int]) -> Ints:
    """Topic and partition as one number."""
    return np.asarray(codes(topic, topics) * WIDTH + integers(partition))


def partitions(spot: Ints) -> Ints:
    """The partition numbers in spots."""
    half = WIDTH // 2
    # The remainder of a power of two, which as a division takes ten times as long.
    return np.asarray(((spot + half) & (WIDTH - 1)) - half)


class Words:
    """Different strings of a column, numbered from 0 in the order in which they first occur."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}

    def code(self, column: Any) -> Ints:
        """An Arrow column of strings as their numbers here; nulls are NULL."""
        indices, found = words(column)
        for word in found:
            if word not in self._numbers:
                self._numbers[word] = len(self.names)
                self.names.append(word)
        return np.asarray(np.array([self._numbers[word] for word in found] + [NULL], np.int64)[indices])

    def array(self, codes: Ints) -> pa.Array:
        """The strings of these numbers."""
        names = pa.array(self.names, pa.string())
        missing = codes == NULL
        return names.take(pa.array(np.where(missing, 0, codes), mask=missing))


def nullable(column: npt.NDArray[Any], kind: pa.DataType) -> pa.Array:
    """An Arrow column; NULL becomes null."""
    missing = column == NULL
    if not missing.any():
        return pa.array(column).cast(kind)
    if missing.all():
        return pa.nulls(len(column), kind)
    return pa.array(np.where(missing, 0, column), mask=missing).cast(kind)
