"""Steps about consumer groups: what is refused, and how a plan names them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from harness.spec.experiment import Experiment
from harness.spec.run_plan import lines, plan_of

pytestmark = pytest.mark.pure

WRITE = {"write": {"name": "w", "records": 1}}
READER = {"name": "app", "group": "app", "process": True}


def experiment(*steps: dict[str, Any], **more: Any) -> Experiment:
    data = {"name": "x", "title": "x", "steps": [WRITE, *steps], "arms": [{"name": "one"}], **more}
    return Experiment.model_validate(data)


def driven(*calls: Any, transactional: bool = True) -> Experiment:
    return Experiment.model_validate(
        {
            "name": "x",
            "title": "x",
            "workload": {"client": "driven", "driven": {"transactional": transactional}},
            "steps": [{"drive": {"name": "d", "do": list(calls)}}],
            "arms": [{"name": "one"}],
        }
    )


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([{"commit_offsets": {"name": "c"}}], "exactly one of `through`, `same_as` and `other_than`"),
        (
            [{"commit_offsets": {"name": "c", "through": {"all": True}, "same_as": "c"}}],
            "exactly one of `through`, `same_as` and `other_than`",
        ),
        ([{"commit_offsets": {"name": "c", "same_as": "b"}}], "no earlier step commits offsets as 'b'"),
        (
            [{"commit_offsets": {"name": "c", "through": {"all": True}, "partition": 3}}],
            "the topic has partitions 0 to 2",
        ),
        ([{"commit_offsets": {"name": "c", "through": {"all": True}}}] * 2, "two such steps are named 'c'"),
        ([{"ask_offsets": {"of": ["c"]}}], "no earlier step commits offsets as 'c'"),
        (
            [
                {"ask_offsets": {"of": ["c"]}},
                {"commit_offsets": {"name": "c", "through": {"all": True}}},
            ],
            "no earlier step commits offsets as 'c'",
        ),
        ([{"restart_reader": {"reader": "other"}}], "arm 'one' has no reader 'other'"),
    ],
)
def test_steps_that_cannot_be_carried_out_are_refused(steps: list[dict[str, Any]], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        experiment(*steps, readers=[READER])


def test_a_crash_needs_a_process() -> None:
    crash = {"restart_reader": {"reader": "app", "crash": True}}
    assert experiment(crash, readers=[READER])
    assert experiment(crash, readers=[{**READER, "process": False, "version": "2.13.0"}])
    with pytest.raises(ValidationError, match="set `process: true` for reader 'app'"):
        experiment(crash, readers=[{**READER, "process": False}])


def test_offsets_of_a_transaction_need_one() -> None:
    call = {"send_offsets": {"group": "app", "offset": 4}}
    assert driven("begin", call, "commit").commits_offsets
    with pytest.raises(ValidationError, match="transactions need"):
        driven(call, transactional=False)
    with pytest.raises(ValidationError, match="the topic has partitions 0 to 2"):
        driven("begin", {"send_offsets": {"group": "app", "partition": 3}})


def test_a_plan_names_the_steps() -> None:
    made = experiment(
        {"commit_offsets": {"name": "late", "through": {"all": True}, "groups": 750}},
        {"ask_offsets": {"of": ["late"]}},
        {"restart_reader": {"reader": "app", "crash": True}},
        readers=[READER],
    )
    text = "\n".join(lines(plan_of(made, 1)))
    assert "commit offsets late of 750 groups" in text
    assert "ask for the offsets of late for 15 s, not awaited" in text
    assert "crash reader app" in text
    assert "send offset 4 for group app" in "\n".join(
        lines(plan_of(driven("begin", {"send_offsets": {"group": "app", "offset": 4}}), 1))
    )
