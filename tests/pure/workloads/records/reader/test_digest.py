"""Digest of a partition: gaps, order of blocks, and what may not happen."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workloads.records.reader import digest as module
from workloads.records.reader.digest import DigestBuilder, PartitionDigest
from workloads.records.record.identity import ValueBuilder, decode

pytestmark = pytest.mark.pure

BUILD = ValueBuilder(1, 0, 40, 1)


def digest(start: int, end: int, *blocks: list[int]) -> PartitionDigest:
    builder = DigestBuilder(start, end)
    for block in blocks:
        builder.add(np.array(block, dtype=np.int64), decode([BUILD(offset) for offset in block], 1))
    return builder.done()


def test_gaps_at_both_ends_and_between() -> None:
    made = digest(10, 20, [11, 12], [15, 17])
    assert made.gaps == ((10, 11), (13, 15), (16, 17), (18, 20))
    assert (made.records, made.gap_count) == (4, 4)


@settings(deadline=None)
@given(st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)))
def test_how_it_was_cut_into_blocks_does_not_matter(offsets: set[int], cuts: set[int]) -> None:
    whole = sorted(offsets)
    edges = [0, *sorted(cuts), 61]
    blocks = [[one for one in whole if low <= one < high] for low, high in pairwise(edges)]
    made = digest(0, 61, *blocks)
    assert made == digest(0, 61, whole)
    missing = [one for low, high in made.gaps for one in range(low, high)]
    assert missing == sorted(set(range(61)) - offsets)


def test_only_so_many_gaps_are_kept_but_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_GAPS", 3)
    made = digest(0, 20, list(range(0, 20, 2)))
    assert (len(made.gaps), made.gap_count) == (3, 10)


@pytest.mark.parametrize("block", [[3, 2], [2, 2], [4, 10]])
def test_offsets_that_do_not_ascend_within_the_range_are_refused(block: list[int]) -> None:
    with pytest.raises(ValueError, match="ascend"):
        digest(0, 10, block)
