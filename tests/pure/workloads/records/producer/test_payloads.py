"""Records with content of the user's: what they hold, and one message for everything that cannot be."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pytest
from pydantic import ValidationError

from harness.model.errors import BadInput
from harness.model.journal import ReadState
from workloads.records.config.payload_spec import PayloadSpec
from workloads.records.config.workload_spec import WorkloadSpec
from workloads.records.producer.payloads import PayloadBuilder, PayloadRecord, key_ids
from workloads.records.producer.send_journal import NO_KEY
from workloads.records.record.carried_identity import IDENTITY_HEADER, IDENTITY_TEXT, decode_carried
from workloads.records.record.identity import STATES, encode_key

pytestmark = pytest.mark.pure

RUN = 77
SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "string"}, {"name": "amount", "type": "long"}],
}


def records(payload: dict[str, Any], count: int = 3, keys: int | None = None) -> list[PayloadRecord]:
    return PayloadBuilder(PayloadSpec.model_validate(payload), RUN, 2, keys).build_many(10, count)


def identities(made: list[PayloadRecord]) -> list[tuple[int, int, str]]:
    decoded = decode_carried([one.value for one in made], RUN, lambda index: made[index].headers)
    states = [STATES[code].value for code in decoded.state.tolist()]
    return list(zip(decoded.producer.tolist(), decoded.seq.tolist(), states, strict=True))


def own(_: int, seq: int) -> tuple[str, str, dict[str, bytes]]:
    return f"customer-{seq % 2}", f"<order n='{seq}'/>", {"source": b"test"}


def with_text(_: int, seq: int) -> tuple[None, bytes, None]:
    return None, f"{seq},{IDENTITY_TEXT}".encode(), None


def failing(*_: int) -> None:
    raise ZeroDivisionError("no such order")


def wrong(*_: int) -> Any:
    return "only a value"


def test_a_template_of_json() -> None:
    template = {
        "order": "$seq",
        "text": "p$producer-$seq costs $$5",
        "key": "$key",
        "tags": ["$seq", 1.5, None],
    }
    made = records({"json": template}, keys=4)
    assert json.loads(made[1].value or b"") == {
        "order": 11,
        "text": "p2-11 costs $5",
        "key": 3,
        "tags": [11, 1.5, None],
    }
    assert identities(made) == [(2, 10, "ok"), (2, 11, "ok"), (2, 12, "ok")]
    assert [name for name, _ in made[0].headers] == [IDENTITY_HEADER]


def test_the_identity_may_stand_in_the_value() -> None:
    made = records({"json": {"id": "$identity", "n": "$seq"}})
    assert made[0].headers == []
    assert len(json.loads(made[0].value or b"")["id"]) == len(IDENTITY_TEXT)
    assert identities(made) == [(2, 10, "ok"), (2, 11, "ok"), (2, 12, "ok")]
    spoilt = PayloadRecord(None, (made[0].value or b"").replace(b'"n":10', b'"n":11'), [], b"")
    assert identities([spoilt]) == [(2, 10, ReadState.CORRUPT.value)]


@pytest.mark.parametrize("schema_id", [None, 7])
@pytest.mark.parametrize("identity", ["an order", "$identity"])
def test_avro(schema_id: int | None, identity: str, tmp_path: Path) -> None:
    file = tmp_path / "order.avsc"
    file.write_text(json.dumps(SCHEMA))
    record = {"id": identity, "amount": "$seq"}
    for schema in (SCHEMA, str(file)):
        made = records({"avro": {"schema": schema, "record": record, "schema_id": schema_id}})
        assert identities(made) == [(2, 10, "ok"), (2, 11, "ok"), (2, 12, "ok")]
        value = made[1].value or b""
        if schema_id is not None:
            assert value[:5] == b"\0\0\0\0\x07"
            value = value[5:]
        found = fastavro.schemaless_reader(io.BytesIO(value), SCHEMA, None)
        assert isinstance(found, dict)
        assert found["amount"] == 11


def test_a_function() -> None:
    made = records({"python": own})
    assert made[1].key == b"customer-1"
    assert made[1].value == b"<order n='11'/>"
    assert [name for name, _ in made[1].headers] == ["source", IDENTITY_HEADER]
    assert identities(made) == [(2, 10, "ok"), (2, 11, "ok"), (2, 12, "ok")]
    assert identities(records({"python": with_text})) == [(2, 10, "ok"), (2, 11, "ok"), (2, 12, "ok")]


def test_a_spec_with_a_function_can_be_saved() -> None:
    spec = WorkloadSpec.model_validate({"payload": {"python": own}})
    saved = spec.model_dump(mode="json", by_alias=True)
    assert saved["payload"]["python"] == f"{__name__}:own"
    assert WorkloadSpec.model_validate(saved) == spec


def test_key_ids_are_those_that_readers_find() -> None:
    made = [PayloadRecord(key, b"", [], b"") for key in (encode_key(5), b"customer", b"long customer", None)]
    found = key_ids(made, np.array([1, 2, 3, 4], dtype=np.int64)).tolist()
    assert found == [5, int.from_bytes(b"customer", "big"), NO_KEY, 4]


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        ({}, "expected one of json, avro and python, got none"),
        ({"json": {}, "python": "a:b"}, "got json and python"),
        ({"json": {"a": ["$sequence"]}}, r"\$sequence is none of \$seq, \$producer, \$key, \$identity"),
        ({"avro": {"schema": {}, "record": "$x"}}, r"\$x is none of"),
        ({"avro": {"schema": {}}}, "record"),
        ({"python": "no colon"}, "pattern"),
        ({"python": lambda *_: None}, "cannot be imported by its name"),
        ({"xml": "<a/>"}, "xml"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_read(payload: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        PayloadSpec.model_validate(payload)


@pytest.mark.parametrize(
    "beside", [{"client": "java"}, {"client": "driven"}, {"record_size": 101}, {"process": {"members": 1}}]
)
def test_what_it_does_not_go_with(beside: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="payload"):
        WorkloadSpec.model_validate({"payload": {"json": {}}, **beside})


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        ({"python": "no_such_module_here:f"}, "cannot be imported"),
        ({"python": f"{__name__}:no_such"}, "cannot be imported"),
        ({"python": f"{__name__}:RUN"}, "is none"),
        ({"python": failing}, "ZeroDivisionError: no such order"),
        ({"python": wrong}, "only a value"),
        ({"avro": {"schema": {"type": "no such"}, "record": 1}}, "no Avro schema"),
        ({"avro": {"schema": "no such file.avsc", "record": 1}}, "no such file"),
        ({"avro": {"schema": SCHEMA, "record": {"id": "a", "amount": "many"}}}, "does not fit"),
    ],
)
def test_what_is_found_when_it_is_built(payload: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput) as raised:
        records(payload)
    told = raised.value
    assert says in f"{told.what} {told.found}"
    assert told.where
    assert told.where.startswith("workload.payload.")
    assert told.expected
    assert told.next_step
