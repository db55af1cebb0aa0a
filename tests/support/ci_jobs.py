"""The jobs of the CI files that come with kafka-chaos: which shell scripts each runs, and a run of them here.

What a CI system does itself (to check out, to provide Python, to cache, to publish) is not done; a reusable
workflow and an action of GitHub are taken from a checkout of kafka-chaos.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from harness.cli.init import FOLDER, WRITTEN, CiSystem
from tests.support.paths import ROOT

JobName = Literal["suite", "night"]
SYSTEMS = tuple(WRITTEN)
ACTION = ".github/actions/chaos/action.yml"
WORKFLOW = ".github/workflows/chaos.yml"
_TIMER = "Schedule"
"""What Azure calls a run that the clock began."""


@dataclass(frozen=True, slots=True)
class Done:
    """The exit code of a job, and what it printed."""

    code: int
    printed: str


@dataclass(frozen=True)
class Checkout:
    """Where a job runs: the folder of its repository, and `environment`, which takes precedence over the
    variables of the file. `own` is a checkout of kafka-chaos, for what GitHub takes from there."""

    folder: Path
    environment: Mapping[str, str]
    own: Path = ROOT
    seconds: float = 3600

    def shell(self, command: list[str], variables: Mapping[str, str]) -> Done:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**variables, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=self.seconds,
            check=False,
        )
        return Done(done.returncode, done.stdout)


@dataclass(frozen=True, slots=True)
class Script:
    """A script of a job: the shell that the CI system uses, its text, and the variables of the file."""

    shell: tuple[str, ...]
    text: str
    variables: dict[str, str] = field(default_factory=dict)


def run_job(system: CiSystem, job: JobName, checkout: Checkout) -> Done:
    """Run the scripts of a job until one fails."""
    if system == "github":
        return _run_action(github_inputs(job), checkout)
    printed = []
    done = Done(0, "")
    for script in scripts(system, job, checkout.folder):
        done = checkout.shell([*script.shell, script.text], script.variables)
        printed.append(done.printed)
        if done.code:
            break
    return Done(done.code, "".join(printed))


def text_of(system: CiSystem) -> str:
    """The file of a CI system, as it comes with kafka-chaos."""
    return (ROOT / FOLDER / WRITTEN[system][0]).read_text()


def scripts(system: CiSystem, job: JobName, folder: Path) -> list[Script]:
    """The scripts of a job whose repository is in this folder, in order; not of GitHub's."""
    if system == "cron":
        return [Script(("bash", "-c"), f'exec "./{WRITTEN[system][1]}" {job}')]
    make = {"jenkins": _of_jenkins, "azure": _of_azure}.get(system, _of_gitlab)
    return list(make(text_of(system), job, folder))


def gitlab_jobs(text: str) -> dict[str, Any]:
    """A file of GitLab without `extends`: each job with what it takes from the hidden one."""
    loaded: dict[str, Any] = yaml.safe_load(text)
    hidden = {name: loaded.pop(name) for name in [*loaded] if name.startswith(".")}
    for name, value in loaded.items():
        if isinstance(value, dict) and "extends" in value:
            loaded[name] = {**hidden[value.pop("extends")], **value}
    return loaded


def _of_gitlab(text: str, job: JobName, folder: Path) -> Iterator[Script]:
    loaded = gitlab_jobs(text)
    chosen = loaded[f"chaos-{job}"]
    lines = [*chosen.get("before_script", ()), *chosen["script"]]
    variables = {**loaded["variables"], **chosen.get("variables", {}), "CI_PROJECT_DIR": str(folder)}
    expanded = {name: value.replace("$CI_PROJECT_DIR", str(folder)) for name, value in variables.items()}
    # The image of Docker's client has no bash.
    shell = ("bash", "-eo", "pipefail", "-c") if "python" in chosen["image"] else ("sh", "-ec")
    yield Script(shell, "\n".join(lines), expanded)


def _of_jenkins(text: str, job: JobName, _: Path) -> Iterator[Script]:
    inside = text.partition("environment {")[2].partition("}")[0]
    variables = dict(re.findall(r"^\s*(\w+) = '(.*)'$", inside, re.MULTILINE))
    skipped = {"suite": "Night", "night": "Suite"}[job]
    for stage in text.split("stage('")[1:]:
        if not stage.startswith(f"{skipped}'"):
            for script in re.findall(r"sh '''(.*?)'''", stage, re.DOTALL):
                yield Script(("sh", "-xec"), script.replace("\\\\", "\\"), variables)


def _of_azure(text: str, job: JobName, folder: Path) -> Iterator[Script]:
    loaded = yaml.safe_load(text)
    macros = {"$(Pipeline.Workspace)": str(folder.parent), "$(Build.SourcesDirectory)": str(folder)}
    variables = dict(loaded["variables"])
    for name, value in variables.items():
        for macro, path in macros.items():
            variables[name] = variables[name].replace(macro, path)
        assert "$(" not in variables[name], value
    (only,) = loaded["jobs"]
    for step in only["steps"]:
        word = re.search(rf"(eq|ne)\(variables\['Build.Reason'\], '{_TIMER}'\)", step.get("condition", ""))
        if "bash" in step and (word is None or (word[1] == "eq") == (job == "night")):
            yield Script(("bash", "-c"), step["bash"], variables)


def github_inputs(job: JobName) -> dict[str, str]:
    """What the action of kafka-chaos is given by a job of GitHub's file, which calls it or the workflow."""
    chosen = yaml.safe_load(text_of("github"))["jobs"][job]
    action = yaml.safe_load((ROOT / ACTION).read_text())
    known = {name: value["default"] for name, value in action["inputs"].items()}
    if "uses" in chosen:
        assert chosen["uses"] == f"OWNER/kafka-chaos/{WORKFLOW}@TAG"
        given = chosen["with"]
    else:
        (given,) = (
            step["with"] for step in chosen["steps"] if Path(ACTION).parent.as_posix() in step["uses"]
        )
    assert set(given) <= set(known)
    return known | given


def _run_action(inputs: Mapping[str, str], checkout: Checkout) -> Done:
    """Run the steps of the action that are scripts. Nothing was cached."""
    steps: dict[str, dict[str, Any]] = {}
    output = checkout.folder.parent / "github-output"
    failed = Done(0, "")
    printed = []
    action = checkout.own / ACTION
    for step in yaml.safe_load(action.read_text())["runs"]["steps"]:
        values = {"inputs": inputs, "github": {"action_path": str(action.parent)}, "steps": steps}
        if "run" not in step or not holds(step.get("if", "success()"), failed.code == 0, values):
            continue
        output.write_text("")
        variables = {name: expanded(str(value), values) for name, value in step.get("env", {}).items()}
        variables["GITHUB_OUTPUT"] = str(output)
        done = checkout.shell(["bash", "-eo", "pipefail", "-c", step["run"]], variables)
        printed.append(done.printed)
        failed = failed if failed.code or not done.code else done
        if "id" in step:
            outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
            steps[step["id"]] = {"outcome": "failure" if done.code else "success", "outputs": outputs}
    return Done(failed.code, "".join(printed))


def expanded(text: str, values: Mapping[str, Any]) -> str:
    """The text with each `${{ a.b.c }}` as its value; what is unknown is empty, as on GitHub."""
    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: str(_value(found[1], values)), text)


def holds(condition: str, succeeded: bool, values: Mapping[str, Any]) -> bool:
    """Whether the `if` of a step holds. Without a word on it, all before must have succeeded."""
    if not re.search(r"(success|always|failure|cancelled)\(\)", condition):
        condition = f"success() && ({condition})"
    words = re.sub(
        r"\b(?:inputs|steps|github)\.[\w.-]+", lambda found: repr(_value(found[0], values)), condition
    )
    words = words.replace("&&", " and ").replace("||", " or ")
    functions = {"success": lambda: succeeded, "always": lambda: True, "__builtins__": {}}
    return bool(eval(words, functions))


def _value(path: str, values: Mapping[str, Any]) -> Any:
    found: Any = values
    for name in path.split("."):
        found = found.get(name, "") if isinstance(found, Mapping) else ""
    return found
