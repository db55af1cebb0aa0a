"""Which offsets a read holds, as ranges: a log is dense, so a few numbers stand for millions of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from checkers.facts.columns import NULL, Flags, Ints
from checkers.facts.places import ranked, rows_of_each


@dataclass(frozen=True)
class Ranges:
    """Offsets of one spot: ranges from `start` to `end`, both included, ascending, none touching the next."""

    start: Ints
    end: Ints

    @classmethod
    def of(cls, offsets: Ints) -> Ranges:
        """The ranges of offsets in any order, with repetitions."""
        if len(offsets) > 1 and not (offsets[1:] > offsets[:-1]).all():
            offsets = np.unique(offsets)
        new = np.ones(len(offsets), bool)
        new[1:] = offsets[1:] - 1 != offsets[:-1]
        return cls(offsets[new], offsets[np.append(new[1:], True)] if len(offsets) else offsets)

    def merged(self) -> Ranges:
        """The same offsets, from ranges in any order that may overlap."""
        if not len(self.start):
            return self
        order = np.argsort(self.start, kind="stable")
        start, end = self.start[order], np.maximum.accumulate(self.end[order])
        # Not end + 1, which would overflow for the greatest offset.
        new = np.concatenate([[True], (start[1:] > end[:-1]) & (start[1:] - 1 > end[:-1])])
        last = np.concatenate([new[1:], [True]])
        return Ranges(start[new], end[last])

    def holds(self, offsets: Ints) -> Flags:
        """Which of these offsets are in the ranges."""
        if not len(self.start):
            return np.zeros(len(offsets), bool)
        at = np.searchsorted(self.start, offsets, "right") - 1
        return np.asarray((at >= 0) & (offsets <= self.end[at]))

    def between(self, low: int, high: int) -> Ranges:
        """The part in [low, high]."""
        first = int(np.searchsorted(self.end, low))
        last = int(np.searchsorted(self.start, high, "right"))
        if first >= last:
            return NOTHING
        return Ranges(np.maximum(self.start[first:last], low), np.minimum(self.end[first:last], high))

    def without(self, other: Ranges) -> Ranges:
        """The part that is not in `other`."""
        if not len(self.start) or not len(other.start):
            return self
        starts, ends = [], []
        for low, high in zip(self.start.tolist(), self.end.tolist(), strict=True):
            inner = other.between(low, high)
            # From the end of each range of `other` to the start of the next.
            left = np.concatenate([[low], np.minimum(inner.end, high - 1) + 1])
            right = np.concatenate([np.maximum(inner.start, low + 1) - 1, [high]])
            keep = left <= right
            if len(inner.start):
                keep[0] &= int(inner.start[0]) != low
                keep[-1] &= int(inner.end[-1]) != high
            starts.append(left[keep])
            ends.append(right[keep])
        return Ranges(np.concatenate(starts), np.concatenate(ends))


NOTHING = Ranges(np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True)
class OffsetIndex:
    """What a read holds, by spot.

    `readable`: offsets of records whose identity can be trusted; `bad`: offsets of values that do not decode
    or whose CRC does not match; `epochs`: where each leader epoch begins (`start` the offset, `end` the
    epoch).
    """

    readable: Mapping[int, Ranges]
    bad: Mapping[int, Ranges]
    epochs: Mapping[int, Ranges]

    def has(self, kind: Mapping[int, Ranges], spot: Ints, offset: Ints) -> Flags:
        """Which of these places are in `kind`, which is `readable` or `bad`."""
        found = np.zeros(len(spot), bool)
        for here, rows in rows_of_each(spot) if kind else ():
            if here in kind:
                found[rows] = kind[here].holds(offset[rows])
        return found

    def epoch(self, spot: Ints, offset: Ints) -> Ints:
        """Leader epoch in which the record at each place was written; NULL: not known."""
        found = np.full(len(spot), NULL, np.int64)
        for here, rows in rows_of_each(spot):
            steps = self.epochs.get(here)
            if steps is not None and len(steps.start):
                at = np.searchsorted(steps.start, offset[rows], "right") - 1
                found[rows] = np.where(at >= 0, steps.end[at], NULL)
        return found


def index_offsets(spot: Ints, offset: Ints, readable: Flags, epoch: Ints) -> OffsetIndex:
    """Index of these rows of a read."""
    kinds: tuple[dict[int, Ranges], dict[int, Ranges], dict[int, Ranges]] = ({}, {}, {})
    for here in ranked(spot)[0].tolist():
        alone = spot[0] == here and (spot == here).all()
        chosen = slice(None) if alone else np.flatnonzero(spot == here)
        at, good, era = offset[chosen], readable[chosen], epoch[chosen]
        if good.all():
            kinds[0][here] = Ranges.of(at)
        else:
            if good.any():
                kinds[0][here] = Ranges.of(at[good])
            kinds[1][here] = Ranges.of(at[~good])
        known = era != NULL
        if known.any():
            kinds[2][here] = _steps(at[known], era[known])
    return OffsetIndex(*kinds)


def _steps(offset: Ints, epoch: Ints) -> Ranges:
    """The lowest offset of each epoch, in the order of offsets."""
    many, inverse = ranked(epoch)
    low = np.full(len(many), np.iinfo(np.int64).max)
    np.minimum.at(low, inverse, offset)
    order = np.lexsort((many, low))
    return Ranges(low[order], many[order])


def merge_indexes(parts: Iterable[OffsetIndex]) -> OffsetIndex:
    """One index of everything in the parts."""
    collected: tuple[dict[int, list[Ranges]], ...] = ({}, {}, {})
    for part in parts:
        for kind, mapping in zip(collected, (part.readable, part.bad, part.epochs), strict=True):
            for here, ranges in mapping.items():
                kind.setdefault(here, []).append(ranges)
    readable, bad = (
        {here: _all(several).merged() for here, several in kind.items()} for kind in collected[:2]
    )
    epochs = {
        here: _steps(every.start, every.end)
        for here, several in collected[2].items()
        for every in [_all(several)]
    }
    return OffsetIndex(readable, bad, epochs)


def _all(several: list[Ranges]) -> Ranges:
    return Ranges(
        np.concatenate([one.start for one in several]), np.concatenate([one.end for one in several])
    )


def index_to_bytes(index: OffsetIndex) -> bytes:
    """The index as bytes, to send it to another process."""
    flat = [
        np.stack(
            [np.full(len(ranges.start), kind), np.full(len(ranges.start), here), ranges.start, ranges.end]
        )
        for kind, mapping in enumerate((index.readable, index.bad, index.epochs))
        for here, ranges in mapping.items()
    ]
    return (np.concatenate(flat, axis=1) if flat else np.empty((4, 0), np.int64)).astype("<i8").tobytes()


def index_from_bytes(data: bytes) -> OffsetIndex:
    """What `packed` gave."""
    kind, spot, start, end = np.frombuffer(data, "<i8").reshape(4, -1)
    kinds: tuple[dict[int, Ranges], dict[int, Ranges], dict[int, Ranges]] = ({}, {}, {})
    if len(kind):
        new = np.flatnonzero(np.diff(kind) | np.diff(spot)) + 1
        for rows in np.split(np.arange(len(kind)), new):
            kinds[int(kind[rows[0]])][int(spot[rows[0]])] = Ranges(start[rows], end[rows])
    return OffsetIndex(*kinds)
