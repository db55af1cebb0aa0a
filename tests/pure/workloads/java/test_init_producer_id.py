"""The step that initialises a transactional.id: what is refused, and its line in a plan."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from harness.spec.experiment import Experiment
from harness.spec.run_plan import lines, plan_of

pytestmark = pytest.mark.pure

DRIVEN = {"client": "driven", "driven": {"transactional": True}}
DRIVE = {"drive": {"name": "d", "by": "writer", "do": ["begin", "commit"]}}


def experiment(*steps: dict[str, Any], workload: dict[str, Any] = DRIVEN) -> Experiment:
    data = {"name": "x", "title": "x", "workload": workload, "steps": steps, "arms": [{"name": "one"}]}
    return Experiment.model_validate(data)


def test_a_plan_says_what_happens() -> None:
    made = experiment(
        {"init_producer_id": {"name": "old", "of": "writer", "epoch": 40}},
        DRIVE,
        {"init_producer_id": {"name": "fence", "of": "writer", "within": 7}},
    )
    told = list(lines(plan_of(made, 0)))
    what = "initialise the transactional.id of writer"
    assert f"step 0: {what} until it begins with epoch 40, 600 s at most" in told
    assert f"step 2: {what}, 7 s at most" in told
    assert made.write_names == ("d",), "no record is sent in such a step"


@pytest.mark.parametrize(
    ("given", "workload", "says"),
    [
        ({}, {"client": "driven"}, "it needs `client: driven` with `driven: {transactional: true}`"),
        ({"epoch": 32_767}, DRIVEN, "less than or equal to 32766"),
        ({"epoch": 0}, DRIVEN, "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], workload: dict[str, Any], says: str) -> None:
    drive = {"drive": {"name": "d", "by": "writer", "do": ["flush"]}}
    with pytest.raises(ValidationError, match=says):
        experiment({"init_producer_id": {"name": "i", "of": "writer", **given}}, drive, workload=workload)


def test_a_workload_without_drive_steps_has_no_such_step() -> None:
    write = {"write": {"name": "w", "records": 1}}
    with pytest.raises(ValidationError, match="it needs `client: driven`"):
        experiment(
            write, {"init_producer_id": {"name": "i", "of": "w"}}, workload={"transactions": {"records": 1}}
        )
