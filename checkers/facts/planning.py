"""Which row groups are read together: blocks of records whose facts one task computes.

A block is a band: the same share of the sequence numbers of every producer. Producers write at the same time,
so rows that are close in a journal are in one band or two, even if it mixes the records of all producers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from checkers.facts.columns import Ints
from checkers.facts.places import ranked
from checkers.journals.footers import RowGroup

BLOCK_ROWS = 2**19
"""Number of sends in a block, or of reads of a journal if that is more. A task needs about 400 bytes for
each."""
LOCAL_BLOCK_ROWS = 2**18
"""The same in one process, whose tasks decode a row group once, however many blocks it belongs to."""
MOST_READS = 16
STRAY_ROWS = 2**21
REPLICAS = "replicas"
MOST_PRODUCERS = 100_000


@dataclass(frozen=True)
class Bands:
    """The least and the greatest seq sent of each producer (ascending), cut into `count` bands of `width`."""

    producer: Ints
    low: Ints
    high: Ints
    width: Ints
    count: int

    @classmethod
    def of(cls, producer: Ints, low: Ints, high: Ints, rows: int, block_rows: int) -> Bands:
        """Bands for `rows` sends in total. A producer may occur several times."""
        many, inverse = ranked(producer)
        lowest, highest = np.full(len(many), 2**63 - 1), np.full(len(many), -(2**63))
        np.minimum.at(lowest, inverse, low)
        np.maximum.at(highest, inverse, high)
        count = max(1, -(-rows // block_rows))
        # Plain integers: a range of all 64-bit numbers is wider than 64 bits.
        widths = [
            min(2**63 - 1, max(1, -(-(top - bottom + 1) // count)))
            for bottom, top in zip(lowest.tolist(), highest.tolist(), strict=True)
        ]
        return cls(many, lowest, highest, np.array(widths, np.int64), count)

    def band(self, number: int) -> tuple[Ints, Ints]:
        """The least and the greatest seq of each producer in a band; none where the least is greater."""
        low = [
            bottom + number * width
            for bottom, width in zip(self.low.tolist(), self.width.tolist(), strict=True)
        ]
        high = [
            top if number == self.count - 1 else min(top, start + width - 1)
            for start, width, top in zip(low, self.width.tolist(), self.high.tolist(), strict=True)
        ]
        # A band beyond the greatest number is empty.
        fits = [(start, end) if start <= end else (1, 0) for start, end in zip(low, high, strict=True)]
        return np.array([one[0] for one in fits], np.int64), np.array([one[1] for one in fits], np.int64)


@dataclass(frozen=True)
class JournalBlock:
    """What one task reads: row groups by journal ("sends", "opened", "final", "committed", "live",
    "replicas").

    Its records are those of a band, or, with `stray` (part, number of parts), those in no band: their
    producer or sequence number was never sent.
    """

    number: int
    groups: dict[str, tuple[RowGroup, ...]]
    stray: tuple[int, int] | None = None


@dataclass(frozen=True)
class ReadPlan:
    """Blocks of a run, and the number of bytes that they read per byte of the journals."""

    bands: Bands
    blocks: tuple[JournalBlock, ...]
    ratio: float


def plan(journals: dict[str, Sequence[RowGroup]], block_rows: int = BLOCK_ROWS) -> ReadPlan | None:
    """Plan the blocks of a run, with about `block_rows` rows of each journal in a block.

    Returns None if there are too many producers, or sends without an identity.
    """
    sent = [*journals["sends"], *journals["opened"]]
    producer: list[int] = []
    low: list[int] = []
    high: list[int] = []
    for group in sent:
        if group.bounds is None or group.bounds[1] - group.bounds[0] >= MOST_PRODUCERS:
            return None
        first, last, bottom, top = group.bounds
        producer += range(first, last + 1)
        low += [bottom] * (last + 1 - first)
        high += [top] * (last + 1 - first)
        if len(producer) > 10 * MOST_PRODUCERS:
            return None
    bands = Bands.of(
        np.array(producer, np.int64),
        np.array(low, np.int64),
        np.array(high, np.int64),
        rows=_weight(sum(group.rows for group in sent), _always_read(journals).values()),
        block_rows=block_rows,
    )
    if any(
        top - bottom >= 2**63 for bottom, top in zip(bands.low.tolist(), bands.high.tolist(), strict=True)
    ):
        return None
    parts: list[dict[str, list[RowGroup]]] = [{name: [] for name in journals} for _ in range(bands.count)]
    strays: dict[str, list[RowGroup]] = {name: [] for name in journals}
    there = read = 0
    for name, of_journal in journals.items():
        counts = name in _always_read(journals)
        for group in of_journal:
            there += group.size if counts else 0
            if group.bounds is None:
                continue
            touched, contained = _touched(bands, group.bounds)
            read += group.size * len(touched) if counts else 0
            for number in touched:
                parts[number][name].append(group)
            if counts and not contained:
                strays[name].append(group)
    blocks = [
        JournalBlock(number, {name: tuple(listed) for name, listed in part.items()})
        for number, part in enumerate(parts)
    ]
    stray_rows = sum(group.rows for listed in strays.values() for group in listed)
    several = -(-stray_rows // STRAY_ROWS)
    for number in range(several):
        read += sum(group.size for listed in strays.values() for group in listed)
        chosen = {name: tuple(listed) for name, listed in strays.items()}
        blocks.append(JournalBlock(bands.count + number, chosen, (number, several)))
    return ReadPlan(bands, tuple(blocks), read / there if there else 1.0)


def _always_read(journals: Mapping[str, Sequence[RowGroup]]) -> dict[str, Sequence[RowGroup]]:
    """The journals that every block reads; replicas' files are read only for lost records."""
    return {name: groups for name, groups in journals.items() if name != REPLICAS}


def _weight(sent: int, journals: Iterable[Sequence[RowGroup]]) -> int:
    """Number of sends, or of reads if that is more: a block holds fewer records if each was read many times.

    Limited by `MOST_READS`, because all reads may be of one record, which no band divides.
    """
    most = max(sum(group.rows for group in of) for of in journals)
    return max(sent, min(most, MOST_READS * sent))


def _touched(bands: Bands, bounds: tuple[int, int, int, int]) -> tuple[range, bool]:
    """Bands of which a row group with these bounds may hold records, and whether it holds records of no
    others."""
    first, last, bottom, top = bounds
    begin, end = np.searchsorted(bands.producer, first), np.searchsorted(bands.producer, last, "right")
    if begin == end:
        return range(0), False
    low, high, width = (column[begin:end] for column in (bands.low, bands.high, bands.width))
    contained = bool(end - begin == last - first + 1 and bottom >= low.max() and top <= high.min())
    meets = (bottom <= high) & (top >= low)
    if not meets.any():
        return range(0), contained
    low, high, width = low[meets], high[meets], width[meets]
    start = ((np.maximum(bottom, low) - low) // width).min()
    stop = ((np.minimum(top, high) - low) // width).max()
    return range(int(start), min(int(stop), bands.count - 1) + 1), contained
