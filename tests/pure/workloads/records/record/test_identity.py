"""Record identity: what is built comes back, and no damage goes unseen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.model.journal import ReadState
from workloads.records.record.identity import (
    LARGEST_PAYLOAD,
    MAX_PRODUCER,
    MAX_RUN,
    OK,
    PREFIX,
    STATES,
    ValueBuilder,
    decode,
    decode_keys,
    encode_key,
    seq_of,
)

pytestmark = pytest.mark.pure

RUN = 4711
SEQ = 2**63 - 1


def states(values: list[bytes | None], run: int = RUN) -> list[ReadState]:
    return [STATES[code] for code in decode(values, run).state.tolist()]


@settings(deadline=None)
@given(
    run=st.integers(0, MAX_RUN),
    producer=st.integers(0, MAX_PRODUCER),
    seq=st.integers(0, SEQ),
    size=st.integers(PREFIX, 300),
    seed=st.integers(0, 2**64),
)
def test_round_trip(run: int, producer: int, seq: int, size: int, seed: int) -> None:
    value = ValueBuilder(run, producer, size, seed)(seq)
    assert len(value) == size
    assert value == ValueBuilder(run, producer, size, seed)(seq)
    decoded = decode([value], run)
    assert (decoded.run[0], decoded.producer[0], decoded.seq[0]) == (run, producer, seq)
    assert STATES[decoded.state[0]] is ReadState.OK


@settings(deadline=None)
@given(size=st.integers(PREFIX, 120), data=st.data())
def test_any_single_byte_flip_is_seen(size: int, data: st.DataObject) -> None:
    value = bytearray(ValueBuilder(RUN, 3, size, 1)(99))
    value[data.draw(st.integers(0, size - 1))] ^= data.draw(st.integers(1, 255))
    assert states([bytes(value)])[0] in (ReadState.CORRUPT, ReadState.UNDECODABLE)


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), st.binary(max_size=60)), max_size=30))
def test_garbage_never_raises(values: list[bytes | None]) -> None:
    assert set(states(values)) <= {ReadState.UNDECODABLE}


def test_mixed_values_each_get_their_own_state() -> None:
    small, large = ValueBuilder(RUN, 0, PREFIX, 1), ValueBuilder(RUN, 1, 5000, 1)
    foreign = ValueBuilder(RUN + 1, 2, 100, 1)(8)
    damaged = large(7)[:-1] + bytes([large(7)[-1] ^ 1])
    truncated = large(9)[:-1]
    values = [small(5), None, large(6), b"", b"short", bytes(100), foreign, damaged, truncated, small(1)]
    assert states(values) == [
        ReadState.OK,
        ReadState.UNDECODABLE,
        ReadState.OK,
        ReadState.UNDECODABLE,
        ReadState.UNDECODABLE,
        ReadState.UNDECODABLE,
        ReadState.FOREIGN,
        ReadState.CORRUPT,
        ReadState.CORRUPT,
        ReadState.OK,
    ]
    decoded = decode(values, RUN)
    assert decoded.seq.tolist() == [5, 0, 6, 0, 0, 0, 8, 7, 9, 1], "a corrupt value keeps what it claims"
    assert decoded.run[6] == RUN + 1


def test_equal_crc_means_equal_content() -> None:
    one, other = b"garbage", b"other garbage"
    crc = decode([one, other, one, None], RUN).crc
    assert crc[0] == crc[2] != crc[1]


def test_payloads_differ_from_record_to_record() -> None:
    build = ValueBuilder(RUN, 0, 100, 1)
    assert len({build(seq)[PREFIX:] for seq in range(1000)}) == 1000


def test_nothing_decodes_to_nothing() -> None:
    assert decode([], RUN).state.tolist() == []
    assert decode_keys([]).to_pylist() == []


@pytest.mark.parametrize(
    ("run", "producer", "size"), [(0, 0, PREFIX - 1), (-1, 0, 100), (2**63, 0, 100), (0, 2**31, 100)]
)
def test_impossible_identities_are_refused(run: int, producer: int, size: int) -> None:
    with pytest.raises(ValueError, match=r"size|bytes|run|producer"):
        ValueBuilder(run, producer, size, 1)


def test_seq_of_own_values() -> None:
    build = ValueBuilder(RUN, 0, 64, 1)
    assert seq_of([build(seq) for seq in (3, 1, 2**40)]).tolist() == [3, 1, 2**40]


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))))
def test_keys_round_trip(keys: list[int | None]) -> None:
    encoded = [None if key is None else encode_key(key) for key in keys]
    assert decode_keys(encoded).to_pylist() == keys


def test_keys_of_another_length_are_null() -> None:
    assert decode_keys([b"", b"1234567", encode_key(5), b"123456789"]).to_pylist() == [None, None, 5, None]


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
