"""`python -m harness.cli.docgen`: one command for all generated pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from harness.cli.docgen import __main__ as docgen
from harness.cli.docgen.files import Pages, without_folder

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """Stand-ins for the pages, of which `bugs` has drifted, and takes results, which are returned."""
    results: list[Any] = []
    folder = tmp_path / "docs"
    found = {name: Pages(folder, dict) for name in docgen._PAGES}
    found["bugs"] = Pages(
        folder,
        lambda: {"bugs.md": "new"},
        take=lambda some, more: results.extend((*some, *["more"] * more)),
    )
    monkeypatch.setattr(docgen, "_PAGES", found)
    return results


def call(*arguments: str) -> Any:
    app = typer.Typer()
    app.command()(docgen.main)
    return CliRunner().invoke(app, arguments)


def test_drifted_pages_are_listed_with_exit_code_1() -> None:
    done = call()
    assert done.exit_code == 1
    assert "bugs: drifted: bugs.md" in done.stdout
    assert "faults: up to date" in done.stdout
    assert len(docgen._PAGES) == len(done.stdout.splitlines())


def test_pages_that_are_not_named_are_left_alone() -> None:
    assert call("faults", "journals").exit_code == 0


def test_writing_succeeds_and_names_the_files() -> None:
    done = call("--write")
    assert done.exit_code == 0
    assert "bugs: written: bugs.md" in done.stdout


def test_results_are_found_below_a_folder(taken: list[Any], tmp_path: Path) -> None:
    for run in ("a", "b"):
        (tmp_path / run).mkdir()
        (tmp_path / run / "bugs.json").write_text("[]")
    assert call("bugs", "--take", str(tmp_path)).exit_code == 0
    both = [tmp_path / "a" / "bugs.json", tmp_path / "b" / "bugs.json"]
    assert taken == both
    assert call("bugs", "--more", "--take", str(tmp_path)).exit_code == 0
    assert taken == [*both, *both, "more"]


@pytest.mark.parametrize("arguments", [("colours",), ("--take", "x"), ("faults", "--take", "x")])
def test_what_does_not_go_together_is_refused(arguments: tuple[str, ...]) -> None:
    assert call(*arguments).exit_code == 2


def test_a_saved_command_names_no_folder() -> None:
    assert without_folder("kafka-chaos clients --results a/b --seed 4") == "kafka-chaos clients --seed 4"
    assert without_folder("kafka-chaos clients --results=here") == "kafka-chaos clients"
