"""Values of a JSON template, passed on by an application without their headers, name their inputs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.builders.outputs import FakeMessage, identities_of_outputs
from tests.support.history import OTHER_RUN, RUN
from workloads.applications.outputs.output_identity import OutputIdentity
from workloads.applications.outputs.templated_values import input_by_template
from workloads.records.config.payload_spec import PayloadSpec
from workloads.records.config.workload_spec import WorkloadSpec
from workloads.records.producer.payloads import PayloadBuilder

pytestmark = pytest.mark.pure

ORDER = {"order": "$seq", "by": "producer-$producer", "shop": {"key": "$key", "tags": ["a", 1.5, None]}}


def _workload(template: Any, **more: Any) -> WorkloadSpec:
    return WorkloadSpec(payload=PayloadSpec.model_validate({"json": template}), **more)


def _value(workload: WorkloadSpec, producer: int, seq: int, run: int = RUN) -> bytes:
    assert workload.payload is not None
    (record,) = PayloadBuilder(workload.payload, run, producer, workload.keys).build_many(seq, 1)
    assert record.value is not None
    return record.value


def _told(workload: WorkloadSpec, *values: bytes | None) -> list[tuple[str, int | None, int | None]]:
    """What becomes of these values, passed on without their headers."""
    identity = OutputIdentity("value", by_template=input_by_template(workload))
    return identities_of_outputs(identity, *map(FakeMessage, values))


NOTHING = ("undecodable", None, None)


@pytest.mark.parametrize("keys", [None, 7])
@pytest.mark.parametrize(
    "template",
    [
        ORDER,
        {"$$": "$$5 for $seq-$producer", "a": "$key of $seq"},
        ["$seq", "$producer"],
        {"id": "$identity", "n": "$seq"},
        {"id": "order $identity"},
    ],
)
def test_a_value_names_its_input_as_it_is_and_written_anew(template: Any, keys: int | None) -> None:
    workload = _workload(template, keys=keys, producers=12)
    for producer, seq in ((0, 0), (11, 1), (1, 11), (3, 123_456)):
        value = _value(workload, producer, seq)
        again = json.dumps(json.loads(value), indent=2, sort_keys=True).encode()
        assert _told(workload, value, again) == [("ok", producer, seq)] * 2


def test_without_the_template_it_names_nothing() -> None:
    assert identities_of_outputs(OutputIdentity("value"), FakeMessage(_value(_workload(ORDER), 0, 5))) == [
        NOTHING
    ]


def test_a_value_that_was_changed_names_nothing() -> None:
    workload = _workload(ORDER)
    document = json.loads(_value(workload, 0, 5))
    changed: list[Any] = [
        document | {"order": 5.5},
        document | {"order": "5"},
        document | {"order": True},
        document | {"order": -5},
        document | {"order": 2**63, "shop": document["shop"]},
        document | {"by": "producer-1"},
        document | {"more": 1},
        document | {"shop": {"key": None, "tags": ["a"]}},
        {"order": 5},
        [document],
        5,
        None,
    ]
    values = [*(json.dumps(one).encode() for one in changed), b"{", b"\xff", b"", None]
    assert _told(workload, *values) == [NOTHING] * len(values)


def test_an_identity_of_another_run_stays_one() -> None:
    workload = _workload({"id": "$identity", "n": "$seq"})
    value = _value(workload, 0, 5, run=OTHER_RUN)
    again = json.dumps(json.loads(value)).encode()
    assert [one[0] for one in _told(workload, value, again)] == ["foreign", "corrupt"]


def test_a_changed_value_beside_its_identity_is_corrupt() -> None:
    workload = _workload({"id": "$identity", "n": "$seq"})
    document = json.loads(_value(workload, 0, 5)) | {"n": 6}
    assert [one[0] for one in _told(workload, json.dumps(document).encode())] == ["corrupt"]


@pytest.mark.parametrize(
    ("template", "producers"),
    [
        ({"order": 5}, 1),
        ({"order": "$key"}, 1),
        ({"order": "$seq"}, 2),
        ({"order": "$producer$seq"}, 2),
        ({"order": "$producer00$seq"}, 2),
    ],
)
def test_values_that_do_not_tell_their_record_name_nothing(template: Any, producers: int) -> None:
    assert input_by_template(_workload(template, producers=producers)) is None


def test_of_one_producer_the_number_of_the_record_is_enough() -> None:
    workload = _workload({"order": "$seq"})
    assert _told(workload, b'{ "order" : 8 }') == [("ok", 0, 8)]


def test_other_payloads_and_none_have_no_template() -> None:
    assert input_by_template(WorkloadSpec()) is None
    assert input_by_template(WorkloadSpec(payload=PayloadSpec(python="m:f"))) is None
