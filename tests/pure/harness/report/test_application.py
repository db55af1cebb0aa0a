"""What an application made of its inputs, and that it ended by itself, as people read it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.model.application_meta import ApplicationExit
from harness.model.finding_class import FindingClass
from harness.model.result import ArmResult, ExperimentResult, Judgement, VerdictWord
from harness.report.arms_table import COLUMNS, columns, explanation, table
from harness.report.page.terminal import print_table
from harness.report.run_page import write_report
from harness.report.timeline import read_timeline
from harness.report.timeline_chart import lay_out
from tests.support.builders.summaries import summary_with
from tests.support.history import History, application, ns, run_meta, window, write_run
from workloads.applications.application_words import application_sentence

pytestmark = pytest.mark.pure

WORDS = "Traceback (most recent call last):\n            KeyError: '<b>id</b>'"


def _exit(at: float, *, again: bool = True, **changes: Any) -> ApplicationExit:
    fields: dict[str, Any] = {"at_ns": ns(at), "instance": 0, "code": 1, "last_lines": WORDS, "again": again}
    return ApplicationExit.model_validate(fields | changes)


EXITS = (_exit(12.3), _exit(15, code=137, last_lines="nothing was printed", instance=1, again=False))
EXIT_WORDS = (
    "ended by itself 2 times: instance 0 at 12.30 s with code 1, started again: KeyError: '<b>id</b>'; "
    "instance 1 at 15.00 s with code 137: nothing was printed"
)


def _arm(
    *exits: ApplicationExit, name: str = "only", with_application: bool = True, **counted: Any
) -> ArmResult:
    judgement = Judgement(verdict=VerdictWord.INVALID, reasons=("a reason",), as_promised=False)
    of_run = {"windows": (window("kill-1", 10, 14), window("kill-2", 14, None))}
    if with_application:
        of_run["application"] = application(guarantee="at-least-once", exits=exits)
    summary = summary_with(**counted) if counted else None
    return ArmResult(folder=name, meta=run_meta(**of_run), summary=summary, judgement=judgement)


COUNTED = {
    "inputs": 2000,
    "processed": 1960,
    "findings": {FindingClass.UNPROCESSED: 40, FindingClass.INVENTED: 1, FindingClass.REPROCESSED: 1234},
}
SENTENCE = "at-least-once, 1,960 of 2,000 inputs processed; unprocessed 40, reprocessed 1,234, invented 1"


def _result(*arms: ArmResult) -> ExperimentResult:
    return ExperimentResult(
        experiment="e", title="t", description="", arms=arms, started_ns=0, seconds=1.0, command="run"
    )


def test_inputs_and_findings_about_outputs_are_counted() -> None:
    assert application_sentence(_arm(**COUNTED)) == SENTENCE
    assert application_sentence(_arm(inputs=5, processed=5)) == "at-least-once, 5 of 5 inputs processed"
    unknown = "at-least-once, an unknown number of 5 inputs processed"
    assert application_sentence(_arm(inputs=5)) == unknown


def test_its_own_exits_are_in_the_sentence() -> None:
    assert application_sentence(_arm(*EXITS, **COUNTED)) == f"{SENTENCE}; {EXIT_WORDS}"
    once = "; ended by itself 1 time: instance 0 at 12.30 s"
    assert once in str(application_sentence(_arm(EXITS[0], inputs=5, processed=5)))
    many = application_sentence(_arm(*[_exit(n) for n in range(9)], inputs=5, processed=5))
    assert str(many).count("KeyError") == 3
    assert str(many).endswith("; and 6 more")
    long = str(application_sentence(_arm(_exit(1, last_lines="x" * 900), inputs=5, processed=5)))
    assert long.endswith("x" * 160 + "...")
    assert long.count("x") == 160


def test_without_an_application_or_a_check_nothing_is_said() -> None:
    assert application_sentence(_arm()) is None
    assert application_sentence(_arm(with_application=False, **COUNTED)) is None


def test_the_columns_of_applications_are_there_if_an_arm_has_one() -> None:
    with_one, without = _arm(**COUNTED), _arm(name="plain", with_application=False, sent=3)
    assert columns([without]) == COLUMNS
    assert tuple(table(_result(without)).columns) == COLUMNS
    names = ("processed", "unprocessed", "reprocessed")
    assert columns([without, with_one]) == (*COLUMNS[:6], *names, *COLUMNS[6:])
    found = table(_result(with_one, without, _arm(name="unknown", inputs=7)))
    rows = [
        {name: getattr(cell, "text", cell) for name, cell in zip(found.columns, cells, strict=True)}
        for cells in found.rows
    ]
    assert [[row[name] for name in ("arm", *names)] for row in rows] == [
        ["only", "1,960", "40", "1,234"],
        ["plain", "-", "-", "-"],
        ["unknown", "-", "-", "-"],
    ]


def test_the_table_fits_a_terminal_of_80_columns() -> None:
    counted = COUNTED | {"sent": 12_000, "outcomes": {"acked": 12_000}, "inputs": 12_000, "processed": 11_960}
    out = io.StringIO()
    print_table(Console(file=out, width=80), table(_result(_arm(name="commits-at-once", **counted))))
    *_, headers, row = out.getvalue().splitlines()
    assert " ".join(headers.split()) == "arm acked lost cates cessed cessed cessed verdict promised"
    assert " ".join(row.split()) == "commits-at-once 12,000 0 0 11,960 40 1,234 invalid no"


def test_table_explanation_page_and_timeline_say_it(tmp_path: Path) -> None:
    arm = _arm(*EXITS, **COUNTED)
    assert f"only: {SENTENCE}" in str(table(_result(arm)).title)
    assert f"application: {SENTENCE}; {EXIT_WORDS}" in explanation(arm)
    write_run(tmp_path / "only", History().send(0, at=1), meta=arm.meta)
    page = write_report(_result(arm), tmp_path).read_text()
    assert f"The application: {SENTENCE}; ended by itself 2 times" in page
    for number in ("1,960", "40", "1,234"):
        assert f">{number}<" in page
    assert "KeyError: &#39;&lt;b&gt;id" in page
    assert "<b>id" not in page
    (row,) = [
        one
        for one in lay_out(read_timeline(tmp_path / "only", arm.meta), arm.meta).mark_rows
        if one.label == "exit"
    ]
    assert [one.hint for one in row.marks] == [
        "ended by itself: instance 0 at 12.30 s with code 1, started again: KeyError: '<b>id</b>'",
        "ended by itself: instance 1 at 15.00 s with code 137: nothing was printed",
    ]
    first = row.marks[0].x
    assert first < row.marks[1].x
    assert 'class="exit-mark"' in page
    assert "the application ended by itself" in page
    assert page.count("kill-1, kill-2") == 0
    assert "Traceback (most recent call last):" in page
