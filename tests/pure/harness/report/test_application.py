"""What an application made of its inputs, as people read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.model.result import ArmResult, ExperimentResult, FindingClass, Judgement, VerdictWord
from harness.report.arms_table import application_sentence, explanation, table
from harness.report.page import write_report
from tests.support.builders.summaries import summary_with
from tests.support.history import application, run_meta

pytestmark = pytest.mark.pure


def _arm(**of_summary: Any) -> ArmResult:
    judgement = Judgement(verdict=VerdictWord.INVALID, reasons=("a reason",), as_promised=True)
    summary = summary_with(**of_summary) if of_summary else None
    meta = run_meta(application=application(guarantee="at-least-once"))
    return ArmResult(folder="only", meta=meta, summary=summary, judgement=judgement)


COUNTED = {
    "inputs": 2000,
    "processed": 1960,
    "findings": {FindingClass.UNPROCESSED: 40, FindingClass.INVENTED: 1, FindingClass.LOST: 3},
}
SENTENCE = "at-least-once, 1,960 of 2,000 inputs processed; unprocessed 40, invented 1"


def test_inputs_and_findings_about_outputs_are_counted() -> None:
    assert application_sentence(_arm(**COUNTED)) == SENTENCE
    clean = _arm(inputs=5, processed=5)
    assert application_sentence(clean) == "at-least-once, 5 of 5 inputs processed"


def test_without_an_application_or_a_check_nothing_is_said() -> None:
    assert application_sentence(_arm()) is None
    without = _arm(**COUNTED).model_copy(update={"meta": run_meta()})
    assert application_sentence(without) is None


def test_table_explanation_and_page_say_it(tmp_path: Path) -> None:
    arm = _arm(**COUNTED)
    result = ExperimentResult(
        experiment="e", title="t", description="", arms=(arm,), started_ns=0, seconds=1.0, command="run"
    )
    assert f"only: {SENTENCE}" in str(table(result).title)
    assert f"application: {SENTENCE}" in explanation(arm)
    assert f"The application: {SENTENCE}." in write_report(result, tmp_path).read_text()
