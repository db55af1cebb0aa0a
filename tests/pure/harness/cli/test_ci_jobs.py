"""The CI files that come with kafka-chaos, with stand-ins for the programs that they call: what each job
runs, and which exit code it has. Real brokers: tests/chaos/harness/cli/test_ci_jobs.py."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from harness.cli.app import app
from harness.cli.init import EXPERIMENT_FILE, WRITTEN, CiSystem, write_ci
from harness.model.defaults import DEFAULT_VERSION
from tests.support.ci_jobs import SYSTEMS, Checkout, Done, JobName, github_inputs, holds, run_job, text_of

pytestmark = pytest.mark.pure

COMMANDS: Any = typer.main.get_command(app)
INSTALLED = "somewhere[java]"
STAND_IN = """#!/bin/sh
name=$(basename "$0")
echo "$name $*" >>{log}
test ! -e {folder}/"$name-$1" || exit "$(cat {folder}/"$name-$1")"
"""
PYTHON = """#!/bin/sh
case "$1 $2" in
  "-m venv") echo "python $*" >>{log}; mkdir -p .chaos/bin; cp {folder}/bin/* .chaos/bin/ ;;
  "-m pip") shift 2; exec {folder}/bin/pip "$@" ;;
  *) exec {python} "$@" ;;
esac
"""
DOCKER = """#!/bin/sh
echo "docker $*" >>{log}
while [ "$1" != bash ]; do shift; done
exec "$@"
"""


class Programs:
    """Stand-ins for what a job calls, which note how, and a repository with the files of `init --ci`."""

    def __init__(self, folder: Path, system: CiSystem) -> None:
        self.folder, self.system, self.log = folder, system, folder / "log"
        self.repository = folder / "ours"
        self.log.touch()
        (folder / "bin").mkdir()
        self.repository.mkdir()
        texts = {"python": PYTHON, "python3": PYTHON, "docker": DOCKER}
        for name in ("pip", "kafka-chaos", "pytest", "git", *texts):
            text = texts.get(name, STAND_IN).format(log=self.log, folder=folder, python=sys.executable)
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)
        write_ci(system, self.repository)

    def answers(self, program: str, argument: str, code: int) -> None:
        """From now on the program exits with this code if this is its first argument."""
        (self.folder / f"{program}-{argument}").write_text(str(code))

    def run(self, job: JobName) -> Done:
        environment = {
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.folder / "home"),
            "KAFKA_CHAOS": INSTALLED,
        }
        return run_job(self.system, job, Checkout(self.repository, environment))

    def calls(self, *programs: str) -> list[list[str]]:
        """The calls of these programs (by default of those that do the work), in order, as words."""
        wanted = programs or ("pip", "kafka-chaos", "pytest")
        found = [shlex.split(line) for line in self.log.read_text().splitlines() if line.startswith(wanted)]
        return [words for words in found if words[0] in wanted]


@pytest.fixture(params=SYSTEMS)
def programs(request: pytest.FixtureRequest, tmp_path: Path) -> Programs:
    return Programs(tmp_path, request.param)


def option(words: list[str], name: str) -> str:
    return words[words.index(name) + 1]


def test_a_night_is_run_and_compared_with_what_the_last_good_one_left(programs: Programs) -> None:
    done = programs.run("night")
    assert done.code == 0, done.printed
    install, *between, night = programs.calls()
    assert install[:2] == ["pip", "install"]
    assert ["kafka-chaos", "doctor"] in between
    assert night[:3] == ["kafka-chaos", "nightly", EXPERIMENT_FILE]
    assert option(night, "--kafka-version") == DEFAULT_VERSION
    assert option(night, "--last") == "chaos-last"
    assert option(night, "--results").startswith("chaos-results")


def test_the_suite_is_run_and_leaves_junit(programs: Programs) -> None:
    done = programs.run("suite")
    assert done.code == 0, done.printed
    install, *between, suite = programs.calls()
    assert install[:2] == ["pip", "install"]
    assert "pytest" in install
    assert ["kafka-chaos", "doctor"] in between
    assert suite[:2] == ["pytest", "chaos"]
    assert option(suite, "--chaos-kafka-version") == DEFAULT_VERSION
    assert option(suite, "--junitxml").startswith("chaos-results/")


def test_kafka_chaos_is_installed_from_where_one_variable_says(programs: Programs) -> None:
    programs.run("night")
    (install,) = programs.calls("pip")
    if programs.system == "github":  # from the repository that the action comes from
        assert install[2].endswith(".github/actions/chaos/../../..")
        assert text_of("github").count("@TAG") == 2
    else:
        assert INSTALLED in install
        assert text_of(programs.system).count("git+https://HOST/OWNER/kafka-chaos@TAG") == 1


@pytest.mark.parametrize("code", [1, 2, 3])
@pytest.mark.parametrize("job", ["night", "suite"])
def test_a_job_has_the_exit_code_of_what_it_runs(programs: Programs, job: JobName, code: int) -> None:
    programs.answers(*{"night": ("kafka-chaos", "nightly"), "suite": ("pytest", "chaos")}[job], code)
    assert programs.run(job).code == code


@pytest.mark.parametrize("job", ["night", "suite"])
def test_what_is_missing_ends_a_job_before_anything_is_run(programs: Programs, job: JobName) -> None:
    programs.answers("kafka-chaos", "doctor", 3)
    assert programs.run(job).code == 3
    assert programs.calls()[-1] == ["kafka-chaos", "doctor"]


def test_every_command_of_a_job_exists_with_its_options(programs: Programs) -> None:
    programs.run("night")
    programs.run("suite")
    for _, name, *words in programs.calls("kafka-chaos"):
        COMMANDS.commands[name].make_context(name, words)


def test_an_engine_without_images_is_given_those_that_are_kept(programs: Programs) -> None:
    programs.run("night")
    asked = [words for words in programs.calls("kafka-chaos") if words[1] == "images"]
    if programs.system in ("github", "gitlab", "azure"):
        (words,) = asked
        assert option(words, "--version") == DEFAULT_VERSION
        assert option(words, "--keep").endswith("images")
    else:  # the engine of a machine that stays has them
        assert asked == []


def test_gitlab_runs_all_of_it_at_the_engine_of_the_service(tmp_path: Path) -> None:
    programs = Programs(tmp_path, "gitlab")
    programs.run("night")
    ((_, *words),) = programs.calls("docker")
    assert words[: words.index("python:3.11")] == [
        *("run", "--rm", "--network", "host", "--volume", "/var/run/docker.sock:/var/run/docker.sock"),
        *("--volume", f"{programs.repository}:{programs.repository}", "--workdir", str(programs.repository)),
        *("--env", "KAFKA_CHAOS", "--env", "KAFKA_VERSION", "--env", "PIP_CACHE_DIR"),
    ]


def test_cron_prints_only_what_failed_and_keeps_all_in_a_folder(tmp_path: Path) -> None:
    programs = Programs(tmp_path, "cron")
    assert programs.run("night").printed == ""
    programs.answers("kafka-chaos", "nightly", 1)
    printed = programs.run("night").printed
    assert printed.startswith("exit code 1; all of it is in ")
    folders = [path for path in (programs.repository / "chaos-results").iterdir() if path.is_dir()]
    assert len(folders) == len({path.name for path in folders}) >= 1
    assert all((path / "log").exists() for path in folders)
    assert [words[:2] for words in programs.calls("git")] == [["git", "pull"]] * 2


@pytest.mark.parametrize("argument", ["", "nightly"])
def test_cron_refuses_a_word_that_it_does_not_know(argument: str, tmp_path: Path) -> None:
    programs = Programs(tmp_path, "cron")
    script = str(programs.repository / WRITTEN["cron"][1])
    done = Checkout(tmp_path, os.environ).shell(["bash", script, argument], {})
    assert done.code == 2
    assert done.printed.count("\n") == 1
    assert f"expected night or suite, found '{argument}'" in done.printed


def test_github_gives_both_jobs_what_the_action_takes() -> None:
    suite, night = github_inputs("suite"), github_inputs("night")
    assert (suite["tests"], suite["experiments"]) == ("chaos", "")
    assert (night["tests"], night["experiments"]) == ("", EXPERIMENT_FILE)
    assert suite["name"] != night["name"], "two artifacts of one run have different names"


@pytest.mark.parametrize(
    ("condition", "succeeded", "expected"),
    [
        ("inputs.tests != ''", True, True),
        ("inputs.tests != ''", False, False),
        ("inputs.none != ''", True, False),
        ("always() && steps.night.outcome == 'success'", False, False),
        ("(success() || steps.tests.outcome == 'failure') && (inputs.tests != '')", False, True),
    ],
)
def test_conditions_are_read_as_github_reads_them(condition: str, succeeded: bool, expected: bool) -> None:
    values = {"inputs": {"tests": "chaos"}, "steps": {"tests": {"outcome": "failure"}}}
    assert holds(condition, succeeded, values) is expected
