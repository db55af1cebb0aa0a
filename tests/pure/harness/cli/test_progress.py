"""Progress lines: each new activity at once, running counts now and then, text as it is."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from harness.cli.options import show_progress
from harness.model.progress import report_notice, report_progress

pytestmark = pytest.mark.pure


def output_of(*texts: str, terminal: bool = False, quiet: bool = False) -> str:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=200, color_system=None)
    with show_progress(console, quiet):
        for text in texts:
            report_progress(text)
    return stream.getvalue()


def test_a_log_gets_each_activity_once() -> None:
    output = output_of("run · arm · step · sent 1", "run · arm · step · sent 2", "run · arm · healing")
    assert output.splitlines() == ["run · arm · step · sent 1", "run · arm · healing"]


def test_experiments_side_by_side_do_not_repeat_each_other() -> None:
    output = output_of(
        "a · arm · 1 · 0", "b · arm · 1 · 0", "a · arm · 1 · 1", "b · arm · 1 · 1", "a · arm · 2"
    )
    assert output.splitlines() == ["a · arm · 1 · 0", "b · arm · 1 · 0", "a · arm · 2"]


def test_a_running_activity_is_shown_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([0.0, 1.0, 6.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(moments))
    output = output_of("a · b · c · 1", "a · b · c · 2", "a · b · c · 3")
    assert output.splitlines() == ["a · b · c · 1", "a · b · c · 3"]


@pytest.mark.parametrize("terminal", [True, False])
def test_brackets_are_text(terminal: bool) -> None:
    assert "partition(s) [0]" in output_of("files of partition(s) [0]", terminal=terminal)


def test_quiet_shows_nothing() -> None:
    assert output_of("a", "b", quiet=True) == ""


@pytest.mark.parametrize("quiet", [True, False])
@pytest.mark.parametrize("terminal", [True, False])
def test_a_notice_is_shown_to_those_who_want_no_progress(quiet: bool, terminal: bool) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=20, color_system=None)
    text = "export KAFKA_CHAOS_JOURNAL=/results/[1]/producers\nexport KAFKA_CHAOS_RUN=17\n"
    with show_progress(console, quiet):
        report_progress("waiting")
        report_notice(text)
    assert text in stream.getvalue(), "whole lines, as they are"
    assert ("waiting" in stream.getvalue()) is not quiet
