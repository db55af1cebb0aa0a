"""Values of Kafka's VerifiableProducer: numbers in text, with or without a prefix."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.journal import ReadState
from harness.tools.interop.verifiable_events import decode_text, key_id
from workloads.records.record.identity import STATES

pytestmark = pytest.mark.pure

RUN = 77


@pytest.mark.parametrize(
    ("value", "identity"),
    [
        (b"0", (0, 0)),
        (b"41", (0, 41)),
        (b"7.41", (7, 41)),
        (b"999999999.999999999999999999", (999_999_999, 10**18 - 1)),
        (b"0.0", (0, 0)),
    ],
)
def test_a_number_is_an_identity(value: bytes, identity: tuple[int, int]) -> None:
    found = decode_text([value], RUN)
    assert STATES[found.state[0]] is ReadState.OK
    assert (int(found.producer[0]), int(found.seq[0])) == identity
    assert int(found.run[0]) == RUN


@pytest.mark.parametrize(
    "value",
    [None, b"", b".", b"7.", b".7", b"07", b"7.07", b"-1", b"1.2.3", b" 1", b"1\n", b"1e3", b"\xff\xfe",
     b"9" * 19, b"1234567890.1", "٣".encode()],
)  # fmt: skip
def test_anything_else_is_not(value: bytes | None) -> None:
    found = decode_text([value, b"3.4"], RUN)
    assert [STATES[code] for code in found.state] == [ReadState.UNDECODABLE, ReadState.OK]
    assert (int(found.run[0]), int(found.producer[0]), int(found.seq[0])) == (0, 0, 0)


@given(
    st.lists(st.one_of(st.none(), st.binary(max_size=30), st.from_regex(rb"[0-9.]{0,12}", fullmatch=True)))
)
def test_it_never_raises_and_equal_bytes_have_equal_checksums(values: list[bytes | None]) -> None:
    found = decode_text(values, RUN)
    columns = (found.state, found.run, found.producer, found.seq, found.crc)
    assert {len(column) for column in columns} == {len(values)}
    by_value: dict[bytes, int] = {}
    for value, crc in zip(values, found.crc.tolist(), strict=True):
        assert by_value.setdefault(value or b"", crc) == crc


def test_keys() -> None:
    assert [key_id(key) for key in (b"0", b"12", None)] == [0, 12, None]
    odd = [key_id(key) for key in (b"", b"00", b"012", b"k", b"\xff", b"-1", b"9" * 19)]
    assert len(set(odd)) == len(odd)
    assert all(key is not None and 10**6 < key < 2**62 for key in odd)
    assert key_id("k") == key_id(b"k")
    assert key_id("\ud800") is not None
