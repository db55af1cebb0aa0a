"""The newest of brokers' beliefs is the same one by one and in columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.broker_views import newest_rows, newness

pytestmark = pytest.mark.pure

BELIEF = st.tuples(
    st.integers(0, 3), st.integers(0, 2), st.integers(-1, 3), st.integers(1, 3), st.integers(-1, 3)
)
"""When, which partition, leader epoch, broker, leader."""


def test_a_higher_epoch_is_newer_and_within_one_the_leaders_own() -> None:
    assert newness(broker=1, leader=2, leader_epoch=5) > newness(broker=1, leader=1, leader_epoch=4)
    assert newness(broker=2, leader=2, leader_epoch=5) > newness(broker=1, leader=2, leader_epoch=5)


@given(st.lists(BELIEF))
def test_columns_have_the_newest_of_each_partition_and_moment(beliefs: list[tuple[int, ...]]) -> None:
    at_ns, partition, epoch, broker, leader = np.array(beliefs, np.int64).reshape(-1, 5).T
    rows = newest_rows(at_ns, partition, epoch, broker == leader)
    found = {(partition[row], at_ns[row]): newness(broker[row], leader[row], epoch[row]) for row in rows}
    expected: dict[tuple[int, int], tuple[int, bool]] = {}
    for at, number, of_epoch, who, whom in beliefs:
        one = newness(who, whom, of_epoch)
        expected[number, at] = max(one, expected.get((number, at), one))
    assert found == expected
    assert len(rows) == len(found)
    assert list(found) == sorted(found)
