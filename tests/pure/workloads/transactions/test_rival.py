"""The step in which a rival begins: what is refused, how it is named, and its line in a plan."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from harness.spec.experiment import Experiment
from harness.spec.run_plan import lines, plan_of
from harness.spec.step import name_of

pytestmark = pytest.mark.pure

WRITE = {"write": {"name": "w", "records": 1}}
DRIVE = {"drive": {"name": "d", "by": "writer", "do": ["begin", "commit"]}}
TRANSACTIONS = {"transactions": {"records": 10}}
DRIVEN = {"client": "driven", "driven": {"transactional": True}}


def rival(**given: Any) -> dict[str, Any]:
    return {"rival": {"name": "r", **given}}


def experiment(*steps: dict[str, Any], workload: dict[str, Any] = TRANSACTIONS) -> Experiment:
    data = {"name": "x", "title": "x", "workload": workload, "steps": steps, "arms": [{"name": "one"}]}
    return Experiment.model_validate(data)


@pytest.mark.parametrize("transactional_id", ["same", "own"])
def test_a_plan_says_what_happens(transactional_id: str) -> None:
    made = experiment(
        WRITE, rival(of=1, transactional_id=transactional_id), workload={"producers": 2, **TRANSACTIONS}
    )
    with_id = {"same": "its transactional.id", "own": "another transactional.id"}[transactional_id]
    assert (
        "step 1: rival r: producer 1 sends 50 records in a transaction, a second one with "
        f"{with_id} begins and sends as many, producer 1 sends as many again and commits"
    ) in list(lines(plan_of(made, 0)))
    assert made.write_names == ("w", "r"), "a promise may name it: acked in r"
    assert [name_of(step.action, index) for index, step in enumerate(made.steps)] == ["w", "r"]


def test_the_rival_of_a_driven_producer_may_be_driven_after_it() -> None:
    after = {"drive": {"name": "e", "by": "r", "do": ["begin", "commit"]}}
    assert experiment(DRIVE, rival(), after, workload=DRIVEN)


@pytest.mark.parametrize(
    ("steps", "workload", "says"),
    [
        ([WRITE, rival()], {}, "a rival needs a producer with transactions"),
        ([WRITE, rival()], {"client": "own"}, "a rival needs a producer with transactions"),
        ([WRITE, rival()], {"client": "java"}, "a rival needs a producer with transactions"),
        ([DRIVE, rival()], {"client": "driven"}, "a rival needs a producer with transactions"),
        ([WRITE, rival(of=1)], TRANSACTIONS, "the workload has 1 producer.s., of which the first is 0"),
        ([rival(), DRIVE], DRIVEN, "earlier drive steps name 0 producer.s."),
        ([DRIVE, rival(of=1)], DRIVEN, "earlier drive steps name 1 producer.s."),
        ([DRIVE, rival(name="writer")], DRIVEN, "an earlier drive step has a producer 'writer'"),
        ([WRITE, rival(), rival(name="s")], TRANSACTIONS, "producer 0 has a rival already"),
        ([WRITE, rival(name="w")], TRANSACTIONS, "two write steps are named 'w'"),
        ([WRITE, rival(transactional_id="none")], TRANSACTIONS, "Input should be 'same' or 'own'"),
        ([WRITE, rival(records=0)], TRANSACTIONS, "greater than or equal to 1"),
    ],
)
def test_rivals_that_cannot_be_are_refused(
    steps: list[dict[str, Any]], workload: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValidationError, match=says):
        experiment(*steps, workload=workload)
