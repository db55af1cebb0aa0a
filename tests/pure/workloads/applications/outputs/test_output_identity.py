"""From an output to the inputs that made it: every form of an identity, and what cannot be mapped."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from harness.model.application_journal import OUTPUTS
from harness.model.errors import BadInput
from tests.support.builders.outputs import FakeMessage, identities_of_outputs, rows_of_outputs
from tests.support.history import OTHER_RUN, RUN
from workloads.applications.outputs.output_identity import OutputIdentity, output_rows
from workloads.applications.outputs.output_record import OutputRecord, TableRow
from workloads.records.record.carried_identity import IDENTITY_HEADER, IDENTITY_TEXT, carry
from workloads.records.record.identity import ValueBuilder, encode_key

pytestmark = pytest.mark.pure

SIZE = 100
VALUES = [ValueBuilder(RUN, 2, SIZE, seed=1)(seq) for seq in range(5)]
HERE = "tests.pure.workloads.applications.outputs.test_output_identity"


def test_a_value_that_was_passed_on_unchanged_names_its_input() -> None:
    found = rows_of_outputs(OutputIdentity("value"), FakeMessage(VALUES[3], key=encode_key(5)))
    assert found == [
        {
            "topic": "out",
            "partition": 1,
            "offset": 7,
            "leader_epoch": 3,
            "timestamp_ms": 1234,
            "part": 0,
            "parts": 1,
            "state": "ok",
            "run": RUN,
            "producer": 2,
            "seq": 3,
            "key": 5,
            "value": None,
            "error": None,
            "read_ns": 99,
            "committed": True,
        }
    ]


def test_a_value_of_another_run_a_damaged_one_and_none_are_told_apart() -> None:
    other = ValueBuilder(OTHER_RUN, 0, SIZE, seed=1)(0)
    damaged = VALUES[3][:-1] + bytes([VALUES[3][-1] ^ 1])
    found = rows_of_outputs(
        OutputIdentity("value"),
        FakeMessage(other),
        FakeMessage(damaged),
        FakeMessage(b"made up"),
        FakeMessage(None),
    )
    assert [row["state"] for row in found] == ["foreign", "corrupt", "undecodable", "undecodable"]
    assert [row["run"] for row in found] == [OTHER_RUN, RUN, None, None]
    assert [row["value"] for row in found] == [other, damaged, b"made up", b""]


def test_a_value_may_carry_its_identity_in_a_header_or_in_its_text() -> None:
    in_header = carry(b'{"order": 1}', RUN, 4, 8)
    in_text = carry(b'{"id": "%s"}' % IDENTITY_TEXT.encode(), RUN, 4, 9)
    found = identities_of_outputs(
        OutputIdentity("value"),
        FakeMessage(in_header.value, headers=[(IDENTITY_HEADER, in_header.identity)]),
        FakeMessage(in_text.value),
    )
    assert found == [("ok", 4, 8), ("ok", 4, 9)]


FORMS = {
    "the whole value": VALUES[3],
    "its digits": VALUES[3].hex().encode(),
    "its Base64": base64.b64encode(VALUES[3]),
    "its Base64 for URLs": base64.urlsafe_b64encode(VALUES[3]).rstrip(b"="),
    "the identity": VALUES[3][:28],
    "the identity's digits": VALUES[3][:28].hex().upper().encode(),
    "the identity's Base64": base64.b64encode(VALUES[3][:28]),
}


_BYTES = ("the whole value", "the identity")
"""Forms that a text of JSON cannot hold."""
PLACES = [
    (kind, form)
    for kind in ("key", "header", "json", "callable")
    for form in FORMS
    if kind != "json" or form not in _BYTES
]


@pytest.mark.parametrize(("kind", "form"), PLACES)
def test_every_form_names_its_input_wherever_it_is(kind: Any, form: str) -> None:
    content = FORMS[form]
    names = {"header": "origin", "json": "$.receipt['for']", "callable": f"{HERE}:of_key"}
    document = content.decode("latin-1")
    output = FakeMessage(
        json.dumps({"receipt": {"for": document}}).encode(), key=content, headers=[("origin", content)]
    )
    assert identities_of_outputs(OutputIdentity(kind, names.get(kind, "")), output) == [("ok", 2, 3)]


@pytest.mark.parametrize("form", ["its digits", "its Base64"])
def test_a_whole_value_that_was_changed_is_not_taken_for_an_identity_alone(form: str) -> None:
    damaged = VALUES[3][:-1] + bytes([VALUES[3][-1] ^ 1])
    content = damaged.hex().encode() if form == "its digits" else base64.b64encode(damaged)
    (found,) = identities_of_outputs(OutputIdentity("key"), FakeMessage(key=content))
    assert found[0] in ("corrupt", "undecodable")


def of_key(output: OutputRecord) -> bytes | None:
    return output.key


def of_all(output: OutputRecord) -> Iterable[Any]:
    return json.loads(output.value or b"[]")


def failing(output: OutputRecord) -> bytes:
    raise KeyError(f"offset {output.offset}")


def pairs(output: OutputRecord) -> Iterable[Any]:
    assert (output.topic, output.partition, output.timestamp_ms) == ("out", 1, 1234)
    return ((2, seq) for seq in (1, 4))


def wrong(output: OutputRecord) -> object:
    return output.offset


def test_several_inputs_of_one_output_have_a_row_each() -> None:
    found = rows_of_outputs(
        OutputIdentity("callable", f"{HERE}:pairs"), FakeMessage(offset=5), FakeMessage(offset=6)
    )
    assert [(row["offset"], row["part"], row["parts"], row["producer"], row["seq"]) for row in found] == [
        (5, 0, 2, 2, 1),
        (5, 1, 2, 2, 4),
        (6, 0, 2, 2, 1),
        (6, 1, 2, 2, 4),
    ]
    document = json.dumps({"lines": [{"id": one.hex()} for one in VALUES[:2]]}).encode()
    assert identities_of_outputs(OutputIdentity("json", "$.lines[*].id"), FakeMessage(document)) == [
        ("ok", 2, 0),
        ("ok", 2, 1),
    ]
    numbers = json.dumps({"by": {"producer": 2, "seq": 4}}).encode()
    assert identities_of_outputs(OutputIdentity("json", "$.by"), FakeMessage(numbers)) == [("ok", 2, 4)]


def test_all_headers_of_a_name_count() -> None:
    headers = [("from", VALUES[0]), ("other", b""), ("from", VALUES[1])]
    assert identities_of_outputs(OutputIdentity("header", "from"), FakeMessage(headers=headers)) == [
        ("ok", 2, 0),
        ("ok", 2, 1),
    ]


@pytest.mark.parametrize(
    ("identity", "output", "error"),
    [
        (OutputIdentity("callable", f"{HERE}:failing"), FakeMessage(), "KeyError: 'offset 7'"),
        (OutputIdentity("callable", f"{HERE}:of_key"), FakeMessage(), "it names no input"),
        (OutputIdentity("callable", f"{HERE}:of_all"), FakeMessage(b"[]"), "it names no input"),
        (OutputIdentity("callable", f"{HERE}:wrong"), FakeMessage(), "UnusableAnswer: expected an identity"),
        (OutputIdentity("callable", f"{HERE}:of_all"), FakeMessage(b"[1.5]"), "UnusableAnswer: expected an"),
        (OutputIdentity("header", "from"), FakeMessage(), "UnusableAnswer: it has no header 'from'"),
        (OutputIdentity("json", "$.id"), FakeMessage(b"{}"), "LookupError: there is no member 'id'"),
        (OutputIdentity("json", "$.id[2]"), FakeMessage(b'{"id": []}'), "LookupError: there is no [2]"),
        (OutputIdentity("json", "$.id"), FakeMessage(b"made up"), "JSONDecodeError: Expecting value"),
        (OutputIdentity("json", "$.id"), FakeMessage(None), "JSONDecodeError"),
    ],
)
def test_what_cannot_be_mapped_is_a_row_that_says_why(
    identity: OutputIdentity, output: FakeMessage, error: str
) -> None:
    (row,) = rows_of_outputs(identity, output)
    assert (row["state"], row["run"], row["producer"], row["seq"]) == ("unmapped", None, None, None)
    assert row["error"].startswith(error)
    assert row["parts"] == 0


def test_a_text_that_is_no_identity_is_undecodable() -> None:
    assert identities_of_outputs(OutputIdentity("key"), FakeMessage(key=b"order 7")) == [
        ("undecodable", None, None)
    ]


@pytest.mark.parametrize(
    "name", ["nowhere_to_be_found:function", f"{HERE}:absent", f"{HERE}:VALUES", "json:"]
)
def test_a_function_that_cannot_be_imported_is_refused(name: str) -> None:
    with pytest.raises(BadInput) as refused:
        OutputIdentity("callable", name)
    assert name in str(refused.value)


@pytest.mark.parametrize("path", ["id", "$id", "$.a[", "$.a[x]", "$..a"])
def test_a_path_that_cannot_be_read_is_refused(path: str) -> None:
    with pytest.raises(BadInput):
        OutputIdentity("json", path)


def test_rows_of_a_table_have_their_columns() -> None:
    row = TableRow("receipts", 2, 9, {"value": VALUES[1], "key": "k", "amount": 3})
    (found,) = rows_of_outputs(OutputIdentity("value"), row)
    assert (found["topic"], found["partition"], found["offset"], found["seq"]) == ("receipts", 2, 9, 1)
    assert (found["timestamp_ms"], found["leader_epoch"]) == (None, None)


def of_columns(output: OutputRecord) -> Any:
    assert output.columns is not None
    return (output.columns["producer"], output.columns["seq"])


def test_a_function_gets_the_columns_of_a_table() -> None:
    row = TableRow("receipts", 2, 9, {"producer": 2, "seq": 4})
    assert identities_of_outputs(OutputIdentity("callable", f"{HERE}:of_columns"), row) == [("ok", 2, 4)]


def test_no_outputs_have_no_rows() -> None:
    for identity in (OutputIdentity("value"), OutputIdentity("key")):
        assert output_rows([], identity.map([], RUN), np.ones(0, np.bool_), 0).schema == OUTPUTS
    assert pa.Table.from_pylist([], schema=OUTPUTS).num_rows == 0
