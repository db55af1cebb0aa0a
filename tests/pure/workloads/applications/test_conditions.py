"""How much an application may write before it is killed."""

from __future__ import annotations

import pytest

from workloads.applications.application_spec import ApplicationSpec
from workloads.applications.conditions import MARGIN, describe_table_flood, describe_topic_flood

pytestmark = pytest.mark.pure

SPEC = ApplicationSpec.model_validate({"run": {"process": ["x"]}, "flood": 3, "output": {"per_input": 2}})


def test_a_topic_may_have_so_many_times_what_the_inputs_may_become() -> None:
    most = 3 * 2 * 1000 + MARGIN
    assert describe_topic_flood(SPEC, 1000, most) is None
    told = describe_topic_flood(SPEC, 1000, most + 1)
    assert told is not None
    assert "it had written 16,001 records from 1,000, more than 3 times" in told


@pytest.mark.parametrize(("value_bytes", "row"), [(100, 1024), (1024, 1024), (5000, 5000)])
def test_a_row_of_a_table_may_be_as_large_as_an_input_and_at_least_a_kib(value_bytes: int, row: int) -> None:
    most = (3 * 2 * 1000 + MARGIN) * row
    assert describe_table_flood(SPEC, 1000, most, value_bytes) is None
    told = describe_table_flood(SPEC, 1000, most + 1, value_bytes)
    assert told is not None
    assert f"its table had grown to {most / 2**20:,.1f} MiB from 1,000 inputs, more than 3 times" in told
