"""The programs of a run in its report: how each ended, and what it printed last."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.program_meta import ProgramMeta
from harness.report.page.blocks import text_of
from harness.report.run_page import write_report
from tests.support.builders.results import SECOND, START, meta
from tests.support.builders.results import arm as arm_result
from tests.support.builders.results import result as experiment_result
from workloads.own.own_words import programs_table

pytestmark = pytest.mark.pure

PROGRAMS = (
    ProgramMeta(
        name="program of producer 0",
        output="producers/program-0.log",
        started_ns=START + SECOND,
        ended_ns=START + 3 * SECOND,
        code=7,
        last_lines="Traceback\n            KeyError: '<b>id</b>'",
    ),
    ProgramMeta(
        name="program of producer 1",
        output="producers/program-1.log",
        started_ns=START + SECOND,
        ended_ns=START + 9 * SECOND,
        code=143,
        stopped=True,
        last_lines="nothing was printed",
    ),
    ProgramMeta(
        name="program of producer 2", output="producers/program-2.log", started_ns=0, last_lines="why"
    ),
    ProgramMeta(name="program of producer 3", output="producers/program-3.log", started_ns=START),
)


def test_each_program_is_a_row() -> None:
    table = programs_table(meta().model_copy(update={"programs": PROGRAMS}))
    assert [row[:4] for row in table.rows] == [
        ("program of producer 0", "1.00 s", "3.00 s", "by itself, code 7"),
        ("program of producer 1", "1.00 s", "9.00 s", "by the run, code 143"),
        ("program of producer 2", "not started", "", "it could not be started"),
        ("program of producer 3", "0.00 s", "", "it was running"),
    ]
    assert "KeyError: '<b>id</b>'" in text_of(table.rows[0][5])


def test_a_run_without_programs_has_no_table() -> None:
    assert list(programs_table(meta()).rows) == []


def test_what_a_program_printed_last_is_text_on_the_page(tmp_path: Path) -> None:
    changed = {"meta": meta().model_copy(update={"programs": PROGRAMS})}
    arm = arm_result().model_copy(update=changed)
    page = write_report(experiment_result(arm), tmp_path).read_text()
    assert "Programs that the run started" in page
    assert "KeyError: &#39;&lt;b&gt;id&lt;/b&gt;&#39;" in page
    assert "producers/program-0.log" in page
