"""Identities of a block as places in an array: (producer, seq) to 0, 1, 2, ... in that order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.facts.columns import Ints

_ROOM = 4
_LEAST_ROOM = 65_536
"""If more places than these per number would stay empty, the numbers are ranked instead."""
_EVEN_ROOM = 1.25
_LEAST_EVEN = 1_024
"""The same, if all values of a get as many places."""


@dataclass(frozen=True)
class _Even:
    """All numbers of a range of a have places for the same range of b, so a place is a sum and a product."""

    first: int
    last: int
    low: int
    high: int

    @classmethod
    def of(cls, a: Ints, b: Ints) -> _Even | None:
        """None: too many places would stay empty."""
        if not len(a):
            return None
        found = cls(int(a.min()), int(a.max()), int(b.min()), int(b.max()))
        return found if found.size <= _EVEN_ROOM * len(a) + _LEAST_EVEN else None

    @property
    def width(self) -> int:
        return self.high - self.low + 1

    @property
    def size(self) -> int:
        return (self.last - self.first + 1) * self.width

    def places(self, a: Ints, b: Ints) -> Ints:
        place = b - self.low
        if self.first != self.last:
            place += (a - self.first) * self.width
        # The extremes first: nearly always all are inside.
        if self.first <= a.min() and a.max() <= self.last and self.low <= b.min() and b.max() <= self.high:
            return place
        place[~((self.first <= a) & (a <= self.last) & (self.low <= b) & (b <= self.high))] = -1
        return place


class Places:
    """Places of the pairs (a, b) of the constructor's columns, ordered by a, then b.

    If b is nearly dense, as sequence numbers are, a place is computed by addition; else by binary search.
    """

    def __init__(self, a: Ints, b: Ints) -> None:
        self._even = _Even.of(a, b)
        if self._even is not None:
            self._many = np.arange(self._even.last - self._even.first + 1) + self._even.first
            self.size = self._even.size
            return
        self._many, inverse = ranked(a)
        groups = len(self._many)
        if groups == 1:
            low, high = np.array([b.min()]), np.array([b.max()])
        else:
            low = np.full(groups, np.iinfo(np.int64).max)
            high = np.full(groups, np.iinfo(np.int64).min)
            np.minimum.at(low, inverse, b)
            np.maximum.at(high, inverse, b)
        self._low, self._high = low, high
        widths = [int(top) - int(bottom) + 1 for bottom, top in zip(low.tolist(), high.tolist(), strict=True)]
        self._dense = sum(widths) <= _ROOM * len(a) + _LEAST_ROOM
        if self._dense:
            self._base = np.concatenate([[0], np.cumsum(widths)[:-1]]).astype(np.int64) if groups else low
            self.size = sum(widths)
            return
        self._seqs = np.unique(b)
        self._pairs = np.unique(inverse * len(self._seqs) + np.searchsorted(self._seqs, b))
        self.size = len(self._pairs)

    def of(self, a: Ints, b: Ints) -> Ints:
        """Place of each pair; -1 if it has none. If dense, some pairs that are not in the columns have
        one."""
        if not len(self._many) or not len(a):
            return np.full(len(a), -1, np.int64)
        if self._even is not None:
            return self._even.places(a, b)
        if len(self._many) == 1:
            inside = (a == self._many[0]) & (b >= self._low[0]) & (b <= self._high[0])
            rank: Ints | int = 0
        else:
            rank = _rank(self._many, a)
            inside = (self._many[rank] == a) & (b >= self._low[rank]) & (b <= self._high[rank])
        if self._dense:
            shift = self._base[rank] - self._low[rank]
            place = b + shift
            return place if inside.all() else np.where(inside, place, -1)
        at = np.minimum(np.searchsorted(self._seqs, b), len(self._seqs) - 1)
        inside &= self._seqs[at] == b
        pair = rank * len(self._seqs) + at
        place = np.minimum(np.searchsorted(self._pairs, pair), self.size - 1)
        return np.where(inside & (self._pairs[place] == pair), place, -1)

    def producers(self) -> Ints:
        """The values of a, ascending; some may not be in the columns."""
        return self._many

    def group(self, place: Ints) -> Ints:
        """Index into `producers` of each place."""
        if len(self._many) == 1:
            return np.zeros(len(place), np.int64)
        if self._even is not None:
            return place // self._even.width
        if self._dense:
            return np.searchsorted(self._base, place, "right") - 1
        return np.asarray(self._pairs[place] // len(self._seqs))


_SMALL = 65_536


def ranked(a: Ints) -> tuple[Ints, Ints]:
    """The distinct numbers of `a`, ascending, and the index of each number in them."""
    if not len(a):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    low, high = int(a.min()), int(a.max())
    if low == high:
        return np.array([low], np.int64), np.zeros(len(a), np.int64)
    if high - low < _SMALL:
        seen = np.zeros(high - low + 1, bool)
        seen[a - low] = True
        return np.flatnonzero(seen) + low, (np.cumsum(seen) - 1)[a - low]
    many, inverse = np.unique(a, return_inverse=True)
    return many, inverse


def rows_of_each(a: Ints) -> list[tuple[int, Ints]]:
    """The distinct numbers of `a`, ascending, with the rows of each, ascending."""
    many, code = ranked(a)
    if len(many) < 2:
        return [(one, np.arange(len(a))) for one in many.tolist()]
    # Sorting numbers of 16 bits takes a tenth of the time of sorting larger ones.
    order = np.argsort(code.astype(np.uint16) if len(many) <= _SMALL else code, kind="stable")
    return list(zip(many.tolist(), np.split(order, np.cumsum(np.bincount(code))[:-1]), strict=True))


def _rank(many: Ints, a: Ints) -> Ints:
    """Index in `many` of each number; of another number if it is not in `many`."""
    low, high = int(many[0]), int(many[-1])
    if high - low < _SMALL:
        table = np.zeros(high - low + 1, np.int64)
        table[many - low] = np.arange(len(many))
        return np.asarray(table[np.clip(a, low, high) - low])
    return np.minimum(np.searchsorted(many, a), len(many) - 1)
