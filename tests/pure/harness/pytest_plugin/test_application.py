"""`chaos.application(...)` and `assert_processed`: the experiment that is made, and what fails a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.model.application_meta import ApplicationMeta
from harness.model.errors import BadInput
from harness.model.finding_class import FindingClass
from harness.model.result import ArmResult, ExperimentResult, Judgement, VerdictWord
from harness.pytest_plugin.chaos_result import ChaosResult
from harness.pytest_plugin.experiments import experiment_around
from harness.spec.run_plan import lines, plan_of
from tests.support.builders.summaries import summary_with
from tests.support.history import run_meta

pytestmark = pytest.mark.pure

COMMAND = ["copy", "{bootstrap}", "{input}", "{output}", "{group}"]
KILL = {"fault": {"kill": {"target": {"application": "all"}}}, "at": 3, "for": 1}


def _result(
    findings: dict[FindingClass, int],
    verdict: VerdictWord = VerdictWord.VALID,
    application: ApplicationMeta | None = None,
) -> ChaosResult:
    arm = ArmResult(
        folder="application",
        meta=run_meta(application=application),
        summary=summary_with(sent=9, findings=findings),
        judgement=Judgement(verdict=verdict, reasons=("a reason",), as_promised=True),
    )
    result = ExperimentResult(
        experiment="application",
        title="t",
        description="",
        command="",
        started_ns=1,
        seconds=1.0,
        arms=(arm,),
    )
    return ChaosResult(result, Path("results"))


META = ApplicationMeta(output="out", drained=True, read_complete=True)


def test_what_was_processed_at_least_once_is_not_exactly_once() -> None:
    twice = _result({FindingClass.REPROCESSED: 3}, application=META)
    twice.assert_processed()
    with pytest.raises(AssertionError, match="processed exactly once, found 3 reprocessed"):
        twice.assert_processed(exactly_once=True)
    assert len(twice.failures) == 1
    _result({FindingClass.RECOVERED: 1}, application=META).assert_processed(exactly_once=True)


@pytest.mark.parametrize("finding", [FindingClass.UNPROCESSED, FindingClass.PREMATURE, FindingClass.INVENTED])
def test_what_is_never_allowed(finding: FindingClass) -> None:
    with pytest.raises(AssertionError, match=f"at least once, found 2 {finding}"):
        _result({finding: 2}, VerdictWord.INVALID, META).assert_processed()


def test_an_unknown_verdict_proves_nothing_and_a_run_without_application_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="its verdict is unknown"):
        _result({}, VerdictWord.UNKNOWN, META).assert_processed()
    with pytest.raises(ValueError, match="has no application"):
        _result({}).assert_processed()


def _around(run: Any = COMMAND, faults: Any = (KILL,), **fields: Any) -> Any:
    return experiment_around(run, faults, 10, 200, {"brokers": 1}, {"replication_factor": 1}, fields)


def test_the_experiment_around_an_application() -> None:
    experiment = _around(group="g", instances=2, guarantee="exactly-once")
    application = experiment.application_of(experiment.arms[0])
    assert application is not None
    assert application.run.process == tuple(COMMAND)
    assert (application.group, application.guarantee) == ("g", "exactly-once")
    assert experiment.shape.applications == 2
    told = "\n".join(lines(plan_of(experiment, 7)))
    assert "application of arm application: 2 instances of process copy {bootstrap}" in told
    assert "group g, writes a topic, exactly-once" in told
    assert "kill application: all" in told


def test_a_container_as_in_a_file() -> None:
    experiment = _around({"container": {"image": "my/app:1"}}, output={"table": "parquet"})
    assert experiment.shape.application_in_container
    told = "\n".join(lines(plan_of(experiment, 7)))
    assert "container my/app:1, writes a table (parquet), at-least-once" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"run": {"process": ["a"], "builtin": "b"}}, "expected one of process, container, builtin"),
        ({"identity": {"header": ""}}, "at least 1 character"),
        (
            {
                "faults": [
                    {
                        "fault": {"partition": {"from": {"application": 0}, "to": {"leader": 0}}},
                        "at": 1,
                        "for": 1,
                    }
                ]
            },
            "run it as a `container`",
        ),
    ],
)
def test_what_is_not_valid(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match="is not valid") as refused:
        _around(**arguments)
    assert str(refused.value.where).startswith("chaos.application(...): ")
    assert words in str(refused.value)
