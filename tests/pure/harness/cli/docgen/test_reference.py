"""The documentation site: its reference is what the code says, and it builds without a warning."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from harness.cli.app import app
from harness.cli.docgen import reference
from harness.spec.experiment import Experiment
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure


def test_the_reference_is_up_to_date() -> None:
    assert reference.PAGES.drifted() == [], "make docs writes it anew"


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return reference.pages()


def test_every_command_and_every_option_is_there(pages: dict[str, str]) -> None:
    page = pages["cli.md"]
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        if command.hidden:
            assert f"## {name}\n" not in page
            continue
        section = page.partition(f"## {name}\n")[2].partition("\n## ")[0]
        assert section, name
        assert all(option in section for one in command.params for option in one.opts if option[:2] == "--")


def test_every_key_of_an_experiment_is_there(pages: dict[str, str]) -> None:
    page = pages["experiment-files.md"]
    assert all(f"| `{key}` |" in page for key in Experiment.model_json_schema()["properties"])
    anchors = {heading.lower() for heading in re.findall(r"^## (.+)$", page, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) <= anchors


def test_functions_and_methods_are_there_with_types_parameters_and_errors(pages: dict[str, str]) -> None:
    page = pages["python.md"]
    run = page.partition("### `run_experiment`\n")[2].partition("\n### ")[0]
    assert "    arms: Sequence[str] = ()," in run
    assert re.search(r"- \*\*arms\*\* \(`Sequence\[str\]`\) . names of the arms to run", run)
    assert re.search("- `BadInput` . no such experiment", run)
    chaos = page.partition("### `Chaos`\n")[2].partition("\n### ")[0]
    assert re.findall("^#### `(.+)`$", chaos, re.MULTILINE) == ["__call__", "application", "started", "fault"]
    assert "](#" not in page


def test_the_page_of_commands_begins_with_a_list_of_all(pages: dict[str, str]) -> None:
    listed = pages["cli.md"].partition("\n## ")[0]
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert {name for name in commands if f"| [`{name}`](#{name}) |" in listed} == {
        name for name, command in commands.items() if not command.hidden
    }


@pytest.mark.parametrize(
    ("link", "dead"),
    [
        ("other.md", ""),
        ("nowhere.md", "nowhere.md"),
        ("other.md#none", "none"),
        ("../README.md", "../README.md"),
    ],
)
def test_the_site_is_not_built_with_a_dead_link(link: str, dead: str, tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: make setup")
    config = (ROOT / "mkdocs.yml").read_text()
    validation = config[config.index("validation:") : config.index("not_in_nav:")]
    (tmp_path / "mkdocs.yml").write_text(f"site_name: s\nplugins: []\n{validation}")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text(f"# Home\n\n[a link]({link})\n")
    (tmp_path / "docs" / "other.md").write_text("# Other\n")
    made = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (made.returncode == 0) == (dead == ""), made.stderr
    assert dead in made.stderr


def test_the_site_builds_and_fetches_nothing(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: make setup")
    made = subprocess.run(
        [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "--site-dir",
            str(tmp_path / "site"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        loaded = re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"(https?://[^\"]+)", page.read_text())
        assert not loaded, (page, loaded)
