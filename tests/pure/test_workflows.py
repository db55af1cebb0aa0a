"""The workflows and the action of this repository: they use what exists, and install from where they come."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.spec.experiment_files import EXPERIMENT
from tests.support.command_line import call
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure


def yaml_of(path: str) -> dict[Any, Any]:
    loaded = yaml.safe_load((ROOT / ".github" / path).read_text())
    assert isinstance(loaded, dict)
    return loaded


def test_workflows_use_what_exists_and_may_write_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called = yaml_of("workflows/chaos.yml")
    nightly_file = yaml_of("workflows/nightly.yml")
    action = yaml_of("actions/chaos/action.yml")
    # YAML reads the key `on` as true.
    inputs = called[True]["workflow_call"]["inputs"]
    job = nightly_file["jobs"]["chaos"]
    assert job["uses"] == "./.github/workflows/chaos.yml"
    assert set(job["with"]) <= set(inputs)
    runs = [step.get("run", "") for step in nightly_file["jobs"]["histories"]["steps"]]
    assert runs[-1] == "make test-histories HISTORIES=500"
    assert called["permissions"] == nightly_file["permissions"] == {"contents": "read"}
    for text, known in (
        ((ROOT / ".github/workflows/chaos.yml").read_text(), inputs),
        ((ROOT / ".github/actions/chaos/action.yml").read_text(), action["inputs"]),
    ):
        assert set(re.findall(r"inputs\.([a-z_]+)", text)) <= set(known)
        options = set(re.findall(r"(--[a-z-]+)", text)) - {"--no"}
        assert call(monkeypatch, "nightly", "--help") == 0
        told = capsys.readouterr().out
        assert "--last" in told
        assert all(option in told for option in options), options
    for default in (inputs["experiments"]["default"], action["inputs"]["experiments"]["default"]):
        assert set(default.split()) <= set(EXPERIMENT.builtin_names())


def test_scripts_of_workflows_take_inputs_from_the_environment_alone() -> None:
    steps = yaml_of("workflows/chaos.yml")["jobs"]["chaos"]["steps"]
    steps += yaml_of("actions/chaos/action.yml")["runs"]["steps"]
    scripts = [step["run"] for step in steps if "run" in step]
    assert scripts
    for script in scripts:
        assert "${{" not in script, "what others write must not become shell"
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def installing(path: str, tmp_path: Path, **environment: str) -> tuple[int, str, str]:
    """Run the step Install of a workflow or an action: exit code, what pip is given, what it prints."""
    loaded = yaml_of(path)
    steps = loaded["runs"]["steps"] if "runs" in loaded else loaded["jobs"]["chaos"]["steps"]
    (script,) = (step["run"] for step in steps if step.get("name") == "Install")
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\necho "$@" >pip\n')
    python.chmod(0o755)
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        env={**os.environ, **environment, "PATH": f"{python.parent}:{os.environ['PATH']}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    given = tmp_path / "pip"
    return done.returncode, given.read_text().strip() if given.exists() else "", done.stdout


def test_the_workflow_installs_from_the_commit_that_it_comes_from(tmp_path: Path) -> None:
    steps = yaml_of("workflows/chaos.yml")["jobs"]["chaos"]["steps"]
    (fetched,) = (step["with"] for step in steps if step.get("name") == "Fetch kafka-chaos")
    assert (fetched["repository"], fetched["ref"]) == (
        "${{ job.workflow_repository }}",
        "${{ job.workflow_sha }}",
    )
    own = tmp_path / fetched["path"]
    own.mkdir()
    (own / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    code, given, _ = installing("workflows/chaos.yml", tmp_path, INSTALL="")
    assert (code, given) == (0, f"-m pip install ./{fetched['path']}")


def test_the_workflow_says_what_to_do_where_it_cannot_know_its_own_repository(tmp_path: Path) -> None:
    (tmp_path / ".kafka-chaos").mkdir()
    (tmp_path / ".kafka-chaos" / "pyproject.toml").write_text('[project]\nname = "the-callers"\n')
    code, given, printed = installing("workflows/chaos.yml", tmp_path, INSTALL="")
    assert (code, given) == (1, "")
    assert "::error::" in printed
    assert "git+https://" in printed


@pytest.mark.parametrize(
    ("install", "given"),
    [("own", "-m pip install {action}/../../.."), ("elsewhere", "-m pip install elsewhere")],
)
def test_the_action_installs_from_the_commit_that_it_comes_from(
    install: str, given: str, tmp_path: Path
) -> None:
    action = str(ROOT / ".github" / "actions" / "chaos")
    assert (Path(action, "../../..") / "pyproject.toml").resolve() == ROOT / "pyproject.toml"
    code, found, _ = installing("actions/chaos/action.yml", tmp_path, INSTALL=install, ACTION=action)
    assert (code, found) == (0, given.format(action=action))


def test_nothing_that_is_printed_installs_from_an_index_that_does_not_have_it() -> None:
    texts = [*ROOT.glob(".github/**/*.yml"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
    for path in texts:
        for line in path.read_text(encoding="utf-8").splitlines():
            if "finds nothing" in line:
                continue
            assert not re.search(r"pip install (\S+ )*['\"]?kafka-chaos\b(?!/)", line), (path, line)
            assert "default: kafka-chaos" not in line, path
