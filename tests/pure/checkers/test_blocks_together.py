"""What the blocks of one process share: places of identities, rows of bands, decoded row groups, memory."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.facts.columns import ColumnBatch, Flags
from checkers.facts.decoded import DecodedGroups
from checkers.facts.membership import belonging
from checkers.facts.places import Places
from checkers.facts.planning import Bands, JournalBlock, ReadPlan
from checkers.heap import kept_heap
from checkers.journals.footers import RowGroup

pytestmark = pytest.mark.pure

FAR = st.sampled_from((-(2**63), 2**63 - 1, -(2**40), 2**40))
pairs = st.tuples(st.integers(-2, 4) | FAR, st.integers(-3, 30) | FAR)
near = st.tuples(st.integers(0, 3), st.integers(0, 12))


def columns(rows: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.array([row[at] for row in rows], np.int64) for at in (0, 1))  # type: ignore[return-value]


@settings(max_examples=300, deadline=None)
@given(
    rows=st.lists(pairs, max_size=40) | st.lists(near, min_size=1, max_size=60), asked=st.lists(pairs | near)
)
def test_places_are_in_the_order_of_pairs_and_others_have_none(
    rows: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    places = Places(*columns(rows))
    distinct = sorted(set(rows))
    own = places.of(*columns(distinct))
    assert (np.diff(own) > 0).all()
    assert ((own >= 0) & (own < places.size)).all()
    if distinct:
        assert places.producers()[places.group(own)].tolist() == [producer for producer, _ in distinct]
    # A pair that is not in the columns may have an empty place, but never that of another.
    found = places.of(*columns(asked)).tolist()
    taken = dict(zip(own.tolist(), distinct, strict=True))
    for pair, at in zip(asked, found, strict=True):
        assert at == -1 or (0 <= at < places.size and taken.get(at, pair) == pair)
        assert (at >= 0) >= (pair in distinct)


producers = st.dictionaries(
    st.integers(-2, 6) | FAR, st.tuples(st.integers(-5, 9), st.integers(0, 12)), max_size=5
)


@settings(max_examples=300, deadline=None)
@given(
    sent=producers, rows=st.lists(st.lists(pairs | near, max_size=12), max_size=4), size=st.integers(1, 20)
)
def test_every_row_belongs_to_exactly_one_block(
    sent: dict[int, tuple[int, int]], rows: list[list[tuple[int, int]]], size: int
) -> None:
    low = np.array([first for first, _ in sent.values()], np.int64)
    high = np.array([first + more for first, more in sent.values()], np.int64)
    bands = Bands.of(np.array(list(sent), np.int64), low, high, int((high - low + 1).sum()), size)
    blocks = [JournalBlock(number, {}) for number in range(bands.count)]
    strays = [JournalBlock(bands.count + number, {}, (number, 3)) for number in range(3)]
    for group in rows:
        producer, seq = columns(group)
        chosen: list[Flags] = [belonging(bands, block)(producer, seq) for block in (*blocks, *strays)]
        assert (np.sum(chosen, axis=0) == 1).all()
        for block, flags in zip(blocks, chosen, strict=False):
            bounds = {
                int(name): (int(first), int(last))
                for name, first, last in zip(bands.producer, *bands.band(block.number), strict=True)
            }
            expected = [name in bounds and bounds[name][0] <= at <= bounds[name][1] for name, at in group]
            assert flags.tolist() == expected


def group(number: int, rows: int = 10) -> RowGroup:
    return RowGroup("sends/part-0.parquet", number, rows, rows, None)


def plan_of(*groups_of_block: tuple[int, ...], stray: tuple[int, ...] = ()) -> ReadPlan:
    blocks = [
        JournalBlock(number, {"sends": tuple(map(group, numbers))})
        for number, numbers in enumerate((*groups_of_block, *([stray] if stray else [])))
    ]
    if stray:
        blocks[-1] = JournalBlock(len(blocks) - 1, blocks[-1].groups, (0, 1))
    nothing = np.zeros(1, np.int64)
    bands = Bands.of(nothing, nothing, nothing, rows=1, block_rows=1)
    return ReadPlan(bands, tuple(blocks), 1.0)


def decodings(plan: ReadPlan, decoded: DecodedGroups) -> Counter[int]:
    """How often each row group is decoded while all blocks read theirs."""
    count: Counter[int] = Counter()

    def decode(number: int) -> str:
        count[number] += 1
        return f"table {number}"

    for block in plan.blocks:
        for one in block.groups["sends"]:
            table = decoded.table(one, partial(decode, one.number))
            assert table == f"table {one.number}"
    return count


def test_a_row_group_of_two_blocks_is_decoded_once_if_there_is_room() -> None:
    plan = plan_of((0, 1), (1, 2, 3), (3, 4))
    assert decodings(plan, DecodedGroups(plan)) == {0: 1, 1: 1, 2: 1, 3: 1, 4: 1}
    # The room is given back after the last block, and is needed by one at a time here.
    assert decodings(plan, DecodedGroups(plan, room=10)) == {0: 1, 1: 1, 2: 1, 3: 1, 4: 1}
    assert decodings(plan, DecodedGroups(plan, room=9)) == {0: 1, 1: 2, 2: 1, 3: 2, 4: 1}


def test_nothing_is_kept_for_blocks_of_stray_records() -> None:
    plan = plan_of((0, 1), (1,), stray=(0, 1))
    decoded = DecodedGroups(plan, room=10)
    assert decodings(plan, decoded) == {0: 2, 1: 2}


def test_of_threads_that_ask_at_a_time_one_decodes() -> None:
    plan = plan_of(*[(0, 1)] * 8)
    decoded = DecodedGroups(plan)
    count: Counter[int] = Counter()

    def decode(number: int) -> int:
        count[number] += 1
        return number

    def read(_: int) -> list[int]:
        return [decoded.table(group(number), partial(decode, number)) for number in (0, 1)]

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(read, range(8))) == [[0, 1]] * 8
    assert count == {0: 1, 1: 1}


def test_columns_that_are_given_up_are_joined_as_others() -> None:
    def parts() -> list[ColumnBatch]:
        return [ColumnBatch({"a": np.array([n]), "b": np.array([-n])}) for n in (1, 2)]

    given, kept = parts(), parts()
    for joined in (ColumnBatch.joined(given, "ab", given_up=True), ColumnBatch.joined(kept, "ab")):
        assert {name: column.tolist() for name, column in joined.columns.items()} == {
            "a": [1, 2],
            "b": [-1, -2],
        }
    assert [len(part.columns) for part in (*given, *kept)] == [0, 0, 2, 2]


def test_memory_is_kept_during_checks_and_given_back_after_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, int]] = []
    trimmed = -77

    class Library:
        def mallopt(self, parameter: int, value: int) -> None:
            calls.append((parameter, value))

        def malloc_trim(self, pad: int) -> None:
            calls.append((trimmed, pad))

    monkeypatch.setattr("checkers.heap._glibc", Library)
    with kept_heap():
        begun = list(calls)
        with kept_heap():
            pass
        assert calls == begun * 2, "another check still runs"
    assert {parameter for parameter, _ in begun} == {-1, -2, -3}
    assert calls[-1] == (trimmed, 0)
    calls.clear()
    monkeypatch.setattr("checkers.heap._glibc", lambda: None)
    with kept_heap():
        assert not calls, "another allocator than glibc's is left alone"


def test_numpy_works_on_with_the_memory_that_is_kept() -> None:
    with kept_heap():
        for size in (2**16, 2**20, 2**23):
            assert np.arange(size).sum() == size * (size - 1) // 2
