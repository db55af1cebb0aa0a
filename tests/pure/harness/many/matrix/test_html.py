"""The report of a matrix, its CSV and its Markdown: whole, and with nothing from outside in them."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
import yaml
from rich.console import Console

from harness.many.matrix.charts import measures
from harness.many.matrix.compare import compare
from harness.many.matrix.done import what_was_done
from harness.many.matrix.page import (
    csv_text,
    headline,
    junit_text,
    matrix_page,
    overall,
    worst_runs,
    write_pages,
)
from harness.many.matrix.result import MatrixResult
from harness.many.matrix.spec import MATRIX
from harness.many.matrix.table import comparison, table
from harness.model import secrets
from harness.model.errors import KafkaChaosError
from harness.report.page import html as page_html
from harness.report.page import markdown
from harness.report.page.blocks import Cell, Section, Table
from harness.report.page.terminal import print_blocks, print_page
from tests.support.builders.matrices import SMALL, run_matrix, run_one_axis
from tests.support.builders.matrix_results import with_broken_promise
from tests.support.fake_backend import FakeBackend
from tests.support.page_tags import Page

pytestmark = pytest.mark.pure

REFUSED, UNKNOWN = "acks=1_fault=kill", "acks=all_fault=none"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, MatrixResult]:
    folder = tmp_path_factory.mktemp("matrix")
    rig = FakeBackend(folder / "log", refuse=REFUSED, unknown=(UNKNOWN, "002"))
    store, result = run_matrix(folder, rig)
    return store.folder, result


@pytest.mark.parametrize("runs_with_loss", [0, 1])
def test_seconds_without_a_report_say_that_records_were_lost(
    made: tuple[Path, MatrixResult], runs_with_loss: int
) -> None:
    """0.0 of a leader that was cut off and went on to acknowledge is not the best cell."""
    arm = next(arm for arm in made[1].arms if arm.figures is not None and arm.figures.runs)
    assert arm.figures is not None
    share = replace(arm.figures.with_loss, k=runs_with_loss)
    figures = arm.figures.model_copy(update={"with_loss": share})
    result = made[1].model_copy(update={"arms": (arm.model_copy(update={"figures": figures}),)})
    said = [cell for row in table(result).rows for cell in row if str(cell).endswith(", some lost")]
    assert len(said) == runs_with_loss
    assert ("is no sign of availability" in table(result).note) == bool(runs_with_loss)
    assert ("s, some lost" in str(measures(result))) == bool(runs_with_loss)


def render(result: MatrixResult, folder: Path) -> str:
    return page_html.render(matrix_page(result, worst_runs(result, folder)))


def markdown_text(result: MatrixResult) -> str:
    return markdown.render(matrix_page(result))


def test_every_arm_has_its_place_on_every_map(made: tuple[Path, MatrixResult]) -> None:
    _, result = made
    sections = [one for one in measures(result) if isinstance(one, Section)]
    maps = [table for one in sections for table in one.blocks if isinstance(table, Table)]
    assert [one.columns for one in maps] == [("acks", "fault=kill", "fault=none")] * 3
    for one in maps:
        assert [row[0] for row in one.rows] == ["acks=1", "acks=all"]
        cells = [cell for row in one.rows for cell in row[1:]]
        assert len(cells) == len(result.arms)
        assert all(isinstance(cell, Cell) and cell.text != "not in the matrix" for cell in cells)
        assert all(isinstance(cell, Cell) and cell.status is None for cell in cells), "no promise is broken"
    (_, refused, _), (_, kill, _) = maps[0].rows
    assert isinstance(refused, Cell)
    assert isinstance(kill, Cell)
    assert REFUSED == "acks=1_fault=kill"
    assert refused.text == "refused"
    assert kill.text.startswith("0 of ")
    assert kill.below.startswith("up to ")


@pytest.mark.parametrize(("finding", "coloured"), [("lost", 0), ("duplicate", 1), ("phantom", None)])
def test_only_what_breaks_a_promise_is_coloured(
    made: tuple[Path, MatrixResult], finding: str, coloured: int | None
) -> None:
    changed = with_broken_promise(made[1], "acks=all_fault=kill", finding)
    sections = [one for one in measures(changed) if isinstance(one, Section)]
    maps = [table for one in sections for table in one.blocks if isinstance(table, Table)]
    found = [
        (number, row[0], cell.below)
        for number, one in enumerate(maps)
        for row in one.rows
        for cell in row[1:]
        if isinstance(cell, Cell) and cell.status is not None
    ]
    if coloured is None:
        assert found == []
    else:
        ((number, arm, below),) = found
        assert (number, arm) == (coloured, "acks=all")
        assert below.endswith(", promise broken in 1 run")
    (kept,) = [row[-1] for row in table(changed).rows if row[:2] == ("all", "kill")]
    assert kept == Cell("3 of 3", "bad", strong=True), "the table shows every broken promise"


def test_one_axis_is_drawn_as_bars_with_intervals(tmp_path: Path) -> None:
    result = run_one_axis(tmp_path)
    text = render(result, tmp_path)
    titles = re.findall(r'<title id="chart-[^"]*">(.*?)</title>', text)
    assert titles[0] == "Runs that lost acknowledged records"
    assert titles[-1] == "Seconds without a success report"
    assert "Lost per million acknowledged records" in titles
    assert 'class="map"' not in text
    assert '<th scope="col">all</th>' not in text, "no column is headed by a level alone"
    shares = re.findall(r"<svg.*?</svg>", text, re.DOTALL)[0]
    (one, all_) = (arm.figures.with_loss for arm in result.arms if arm.figures is not None)
    assert f">{one} (" in shares
    assert ">acks=1<" in shares
    assert ">acks=all<" in shares
    assert f"acks=all: 0 of 3 (up to {all_.high:.0%})" in shares
    assert shares.count('class="interval"') == 2
    assert 'class="broken"' not in text
    lost = with_broken_promise(result, "acks=all", "lost")
    text = render(lost, tmp_path)
    assert text.count('<rect class="broken"') == titles.index("Seconds without a success report") - 1
    assert "promise broken in 1 run" in text


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "Each run: write for 5 s; fault=kill: `kill leader: 0` at 1 s for 2 s; fault=none: no fault."),
        ({"axes": {"acks": SMALL["axes"]["acks"]}}, "Each run: write for 5 s; no fault."),
    ],
)
def test_what_was_done_is_one_line(tmp_path: Path, changes: dict[str, Any], expected: str) -> None:
    _, result = run_matrix(tmp_path, FakeBackend(tmp_path / "log"), **changes)
    arms = len(result.arms)
    told = f"Done: 3 runs of each of {arms} configurations, 10,000 records per run. {expected}"
    assert what_was_done(result) == told
    page = matrix_page(result)
    assert told in markdown.render(page)
    out = io.StringIO()
    print_page(Console(file=out, width=80), page)
    assert told in out.getvalue().splitlines()
    assert what_was_done(result.model_copy(update={"arms": ()})) == ""


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (
            [
                {"write": {"name": "first", "records": 1}},
                {"wait": {"replicated": True}},
                {"inject": {"kill": {"target": {"leader": 0}}}},
                {"heal": {}},
            ],
            "Each run: write 1 record, then `kill leader: 0`",
        ),
        (
            [
                {
                    "write": {
                        "name": "busy",
                        "seconds": 9,
                        "faults": [
                            {"fault": {"pause": {"target": {"leader": 0}}}, "every": 4, "for": 1},
                            {"fault": {"kill": {"target": "controller"}}, "after": {"acked": 5}, "for": 2},
                            {
                                "sequence": [
                                    {"fault": {"kill": {"target": {"leader": 0}}}, "for": 1},
                                    {
                                        "together": [
                                            {"fault": {"pause": {"target": {"leader": 0}}}, "for": 1},
                                            {"fault": {"pause": {"target": {"followers": 0}}}, "for": 2},
                                        ]
                                    },
                                ],
                                "at": 3,
                            },
                            {
                                "random": {
                                    "menu": [{"fault": {"kill": {"target": {"leader": 0}}}, "for": 1}],
                                    "every": [3, 6],
                                }
                            },
                        ],
                    }
                }
            ],
            "Each run: write for 9 s during `pause leader: 0` every 4 s for 1 s and `kill controller` for "
            "2 s when 5 records are acknowledged and (`kill leader: 0` for 1 s, then (`pause leader: 0` for "
            "1 s together with `pause followers: 0` for 2 s)) at 3 s and a random choice of kill every 3 to "
            "6 s",
        ),
    ],
)
def test_steps_and_faults_of_any_kind_are_told(
    made: tuple[Path, MatrixResult], steps: list[dict[str, Any]], expected: str
) -> None:
    spec = MATRIX.parse(
        yaml.safe_dump(SMALL | {"base": {"steps": steps}, "axes": {"acks": SMALL["axes"]["acks"]}}), "x.yaml"
    )
    told = what_was_done(made[1].model_copy(update={"spec": spec.stored_form()}))
    assert told.endswith(f" {expected}.")


def test_the_page_needs_nothing_and_says_the_outcome_first(made: tuple[Path, MatrixResult]) -> None:
    folder, result = made
    text = render(result, folder)
    page = Page(text)
    assert not [tag for tag, _ in page.tags if tag in ("script", "link", "img", "iframe", "object", "form")]
    assert not re.findall(r"(?:src|href)=\"(?!#)", text)
    assert "http" not in text.replace("http-equiv", "")
    assert text.index(headline(result)) < text.index("<table")
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert all(row.get("tabindex") == "0" for tag, row in page.tags if row.get("class") == "scroll")
    assert result.command in page.text
    assert "1 of " in page.text, "runs that count nowhere are said"


def test_a_refusal_is_told_once_and_cells_refer_to_it(tmp_path: Path) -> None:
    store, result = run_matrix(tmp_path, FakeBackend(tmp_path / "log", refuse=REFUSED))
    (reason,) = {arm.reason for arm in result.arms if arm.reason is not None}
    arms = tuple(
        arm.model_copy(update={"state": "refused", "reason": reason, "figures": None, "runs": ()})
        for arm in result.arms
    )
    text = render(result.model_copy(update={"arms": arms}), store.folder)
    assert Page(text).text.count(reason) == 1
    assert text.count('href="#note-1"') == 3 * len(arms)
    assert text.count('id="note-1"') == 1


def test_the_headline_is_not_green_above_cells_with_losses(made: tuple[Path, MatrixResult]) -> None:
    _, result = made
    (arm,) = (arm for arm in result.arms if arm.name == "acks=all_fault=kill")
    assert arm.figures is not None
    assert (result.exit_code(), arm.figures.with_loss.k) == (0, 0)
    quiet = result.model_copy(update={"arms": (arm,)})
    losing = replace(arm.figures.with_loss, k=arm.figures.runs)
    lost = arm.model_copy(update={"figures": arm.figures.model_copy(update={"with_loss": losing})})
    assert overall(quiet) == "good"
    assert overall(quiet.model_copy(update={"arms": (lost,)})) == "unclear"


def test_an_interval_with_one_end_is_explained(made: tuple[Path, MatrixResult]) -> None:
    folder, result = made
    text = Page(render(result, folder)).text
    assert '"up to 45 %": no run showed it' in text
    assert '"from 55 %": every run showed it' in text


def test_what_came_from_outside_is_escaped(made: tuple[Path, MatrixResult]) -> None:
    folder, result = made
    evil = "<script>alert(1)</script>"
    changed = result.model_copy(
        update={
            "title": evil,
            "command": evil,
            "arms": tuple(arm.model_copy(update={"reason": evil, "name": evil}) for arm in result.arms),
        }
    )
    text = render(changed, folder)
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "<script" not in markdown_text(changed).replace(f"```text\n{evil}\n```", "")


def test_csv_has_a_row_an_arm(made: tuple[Path, MatrixResult]) -> None:
    _, result = made
    rows = list(csv.DictReader(csv_text(result).splitlines()))
    assert [row["arm"] for row in rows] == [arm.name for arm in result.arms]
    for row, arm in zip(rows, result.arms, strict=True):
        assert row["acks"] == arm.labels["acks"]
        if arm.figures is None:
            assert row["runs"] in ("", None)
            continue
        assert int(row["runs"]) == arm.figures.runs
        assert int(row["runs_with_loss"]) == arm.figures.with_loss.k
        assert float(row["loss_high"]) == pytest.approx(arm.figures.with_loss.high)
    by_name = {row["arm"]: row for row in rows}
    assert by_name[UNKNOWN]["left_out"] == "1"
    assert by_name[REFUSED]["state"] == "refused"


def test_markdown_is_one_table_with_its_notes(made: tuple[Path, MatrixResult]) -> None:
    _, result = made
    lines = markdown_text(result).splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + len(result.arms)
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1
    assert any(line.startswith("- ") and "refused by the client" in line for line in lines)


def test_a_narrow_terminal_has_a_block_per_arm(made: tuple[Path, MatrixResult]) -> None:
    _, result = made
    for width in (20, 40, 100):
        out = io.StringIO()
        print_page(Console(file=out, width=width), matrix_page(result))
        lines = [line.rstrip() for line in out.getvalue().splitlines()]
        titles = {f"acks={arm.labels['acks']}, fault={arm.labels['fault']}" for arm in result.arms}
        assert titles <= set(lines) if width < 100 else not titles & set(lines)
        assert ("  95 %            up to 63%" in lines) is (width < 100)


def test_a_comparison_on_a_narrow_terminal_is_whole(made: tuple[Path, MatrixResult]) -> None:
    _, result = made
    out = io.StringIO()
    found = compare(result, result, names=("base", "new"))
    print_blocks(Console(file=out, width=40), comparison(result, result, found))
    lines = out.getvalue().splitlines()
    assert "arm=acks=all_fault=kill" in lines
    assert "arm=acks=all_fault=kill, measure=unavailable seconds" in lines


def test_junit_has_a_case_an_arm(made: tuple[Path, MatrixResult]) -> None:
    _, result = made
    broken = result.arms[1].model_copy(
        update={"runs": tuple(run.model_copy(update={"as_promised": False}) for run in result.arms[1].runs)}
    )
    changed = result.model_copy(update={"arms": (result.arms[0], broken, *result.arms[2:])})
    suite = Xml.fromstring(junit_text(changed))
    assert (suite.get("tests"), suite.get("failures")) == (str(len(result.arms)), "1")
    found = {case.get("name"): [child.tag for child in case] for case in suite.findall("testcase")}
    assert found[broken.name] == ["failure"]
    assert found[REFUSED] == ["skipped"]
    assert found[UNKNOWN] == []


def test_a_folder_that_cannot_be_written_is_told(made: tuple[Path, MatrixResult], tmp_path: Path) -> None:
    _, result = made
    (tmp_path / "matrix.csv").mkdir()
    with pytest.raises(KafkaChaosError, match="cannot be written"):
        write_pages(result, tmp_path)


def test_a_secret_that_an_error_quotes_is_on_no_page(
    made: tuple[Path, MatrixResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "_KNOWN", {"correct-horse-battery"})
    write_pages(made[1].model_copy(update={"title": "with correct-horse-battery"}), tmp_path)
    left = [path.read_text() for path in tmp_path.iterdir()]
    assert len(left) == 4
    assert any("with" in text for text in left)
    assert not any("correct-horse" in text for text in left)


def test_without_any_run_nothing_can_be_said(made: tuple[Path, MatrixResult]) -> None:
    folder, result = made
    empty = result.model_copy(update={"arms": ()})
    assert headline(empty) == "No result: no run has a known verdict"
    assert "No result: no run" in render(empty, folder)
