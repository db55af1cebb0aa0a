"""`python -m harness.docgen`: one command for all generated pages."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from harness.docgen import __main__ as docgen

pytestmark = pytest.mark.pure


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """Stand-ins for the modules of pages: `bugs` has drifted, and takes results."""
    empty = {"FOLDER": tmp_path / "docs", "SUFFIXES": ()}
    found: dict[str, Any] = {name: SimpleNamespace(**empty, pages=dict) for name in docgen._PAGES}
    found["bugs"] = SimpleNamespace(**empty, pages=lambda: {"bugs.md": "new"}, taken=[])
    found["bugs"].take = lambda results, more: found["bugs"].taken.extend((*results, *["more"] * more))
    monkeypatch.setattr(
        docgen, "importlib", SimpleNamespace(import_module=lambda name: found[name.rpartition(".")[2]])
    )
    return found


def call(*arguments: str) -> Any:
    app = typer.Typer()
    app.command()(docgen.main)
    return CliRunner().invoke(app, arguments)


def test_drifted_pages_are_listed_with_exit_code_1(modules: dict[str, Any]) -> None:
    done = call()
    assert done.exit_code == 1
    assert "bugs: drifted: bugs.md" in done.stdout
    assert "faults: up to date" in done.stdout
    assert len(modules) == len(done.stdout.splitlines())


def test_pages_that_are_not_named_are_left_alone(modules: dict[str, Any]) -> None:
    assert modules
    assert call("faults", "journals").exit_code == 0


def test_writing_succeeds_and_names_the_files(modules: dict[str, Any]) -> None:
    assert modules
    done = call("--write")
    assert done.exit_code == 0
    assert "bugs: written: bugs.md" in done.stdout


def test_results_are_found_below_a_folder(modules: dict[str, Any], tmp_path: Path) -> None:
    for run in ("a", "b"):
        (tmp_path / run).mkdir()
        (tmp_path / run / "bugs.json").write_text("[]")
    assert call("bugs", "--take", str(tmp_path)).exit_code == 0
    both = [tmp_path / "a" / "bugs.json", tmp_path / "b" / "bugs.json"]
    assert modules["bugs"].taken == both
    assert call("bugs", "--more", "--take", str(tmp_path)).exit_code == 0
    assert modules["bugs"].taken == [*both, *both, "more"]


@pytest.mark.parametrize("arguments", [("colours",), ("--take", "x"), ("faults", "--take", "x")])
def test_what_does_not_go_together_is_refused(modules: dict[str, Any], arguments: tuple[str, ...]) -> None:
    assert modules
    assert call(*arguments).exit_code == 2


def test_every_page_has_what_the_command_needs() -> None:
    import importlib

    for name in docgen._PAGES:
        module = importlib.import_module(f"harness.docgen.{name}")
        assert callable(module.pages), name
        assert module.FOLDER.is_dir(), name
        assert isinstance(module.SUFFIXES, tuple), name
