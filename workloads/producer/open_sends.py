"""The sends of one producer that have no report yet, in arrays that seq indexes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

NO_KEY = -(2**63)
"""Stands in the arrays for a record without a key. A user's key of 8 bytes may be any other number."""
NO_TXN = -1
"""Stands for a record that was sent outside of any transaction."""

_ROW = np.dtype(
    [
        ("sent_ns", np.int64),
        ("key", np.int64),
        ("txn", np.int64),
        ("partition", np.int32),
        ("size", np.int32),
        ("step", np.int32),
        ("mark", np.int32),
        ("closed", np.bool_),
    ]
)


@dataclass(frozen=True, slots=True)
class SendBatch:
    """Sends of one producer with seq `first`, `first + 1`, ...; each array has one element per send.

    `key` holds `NO_KEY` where there is none. `txn` is the transaction they were all sent in.
    """

    producer: int
    first: int
    step: int
    size: int | npt.NDArray[np.int32]
    sent_ns: npt.NDArray[np.int64]
    partition: npt.NDArray[np.int32]
    key: npt.NDArray[np.int64]
    txn: int = NO_TXN


class OpenSends:
    """Sends from the oldest open one on; closed sends before it are dropped as the array grows."""

    def __init__(self) -> None:
        self._rows = np.zeros(4096, dtype=_ROW)
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
        rows = self._rows[self._end - self._base : self._end - self._base + count]
        rows["sent_ns"] = batch.sent_ns
        rows["key"] = batch.key
        rows["txn"] = batch.txn
        rows["partition"] = batch.partition
        rows["size"] = batch.size
        rows["step"] = batch.step
        rows["closed"] = False
        self._end += count

    def close(self, seq: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
        """Mark sends closed and return a copy of their rows, in the order of `seq`.

        Raises ValueError for a seq that is not open: never sent, or closed already.
        """
        place = seq - self._base
        if len(seq) and (place.min() < 0 or seq.max() >= self._end):
            raise ValueError(f"report for a send that is not open, among seq {seq.min()} to {seq.max()}")
        rows: npt.NDArray[np.void] = self._rows[place]
        # A seq that occurs twice in one call finds its mark overwritten; this is much faster than np.unique.
        order = np.arange(len(place), dtype=np.int32)
        self._rows["mark"][place] = order
        if rows["closed"].any() or (self._rows["mark"][place] != order).any():
            raise ValueError(f"a second report for a send, among seq {seq.min()} to {seq.max()}")
        self._rows["closed"][place] = True
        return rows

    def still_open(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.void]]:
        """(seq, rows) of the sends without a report, copied."""
        rows = self._rows[: self._end - self._base]
        place = np.flatnonzero(~rows["closed"])
        return place + self._base, rows[place]

    def _make_room(self, count: int) -> None:
        used = self._end - self._base
        if used + count <= len(self._rows):
            return
        closed = self._rows["closed"][:used]
        drop = used if closed.all() else int(np.argmin(closed))
        kept = self._rows[drop:used]
        if len(kept) + count > len(self._rows) // 2:
            grown = np.zeros(max(2 * len(self._rows), 2 * (len(kept) + count)), dtype=_ROW)
            grown[: len(kept)] = kept
            self._rows = grown
        else:
            self._rows[: len(kept)] = kept.copy()
        self._base += drop
