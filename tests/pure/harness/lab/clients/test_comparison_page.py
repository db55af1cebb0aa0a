"""What came of a comparison: counts of each run, cells, the table, JUnit and the exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from harness.lab.clients.client_run import ClientRun, cells_of, client_run, span_of
from harness.lab.clients.comparison_result import CLIENTS_FILE, ClientsResult, load_comparison
from harness.lab.clients.page import comparison_page, junit_text, write_pages
from harness.many.run_store import RunStore
from harness.model.errors import JournalError
from harness.model.finding_class import FindingClass
from harness.model.journal import SENDS, SENDS_DIR
from harness.model.result import VerdictWord
from harness.report.page import markdown
from tests.support.builders.results import arm
from tests.support.builders.run_folders import save, send

pytestmark = pytest.mark.pure


def ran(client: str = "one", fault: str = "kill", **more: Any) -> ClientRun:
    fields: dict[str, Any] = {
        "client": client,
        "mode": "default",
        "fault": fault,
        "kafka": "4.4.0",
        "folder": "f",
        "verdict": VerdictWord.VALID,
        "reasons": ("a reason",),
        "acks": "all",
        "idempotent": True,
        "sent": 2000,
        "acked": 2000,
        "longest_gap": 9.5,
    }
    return ClientRun.model_validate(fields | more)


def compared(*runs: ClientRun, **more: Any) -> ClientsResult:
    fields: dict[str, Any] = {"command": "c", "started_ns": 1, "repeat": 1, "runs": runs}
    return ClientsResult.model_validate(
        fields | {"titles": {"kill": "the leader is killed"}, "says": {"one default": "One()"}} | more
    )


def test_a_run_is_counted_from_its_journal_and_its_summary(tmp_path: Path) -> None:
    rows = [
        send(0.1, 0.2),
        send(0.2, 0.3),
        {**send(0.3, 0.9, "indeterminate"), "error": "EOF"},
        {**send(0.4, 0.9, "indeterminate"), "error": "EOF"},
        {**send(0.5, 0.9, "rejected"), "error": "TOO_LARGE"},
        {**send(0.6, None, "indeterminate"), "error": "_NO_REPORT"},
    ]
    checked = arm("one-2.0_acks=1", False)
    save(tmp_path / "kill-1" / checked.folder / SENDS_DIR, 0, rows, SENDS)
    run = client_run("kill", checked, tmp_path / "kill-1", tmp_path)
    assert (run.client, run.mode, run.acks, run.folder) == ("one-2.0", "acks=1", "1", "kill-1/one-2.0_acks=1")
    assert (run.acked, run.failed, run.unreported) == (2, {"EOF": 2, "TOO_LARGE": 1}, 1)
    assert (run.lost, run.longest_gap, run.sent) == (2400, 3.2, 10)
    assert checked.summary is not None
    assert checked.summary.count(FindingClass.LOST) == run.lost


def test_a_run_without_a_summary_has_no_counts(tmp_path: Path) -> None:
    broken = arm("one_default", None).model_copy(update={"summary": None})
    run = client_run("kill", broken, tmp_path, tmp_path)
    assert not run.counts
    assert run.sent == 0


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], "-"),
        ([None], "-"),
        ([3], "3"),
        ([7, 7], "7"),
        ([1060, 104, 717], "717 (104 to 1,060)"),
        ([9.5, 9.0], "9.2 (9 to 9.5)"),
    ],
)
def test_spans(values: list[float | None], text: str) -> None:
    assert span_of(values) == text


def test_a_run_that_proves_nothing_is_in_no_figure() -> None:
    unknown = ran(verdict=VerdictWord.UNKNOWN, lost=500, reasons=("the program ended with code 1",))
    (cell,) = cells_of([ran(), ran(lost=4, failed={"EOF": 2, "refused": 3}), unknown])
    assert cell.span("lost") == "2 (0 to 4)"
    assert cell.errors == {"refused": 3, "EOF": 2}
    assert (cell.share_with("lost").k, cell.share_with("lost").n) == (1, 2)
    page = markdown.render(comparison_page(compared(ran(), unknown)))
    assert "1 (+1)" in page
    assert "one, default, kill: a run proves nothing: the program ended with code 1" in page


def test_the_page_says_what_is_left_out_and_which_offsets_were_wrong() -> None:
    result = compared(ran(wrong_offsets=3), left_out={"two": "no go on PATH"})
    page = markdown.render(comparison_page(result))
    assert "two was left out: no go on PATH" in page
    assert "3 success reports named a wrong offset" in page
    assert "the leader is killed" in page
    assert "`one default`: One()" in page


def test_shares_of_runs_have_their_interval() -> None:
    page = markdown.render(comparison_page(compared(*(ran(lost=lost, duplicates=1) for lost in (0, 3, 0)))))
    assert "one, default: lost in 1 of 3 runs (1% to 91%), twice in 3 of 3 runs (from 37%)" in page


def test_loss_without_a_confirmation_stands_in_brackets() -> None:
    page = markdown.render(
        comparison_page(compared(ran(acks="0", idempotent=False, unconfirmed_absent=1297)))
    )
    assert "(1,297)" in page


@pytest.mark.parametrize(
    ("result", "judged", "code"),
    [
        (compared(ran()), (), 0),
        (compared(ran(verdict=VerdictWord.INVALID)), (), 0),
        (compared(ran(verdict=VerdictWord.INVALID)), ("one",), 1),
        (compared(ran(verdict=VerdictWord.UNKNOWN)), (), 3),
        (compared(ran(), left_out={"two": "no go"}), (), 3),
        (compared(), (), 3),
    ],
)
def test_exit_codes(result: ClientsResult, judged: tuple[str, ...], code: int) -> None:
    assert result.exit_code(judged) == code


def test_junit_has_a_case_for_each_run() -> None:
    runs = (ran(), ran(verdict=VerdictWord.INVALID), ran(verdict=VerdictWord.UNKNOWN))
    suite = Xml.fromstring(junit_text(compared(*runs)))[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert [case.get("name") for case in suite] == ["kill 1", "kill 2", "kill 3"]


def test_a_result_is_read_again_and_its_pages_written(tmp_path: Path) -> None:
    result = compared(ran(), ran("two", "pause", duplicates=3))
    RunStore[Any](tmp_path).write(CLIENTS_FILE, result)
    assert load_comparison(tmp_path) == result
    assert load_comparison(tmp_path / "clients.json") == result
    assert write_pages(result, tmp_path).name == "report.html"
    assert {path.name for path in tmp_path.iterdir()} >= {"clients.md", "clients.junit.xml", "report.html"}
    with pytest.raises(JournalError, match="there is no comparison of clients here"):
        load_comparison(tmp_path / "elsewhere.json")
