"""The sends of one producer that have no report yet, in arrays that seq indexes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

NO_KEY = -(2**63)
"""Stands in the arrays for a record without a key. A user's key of 8 bytes may be any other number."""
NO_TXN = -1
"""Stands for a record that was sent outside of any transaction."""

SendColumns = dict[str, npt.NDArray[Any]]
"""What is known of sends, a column each by its name in `_TYPES`, all of one length."""

_TYPES: dict[str, type[np.generic]] = {
    "sent_ns": np.int64,
    "key": np.int64,
    "txn": np.int64,
    "partition": np.int32,
    "size": np.int32,
    "step": np.int32,
}


@dataclass(frozen=True, slots=True)
class SendBatch:
    """Sends of one producer with seq `first`, `first + 1`, ...; each array has one element per send, and a
    single number applies to all of them.

    `key` holds `NO_KEY` where there is none, and `txn` `NO_TXN` outside of a transaction.
    """

    producer: int
    first: int
    step: int | npt.NDArray[np.int32]
    size: int | npt.NDArray[np.int32]
    sent_ns: npt.NDArray[np.int64]
    partition: npt.NDArray[np.int32]
    key: npt.NDArray[np.int64]
    txn: int | npt.NDArray[np.int64] = NO_TXN


class OpenSends:
    """Sends from the oldest open one on; closed sends before it are dropped as the array grows."""

    def __init__(self) -> None:
        self._columns: SendColumns = {name: np.zeros(4096, kind) for name, kind in _TYPES.items()}
        self._closed = np.zeros(4096, np.bool_)
        self._mark = np.zeros(4096, np.int32)
        self._base = 0
        self._end = 0

    def add(self, batch: SendBatch) -> None:
        """Raises ValueError when seq is not dense."""
        if batch.first != self._end:
            raise ValueError(
                f"producer {batch.producer}: seq must be dense, expected {self._end}, got {batch.first}"
            )
        count = len(batch.sent_ns)
        self._make_room(count)
        slots = slice(self._end - self._base, self._end - self._base + count)
        for name, column in self._columns.items():
            column[slots] = getattr(batch, name)
        self._closed[slots] = False
        self._end += count

    def close(self, seq: npt.NDArray[np.int64]) -> SendColumns:
        """Mark sends closed and return a copy of their columns, in the order of `seq`.

        Raises ValueError for a seq that is not open: never sent, or closed already.
        """
        slots = seq - self._base
        if len(seq) and (slots.min() < 0 or seq.max() >= self._end):
            raise ValueError(f"report for a send that is not open, among seq {seq.min()} to {seq.max()}")
        # A seq that occurs twice in one call finds its mark overwritten; this is much faster than np.unique.
        order = np.arange(len(slots), dtype=np.int32)
        self._mark[slots] = order
        if self._closed[slots].any() or (self._mark[slots] != order).any():
            raise ValueError(f"a second report for a send, among seq {seq.min()} to {seq.max()}")
        self._closed[slots] = True
        return self._at(slots)

    def still_open(self) -> tuple[npt.NDArray[np.int64], SendColumns]:
        """(seq, columns) of the sends without a report, copied."""
        slots = np.flatnonzero(~self._closed[: self._end - self._base])
        return slots + self._base, self._at(slots)

    def _at(self, slots: npt.NDArray[np.int64]) -> SendColumns:
        return {name: column[slots] for name, column in self._columns.items()}

    def _make_room(self, count: int) -> None:
        used = self._end - self._base
        size = len(self._closed)
        if used + count <= size:
            return
        closed = self._closed[:used]
        drop = used if closed.all() else int(np.argmin(closed))
        kept = used - drop
        if kept + count > size // 2:
            size = max(2 * size, 2 * (kept + count))

        def moved(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
            grown = np.zeros(size, column.dtype)
            grown[:kept] = column[drop:used]
            return grown

        self._columns = {name: moved(column) for name, column in self._columns.items()}
        self._closed = moved(self._closed)
        self._mark = np.zeros(size, np.int32)
        self._base += drop
