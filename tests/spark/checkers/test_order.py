"""Whether records stand in order, asked at once and range by range."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from checkers.records import order
from tests.support.random_histories import many

pytestmark = pytest.mark.spark

Position = tuple[int, int, int, int]
"""`producer`, `seq`, `topic_partition`, `offset`."""


def plainly_in_order(positions: Sequence[Position]) -> bool:
    logs: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for producer, seq, partition, offset in positions:
        logs.setdefault((partition, producer), []).append((offset, seq))
    return all(sorted(log) == sorted(log, key=lambda one: one[1]) for log in logs.values())


@st.composite
def logs(draw: st.DrawFn) -> list[Position]:
    """Offsets of a few ranges of 2^10, written by two producers, with at most one pair of records swapped."""
    offsets = sorted(draw(st.sets(st.integers(0, 5_000), min_size=1, max_size=30)))
    found = [(seq % 2, seq, 0, offset) for seq, offset in enumerate(offsets)]
    if len(found) > 1 and draw(st.booleans()):
        i, j = sorted(draw(st.sets(st.integers(0, len(found) - 1), min_size=2, max_size=2)))
        one, other = found[i], found[j]
        found[i], found[j] = (*one[:3], other[3]), (*other[:3], one[3])
    return draw(st.permutations(found))


@pytest.mark.parametrize("parts", [1, 3])
def test_parts_of_the_ranges_say_the_same_as_all_at_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, parts: int
) -> None:
    monkeypatch.setattr(order, "_ROWS_AT_ONCE", 10)

    @many(40)
    @given(logs())
    def agree(positions: list[Position]) -> None:
        schema = "producer int, seq bigint, topic_partition bigint, offset bigint"
        frame = spark.createDataFrame(positions, schema)
        assert order.in_order(frame, 10 * parts) == plainly_in_order(positions)

    agree()
