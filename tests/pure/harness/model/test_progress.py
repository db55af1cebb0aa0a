"""Progress messages: what they are reported under, and which of them a log gets."""

from __future__ import annotations

import pytest

from harness.model.progress import progress_on_stdout, progress_under, report_progress

pytestmark = pytest.mark.pure


def test_a_message_is_taken_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    report_progress("100 % of partition(s) [0]")
    assert caplog.messages == ["100 % of partition(s) [0]"]


def test_heads_nest_and_end_with_their_block(caplog: pytest.LogCaptureFixture) -> None:
    with progress_under("run 3, 5 min left · arm 1", last_part=True):
        with progress_under("experiment · arm"):
            report_progress("step · sent 1")
        report_progress("healing")
    report_progress("done")
    assert caplog.messages == [
        "run 3, 5 min left · arm 1 · sent 1",
        "run 3, 5 min left · arm 1 · healing",
        "done",
    ]


def test_on_stdout_an_activity_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_on_stdout("images: "):
        for message in ("a · b · c · 1", "a · b · c · 2", "a · b · d"):
            report_progress(message)
    report_progress("nobody listens")
    assert capsys.readouterr().out == "images: a · b · c · 1\nimages: a · b · d\n"


def test_a_message_can_always_be_written_as_text(caplog: pytest.LogCaptureFixture) -> None:
    report_progress("a node ended: \ud800")
    assert caplog.messages == ["a node ended: ?"]
