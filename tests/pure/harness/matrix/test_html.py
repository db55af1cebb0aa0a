"""The report of a matrix, its CSV and its Markdown: whole, and with nothing from outside in them."""

from __future__ import annotations

import csv
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from harness.matrix.page import csv_text, headline, junit_text, matrix_page, overall, worst_runs, write_pages
from harness.matrix.result import MatrixResult
from harness.matrix.table import heat_maps
from harness.model import secrets
from harness.model.errors import KafkaChaosError
from harness.page import html as page_html
from harness.page import markdown
from harness.page.blocks import Cell, Table
from tests.pure.harness.matrix.test_runner import begun
from tests.support.fake_backend import FakeBackend

pytestmark = pytest.mark.pure

REFUSED, UNKNOWN = "acks=1_fault=kill", "acks=all_fault=none"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, MatrixResult]:
    folder = tmp_path_factory.mktemp("matrix")
    rig = FakeBackend(folder / "log", refuse=REFUSED, unknown=(UNKNOWN, "002"))
    store, result = begun(folder, rig)
    return store.folder, result


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def read(text: str) -> Tags:
    tags = Tags()
    tags.feed(text)
    return tags


def render(result: MatrixResult, folder: Path) -> str:
    return page_html.render(matrix_page(result, worst_runs(result, folder)))


def markdown_text(result: MatrixResult) -> str:
    return markdown.render(matrix_page(result))


def test_every_arm_has_its_place_on_every_map(made: tuple[Path, MatrixResult]) -> None:
    _, result = made
    maps = [table for one in heat_maps(result) for table in one.blocks if isinstance(table, Table)]
    assert [one.columns for one in maps] == [("acks", "fault: kill", "fault: none")] * 3
    for one in maps:
        assert [row[0] for row in one.rows] == ["1", "all"]
        cells = [cell for row in one.rows for cell in row[1:]]
        assert len(cells) == len(result.arms)
        assert all(isinstance(cell, Cell) and cell.text != "not in the matrix" for cell in cells)
    (_, refused, _), (_, kill, _) = maps[0].rows
    assert isinstance(refused, Cell)
    assert isinstance(kill, Cell)
    assert REFUSED == "acks=1_fault=kill"
    assert (refused.heat, refused.text) == (None, "refused")
    assert kill.text.startswith("0 of ")
    assert kill.below.startswith("up to ")
    assert kill.heat == 0


def test_the_page_needs_nothing_and_says_the_outcome_first(made: tuple[Path, MatrixResult]) -> None:
    folder, result = made
    text = render(result, folder)
    tags = read(text)
    assert not [tag for tag, _ in tags.seen if tag in ("script", "link", "img", "iframe", "object", "form")]
    assert not re.findall(r"(?:src|href)=\"(?!#)", text)
    assert "http" not in text.replace("http-equiv", "")
    assert text.index(headline(result)) < text.index("<table")
    levels = [int(tag[1]) for tag, _ in tags.seen if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert all(row.get("tabindex") == "0" for tag, row in tags.seen if row.get("class") == "scroll")
    assert result.command in tags.text
    assert "1 of " in tags.text, "runs that count nowhere are said"


def test_a_refusal_is_told_once_and_cells_refer_to_it(tmp_path: Path) -> None:
    store, result = begun(tmp_path, FakeBackend(tmp_path / "log", refuse=REFUSED))
    (reason,) = {arm.reason for arm in result.arms if arm.reason is not None}
    arms = tuple(
        arm.model_copy(update={"state": "refused", "reason": reason, "figures": None, "runs": ()})
        for arm in result.arms
    )
    text = render(result.model_copy(update={"arms": arms}), store.folder)
    assert read(text).text.count(reason) == 1
    assert text.count('href="#note-1"') == 3 * len(arms)
    assert text.count('id="note-1"') == 1


def test_the_headline_is_not_green_above_cells_with_losses(made: tuple[Path, MatrixResult]) -> None:
    _, result = made
    (arm,) = (arm for arm in result.arms if arm.name == "acks=all_fault=kill")
    assert arm.figures is not None
    assert (result.exit_code(), arm.figures.with_loss.k) == (0, 0)
    quiet = result.model_copy(update={"arms": (arm,)})
    losing = arm.figures.with_loss.model_copy(update={"k": arm.figures.runs})
    lost = arm.model_copy(update={"figures": arm.figures.model_copy(update={"with_loss": losing})})
    assert overall(quiet) == "good"
    assert overall(quiet.model_copy(update={"arms": (lost,)})) == "unclear"


def test_an_interval_with_one_end_is_explained(made: tuple[Path, MatrixResult]) -> None:
    folder, result = made
    text = read(render(result, folder)).text
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
