"""Where a record has its own id."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from harness.model.errors import BadInput
from workloads.own.record_ids import LONGEST_ID, id_of, key_text
from workloads.records.config.id_spec import IdSpec, parse_id_location

pytestmark = pytest.mark.pure


def spec(**fields: Any) -> IdSpec:
    return IdSpec.model_validate(fields)


VALUES: list[tuple[str | list[str], bytes | None, str | None]] = [
    ("order", b'{"order": "order-11"}', "order-11"),
    ("order", b'{"order": 11}', "11"),
    ("order", b'{"order": 123456789012345678901234567890}', "123456789012345678901234567890"),
    ("order", b'{"order": 1.10}', "1.10"),
    ("order", b'{"order": true}', "true"),
    ("order.id", b'{"order": {"id": "a"}}', "a"),
    (["order", "event"], b'{"order": 7, "event": "paid"}', "7/paid"),
    (["order", "event"], b'{"order": 7}', None),
    ("order", b'{"order": "\\ud800"}', "\\ud800"),
    ("order", b'{"order": null}', None),
    ("order", b'{"order": ""}', None),
    ("order", b'{"order": [1]}', None),
    ("order.id", b'{"order": "a"}', None),
    ("order", b'{"other": 1}', None),
    ("order", b'["order"]', None),
    ("order", b"no JSON", None),
    ("order", b"\xff", None),
    ("order", b"", None),
    ("order", None, None),
]


@pytest.mark.parametrize(("field", "value", "found"), VALUES)
def test_a_field_of_a_json_value(field: Any, value: bytes | None, found: str | None) -> None:
    assert id_of(spec(json=field), None, value, None) == found


def test_a_header() -> None:
    headers = [("other", b"x"), ("order", b"order-11")]
    assert id_of(spec(header="order"), None, b"", headers) == "order-11"
    assert id_of(spec(header="order"), None, b"", [("order", None)]) is None
    assert id_of(spec(header="order"), None, b"", None) is None


def test_the_key() -> None:
    assert id_of(spec(key=True), b"order-11", None, None) == "order-11"
    assert id_of(spec(key=True), "ä".encode(), None, None) == "ä"
    assert id_of(spec(key=True), None, b"x", None) is None
    assert id_of(spec(key=True), b"\xff", None, None) != id_of(spec(key=True), b"\xfe", None, None)


def test_bytes_of_the_value() -> None:
    place = {"offset": 2, "length": 4}
    assert id_of(spec(bytes=place), None, b"ab\x00\x00\x01\x02more", None) == "00000102"
    assert id_of(spec(bytes=place), None, b"ab\x00\x00\x01", None) is None
    assert id_of(spec(bytes=place), None, None, None) is None


def test_a_long_id_is_cut_off() -> None:
    found = id_of(spec(key=True), b"x" * 2000, None, None)
    assert found == "x" * LONGEST_ID


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"key": False},
        {"key": True, "header": "order"},
        {"json": "a", "bytes": {"length": 3}},
        {"json": ""},
        {"json": []},
        {"header": ""},
        {"bytes": {"offset": 1}},
        {"bytes": {"length": 0}},
        {"key": True, "times": 0},
        {"field": "order"},
    ],
)
def test_what_names_no_place_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        spec(**fields)


def test_the_place_in_words() -> None:
    assert spec(json="order").words() == "the field order of the value"
    assert spec(json=["order", "event"]).words() == "the field order with event of the value"
    assert spec(header="order").words() == "the header order"
    assert spec(key=True).words() == "the key"
    assert spec(bytes={"offset": 2, "length": 4}).words() == "bytes 2 to 5 of the value"


def test_a_place_in_one_word() -> None:
    assert parse_id_location("json:order") == spec(json="order")
    assert parse_id_location("json:order,event", 2) == spec(json=["order", "event"], times=2)
    assert parse_id_location("header:order") == spec(header="order")
    assert parse_id_location("key") == spec(key=True)
    assert parse_id_location("bytes:2+4") == spec(bytes={"offset": 2, "length": 4})


@pytest.mark.parametrize(
    "text", ["", "order", "json:", "json:a,", "key:a", "bytes:4", "bytes:a+b", "header:"]
)
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="this is no place of an id"):
        parse_id_location(text)


KEYS: list[tuple[bytes | None, str | None]] = [
    (b"customer-7", "customer-7"),
    ("grüße".encode(), "grüße"),
    (bytes(7) + b"\x07", "0x0000000000000007"),
    (b"line\n", "0x6c696e650a"),
    (b"\xff\xfe", "0xfffe"),
    (b"x" * (LONGEST_ID + 1), "x" * LONGEST_ID),
    (b"", None),
    (None, None),
]


@pytest.mark.parametrize(("key", "text"), KEYS)
def test_a_key_is_its_text_or_hexadecimal_digits(key: bytes | None, text: str | None) -> None:
    assert key_text(key) == text
