"""Values built many at a time are, byte for byte, those built one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.record.bulk_values import LARGEST_PAYLOAD
from workloads.record.identity import MAX_PRODUCER, MAX_RUN, OK, PREFIX, ValueBuilder, decode

pytestmark = pytest.mark.pure


@given(
    st.integers(0, MAX_RUN),
    st.integers(0, MAX_PRODUCER),
    st.sampled_from([PREFIX, PREFIX + 1, 29, 31, 100, 333]),
    st.integers(0, 2**32),
    st.sampled_from([0, 1, 255, 256, 2**16 - 50, 2**31 - 9, 2**40 - 70, 2**63 - 201]),
    st.sampled_from([1, 63, 64, 65, 200]),
)
def test_a_block_is_its_values(run: int, producer: int, size: int, seed: int, first: int, count: int) -> None:
    build = ValueBuilder(run, producer, size, seed)
    values = build.build_many(first, count)
    assert values == [build(seq) for seq in range(first, first + count)]
    found = decode(values, run)
    assert (found.state == OK).all()
    assert found.seq.tolist() == list(range(first, first + count))
    assert set(found.producer.tolist()) == {producer}


@pytest.mark.parametrize("payload", [LARGEST_PAYLOAD, LARGEST_PAYLOAD + 1])
def test_large_values(payload: int) -> None:
    build = ValueBuilder(1, 2, PREFIX + payload, 3)
    assert build.build_many(5, 70) == [build(seq) for seq in range(5, 75)]


def test_a_block_goes_through_all_payloads() -> None:
    build = ValueBuilder(9, 9, 60, 4)
    values = build.build_many(0, 5000)
    assert values == [build(seq) for seq in range(5000)]
    assert len({value[PREFIX:] for value in values}) == 4096
    assert np.unique(np.array([len(value) for value in values])).tolist() == [60]
