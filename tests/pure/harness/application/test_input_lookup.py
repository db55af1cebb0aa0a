"""From `identity:` of an experiment to what maps its outputs."""

from __future__ import annotations

from typing import Any

import pytest

from harness.application.input_lookup import identity_of
from harness.application.launch import prepare
from harness.model.errors import BadInput
from harness.run.arm_application import output_config
from harness.spec.application import ApplicationSpec

pytestmark = pytest.mark.pure


def _spec(**fields: Any) -> ApplicationSpec:
    return ApplicationSpec.model_validate({"run": {"process": ["app"]}, **fields})


@pytest.mark.parametrize(
    "identity",
    ["value", "key", {"header": "origin"}, {"json": "$.id"}, {"callable": "json:loads"}],
)
def test_every_identity_is_known(identity: Any) -> None:
    assert identity_of(_spec(identity=identity)) is not None


@pytest.mark.parametrize(
    "identity", [{"json": "$.a["}, {"callable": "nowhere_to_be_found:function"}, {"callable": "json:absent"}]
)
def test_what_cannot_be_used_is_refused_before_anything_starts(identity: Any) -> None:
    with pytest.raises(BadInput):
        prepare(_spec(identity=identity))


def test_a_table_has_no_headers() -> None:
    with pytest.raises(BadInput, match="table"):
        prepare(_spec(identity={"header": "origin"}, output={"table": "parquet"}))


def test_an_output_topic_keeps_what_the_input_does_not_and_has_the_brokers_timestamps() -> None:
    of_input = {"retention.ms": 1000, "retention.bytes": 5, "cleanup.policy": "compact", "segment.bytes": 9}
    assert output_config(of_input, {}) == {"segment.bytes": 9, "message.timestamp.type": "LogAppendTime"}
    own = {"message.timestamp.type": "CreateTime", "retention.ms": 7}
    assert output_config(of_input, own) == {"segment.bytes": 9} | own
