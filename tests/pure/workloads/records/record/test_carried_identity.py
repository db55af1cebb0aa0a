"""Identity in a header or as text: it comes back, and no damage to the value goes unseen."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.model.journal import ReadState
from workloads.records.record.carried_identity import (
    IDENTITY_HEADER,
    IDENTITY_TEXT,
    Carried,
    Headers,
    carry,
    decode_carried,
)
from workloads.records.record.identity import MAX_PRODUCER, MAX_RUN, STATES, ValueBuilder

pytestmark = pytest.mark.pure

RUN = 4711
SEQ = 2**63 - 1
FORMS = st.sampled_from(["", IDENTITY_TEXT])


def headers_of(carried: Carried) -> Headers:
    return None if carried.header is None else [("theirs", b"1"), (IDENTITY_HEADER, carried.header)]


def state(value: bytes | None, headers: Headers, run: int = RUN) -> ReadState:
    return STATES[decode_carried([value], run, lambda _: headers).state[0]]


@settings(deadline=None)
@given(
    value=st.binary(max_size=80),
    form=FORMS,
    run=st.integers(0, MAX_RUN),
    producer=st.integers(0, MAX_PRODUCER),
    seq=st.integers(0, SEQ),
)
def test_round_trip(value: bytes, form: str, run: int, producer: int, seq: int) -> None:
    carried = carry(value[:40] + form.encode() + value[40:], run, producer, seq)
    assert (carried.header is None) == bool(form)
    assert len(carried.value or b"") == len(value) + len(form)
    decoded = decode_carried([carried.value], run, lambda _: headers_of(carried))
    assert (decoded.run[0], decoded.producer[0], decoded.seq[0]) == (run, producer, seq)
    assert STATES[decoded.state[0]] is ReadState.OK


@settings(deadline=None)
@given(form=FORMS, data=st.data())
def test_any_changed_byte_of_the_value_is_seen(form: str, data: st.DataObject) -> None:
    carried = carry(json.dumps({"id": form, "amount": 12.5}).encode(), RUN, 3, 99)
    assert carried.value is not None
    assert state(carried.value, headers_of(carried)) is ReadState.OK
    value = bytearray(carried.value)
    value[data.draw(st.integers(0, len(value) - 1))] ^= data.draw(st.integers(1, 255))
    assert state(bytes(value), headers_of(carried)) in (ReadState.CORRUPT, ReadState.UNDECODABLE)


def test_values_of_all_forms_stand_side_by_side() -> None:
    own = ValueBuilder(RUN, 0, 60, 1)(7)
    in_header, in_text = carry(b"{}", RUN, 1, 8), carry(IDENTITY_TEXT.encode(), RUN, 2, 9)
    headers = [None, headers_of(in_header), None, headers_of(in_header), None]
    values = [own, in_header.value, in_text.value, b"{ }", b"theirs"]
    decoded = decode_carried(values, RUN, headers.__getitem__)
    assert decoded.producer.tolist() == [0, 1, 2, 1, 0]
    assert decoded.seq.tolist() == [7, 8, 9, 8, 0]
    assert [STATES[code].value for code in decoded.state.tolist()] == [
        "ok", "ok", "ok", "corrupt", "undecodable",
    ]  # fmt: skip


def test_a_value_of_another_run_is_foreign() -> None:
    carried = carry(b"{}", RUN, 1, 8)
    assert state(carried.value, headers_of(carried), run=RUN + 1) is ReadState.FOREIGN


def test_headers_of_our_own_values_are_not_asked_for() -> None:
    def never(_: int) -> Headers:
        raise AssertionError("this would slow every read down")

    assert STATES[decode_carried([ValueBuilder(RUN, 0, 60, 1)(7)], RUN, never).state[0]] is ReadState.OK


def test_a_value_may_be_missing() -> None:
    carried = carry(None, RUN, 1, 8)
    assert carried.value is None
    assert state(None, headers_of(carried)) is ReadState.OK
    assert state(None, None) is ReadState.UNDECODABLE


@settings(deadline=None)
@given(
    st.none() | st.binary(max_size=80), st.none() | st.lists(st.tuples(st.text(), st.none() | st.binary()))
)
def test_garbage_never_raises(value: bytes | None, headers: Headers) -> None:
    assert state(value, headers) is ReadState.UNDECODABLE
    assert state(value, [(IDENTITY_HEADER, b"short"), (IDENTITY_HEADER, None)]) is ReadState.UNDECODABLE
