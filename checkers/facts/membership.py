"""Which rows of journals belong to a block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.facts.columns import Flags, Ints
from checkers.facts.planning import Bands, JournalBlock
from checkers.facts.reading import Wanted


def belonging(bands: Bands, block: JournalBlock) -> Wanted:
    """Selects the rows of the block's own band; for stray records, its part of the rows of no band."""
    if block.stray is None:
        return _Inside(bands.producer, *bands.band(block.number))
    inside = _Inside(bands.producer, bands.low, bands.high)
    which, several = block.stray

    def outside(producer: Ints, seq: Ints) -> Flags:
        return np.asarray(~inside(producer, seq) & ((producer ^ seq ^ (seq >> 20)) % several == which))

    return outside


@dataclass(frozen=True)
class _Inside:
    """Selects rows by the least and the greatest seq of each producer (ascending)."""

    producer: Ints
    low: Ints
    high: Ints

    def __call__(self, producer: Ints, seq: Ints) -> Flags:
        many = self.producer
        if not len(many) or not len(producer):
            return np.zeros(len(producer), bool)
        least, most = int(producer.min()), int(producer.max())
        first, last = (int(at) for at in np.searchsorted(many, [least, most]))
        if least == most:
            if first == len(many) or many[first] != least:
                return np.zeros(len(producer), bool)
            return np.asarray((seq >= self.low[first]) & (seq <= self.high[first]))
        ends = last < len(many) and (many[first], many[last]) == (least, most)
        if ends and last - first == most - least:
            # Producers without a gap; nearly always all their rows, or all but those at an end, are inside.
            low, high = self.low[first : last + 1], self.high[first : last + 1]
            if seq.min() >= low.max() and seq.max() <= high.min():
                return np.ones(len(producer), bool)
            if low.min() == low.max() and high.min() == high.max():
                return np.asarray((seq >= low[0]) & (seq <= high[0]))
            at = producer - least
            return np.asarray((seq >= low[at]) & (seq <= high[at]))
        at = np.minimum(np.searchsorted(many, producer), len(many) - 1)
        return np.asarray((many[at] == producer) & (seq >= self.low[at]) & (seq <= self.high[at]))
