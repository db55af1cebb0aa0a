"""The reusable workflow and the action for GitHub: their inputs, what they install, and what they leave."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.spec.experiment_files import EXPERIMENT
from tests.support.ci_jobs import ACTION, WORKFLOW, Checkout, Done, expanded
from tests.support.command_line import call
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

NIGHTLY = ".github/workflows/nightly.yml"


def yaml_of(path: str) -> dict[Any, Any]:
    loaded = yaml.safe_load((ROOT / path).read_text())
    assert isinstance(loaded, dict)
    return loaded


def inputs_of(path: str) -> dict[str, dict[str, Any]]:
    loaded = yaml_of(path)
    # YAML reads the key `on` as true.
    found: dict[str, dict[str, Any]] = (
        loaded["inputs"] if "inputs" in loaded else loaded[True]["workflow_call"]["inputs"]
    )
    return found


def steps_of(path: str) -> list[dict[str, Any]]:
    loaded = yaml_of(path)
    found: list[dict[str, Any]] = (
        loaded["runs"]["steps"] if "runs" in loaded else loaded["jobs"]["chaos"]["steps"]
    )
    return found


def step(path: str, name: str) -> dict[str, Any]:
    (found,) = (each for each in steps_of(path) if each.get("name") == name)
    return found


def run_step(path: str, name: str, folder: Path, **environment: str) -> Done:
    """Run the script of a step in this folder."""
    checkout = Checkout(folder, {"PATH": os.environ["PATH"], **environment})
    return checkout.shell(["bash", "-eo", "pipefail", "-c", step(path, name)["run"]], {})


def test_both_have_the_same_inputs_and_the_workflow_gives_the_action_all_of_them() -> None:
    of_action, of_workflow = inputs_of(ACTION), inputs_of(WORKFLOW)
    assert list(of_action) == list(of_workflow)
    for name, described in of_action.items():
        assert of_workflow[name] == {**described, "type": "string"}, name
    given = step(WORKFLOW, "Run")["with"]
    values = {"inputs": {name: f"the {name}" for name in of_action}, "matrix": {"version": "4.4.0"}}
    assert {name: expanded(value, values) for name, value in given.items()} == {
        name: f"the {name}" if name != "versions" else '["4.4.0"]' for name in of_action
    }


def test_they_name_no_input_that_does_not_exist_and_every_one_is_used() -> None:
    for path in (ACTION, WORKFLOW):
        text = (ROOT / path).read_text()
        assert set(re.findall(r"inputs\.([a-z_]+)", text)) == set(inputs_of(path))


def test_the_workflow_is_the_action_with_a_job_for_each_version() -> None:
    (job,) = yaml_of(WORKFLOW)["jobs"].values()
    assert job["strategy"]["matrix"] == {"version": "${{ fromJSON(inputs.versions) }}"}
    path = step(WORKFLOW, "Fetch kafka-chaos")["with"]["path"]
    assert step(WORKFLOW, "Run")["uses"] == f"./{path}/{Path(ACTION).parent}"


def test_what_is_left_is_an_artifact_and_the_cached_last_good_night() -> None:
    uses = {each.get("name"): each for each in steps_of(ACTION) if "uses" in each}
    kept, fetched = uses["Keep a good night"], uses["Fetch the last good night"]
    assert kept["with"]["path"] == fetched["with"]["path"] == "${{ inputs.last }}"
    assert kept["with"]["key"].startswith(fetched["with"]["restore-keys"])
    assert kept["if"] == "always() && steps.night.outcome == 'success'", "only a good night is kept"
    published = uses["Publish reports, JUnit XML and journals"]
    assert (published["if"], published["with"]["path"]) == ("always()", "${{ inputs.results }}")
    tools = uses["Fetch packages and images that are cached"], uses["Keep packages and images"]
    assert tools[0]["with"] == tools[1]["with"]


def test_workflows_use_what_exists_and_may_write_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nightly = yaml_of(NIGHTLY)
    job = nightly["jobs"]["chaos"]
    assert job["uses"] == f"./{WORKFLOW}"
    assert set(job["with"]) <= set(inputs_of(WORKFLOW))
    runs = [each.get("run", "") for each in nightly["jobs"]["histories"]["steps"]]
    assert runs[-1] == "make test-histories HISTORIES=500"
    assert yaml_of(WORKFLOW)["permissions"] == nightly["permissions"] == {"contents": "read"}
    options = set(re.findall(r"(--[a-z-]+)", step(ACTION, "Run experiments")["run"]))
    assert call(monkeypatch, "nightly", "--help") == 0
    told = capsys.readouterr().out
    assert {"--matrix", "--seed", "--last"} <= options
    assert [option for option in options if option not in told] == []
    assert set(inputs_of(ACTION)["experiments"]["default"].split()) <= set(EXPERIMENT.builtin_names())


def test_scripts_take_inputs_from_the_environment_alone() -> None:
    scripts = [each["run"] for path in (ACTION, WORKFLOW) for each in steps_of(path) if "run" in each]
    assert len(scripts) > 5
    for script in scripts:
        assert "${{" not in script, "what others write must not become shell"
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_the_workflow_fetches_the_commit_that_it_comes_from(tmp_path: Path) -> None:
    fetched = step(WORKFLOW, "Fetch kafka-chaos")["with"]
    assert (fetched["repository"], fetched["ref"]) == (
        "${{ job.workflow_repository }}",
        "${{ job.workflow_sha }}",
    )
    own = tmp_path / fetched["path"]
    own.mkdir()
    (own / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    assert run_step(WORKFLOW, "Look whether it is kafka-chaos", tmp_path) == Done(0, "")


def test_the_workflow_says_what_to_do_where_it_cannot_know_its_own_repository(tmp_path: Path) -> None:
    (tmp_path / ".kafka-chaos").mkdir()
    (tmp_path / ".kafka-chaos" / "pyproject.toml").write_text('[project]\nname = "the-callers"\n')
    done = run_step(WORKFLOW, "Look whether it is kafka-chaos", tmp_path)
    assert done.code == 1
    assert done.printed.startswith("::error::")
    assert f"OWNER/kafka-chaos/{Path(ACTION).parent}@TAG" in done.printed


@pytest.mark.parametrize(
    ("install", "requirements", "given"),
    [
        ("", "", "-m pip install {action}/../../.. pytest"),
        ("elsewhere", "", "-m pip install elsewhere pytest"),
        ("kafka-chaos @ git+https://host/x@1", "-r a.txt b", None),
    ],
)
def test_the_action_installs_from_the_commit_that_it_comes_from(
    install: str, requirements: str, given: str | None, tmp_path: Path
) -> None:
    action = str((ROOT / ACTION).parent)
    assert (Path(action, "../../..") / "pyproject.toml").resolve() == ROOT / "pyproject.toml"
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\nfor word; do echo "$word"; done >words\n')
    python.chmod(0o755)
    environment = {"INSTALL": install, "REQUIREMENTS": requirements, "ACTION": action}
    path = f"{python.parent}:{os.environ['PATH']}"
    assert run_step(ACTION, "Install", tmp_path, PATH=path, **environment) == Done(0, "")
    words = (tmp_path / "words").read_text().splitlines()
    if given is None:
        assert words == ["-m", "pip", "install", install, "pytest", *requirements.split()]
    else:
        assert " ".join(words) == given.format(action=action)


def test_the_action_names_what_it_keeps_by_name_and_versions(tmp_path: Path) -> None:
    output = tmp_path / "output"
    known = {"ACTION": str((ROOT / ACTION).parent), "GITHUB_OUTPUT": str(output), "NAME": "ours"}
    done = run_step(ACTION, "Read the versions", tmp_path, VERSIONS='["4.4.0", "3.9.2"]', **known)
    assert done == Done(0, "")
    outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
    assert outputs.pop("tools").endswith("-4.4.0-3.9.2")
    assert outputs == {"versions": "4.4.0 3.9.2", "artifact": "ours-4.4.0-3.9.2"}


@pytest.mark.parametrize("versions", ["4.4.0", "4.4.0 3.9.2", '"4.4.0"', "[]", "[4]", '{"a": 1}', ""])
def test_the_action_refuses_versions_that_are_no_list(versions: str, tmp_path: Path) -> None:
    known = {"ACTION": str((ROOT / ACTION).parent), "GITHUB_OUTPUT": str(tmp_path / "output"), "NAME": "n"}
    done = run_step(ACTION, "Read the versions", tmp_path, VERSIONS=versions, **known)
    assert done.code == 2
    assert done.printed.startswith("::error::the input versions is no JSON list")
    assert done.printed.count("\n") == 1


def test_nothing_that_is_printed_installs_from_an_index_that_does_not_have_it() -> None:
    ours = (ROOT / "harness/ci_files").iterdir()
    texts = [*ROOT.glob(".github/**/*.yml"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md", *ours]
    for path in texts:
        for line in path.read_text(encoding="utf-8").splitlines():
            if "finds nothing" in line:
                continue
            assert not re.search(r"pip install (\S+ )*['\"]?kafka-chaos\b(?!/)", line), (path, line)
            assert "default: kafka-chaos" not in line, path
