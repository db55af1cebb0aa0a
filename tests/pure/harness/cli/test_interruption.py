"""Ctrl-C: exit code 130, and the commands that read what is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.check_jobs.recheck import RESULT_FILE
from harness.cli import suite_runs
from harness.model.journal import RUN_FILE
from harness.run import executor
from harness.run.executor import Options, RunningExperiment
from harness.run.faults import healing
from tests.support.command_line import call

pytestmark = pytest.mark.pure


class NoCluster:
    """Stands for the clusters of an execution."""

    def __init__(self, _: object) -> None:
        pass

    def __enter__(self) -> NoCluster:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def get(self, *_: object) -> None:
        return None


def interrupt_runs(monkeypatch: pytest.MonkeyPatch, *, after: int) -> None:
    """Interrupt the first experiment when as many of its runs have begun."""

    def run(self: RunningExperiment, _: object) -> None:
        for number in range(after):
            (self.folder / f"arm-{number}").mkdir()
            (self.folder / f"arm-{number}" / RUN_FILE).write_text("{}")
        raise KeyboardInterrupt

    monkeypatch.setattr(executor, "with_engine", lambda options, _: options)
    monkeypatch.setattr(executor, "capabilities_for", lambda _: ())
    monkeypatch.setattr(executor, "ClusterHolder", NoCluster)
    monkeypatch.setattr(RunningExperiment, "run", run)


def test_an_interrupted_run_names_the_folder_to_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    interrupt_runs(monkeypatch, after=1)
    results = tmp_path / "my results"
    assert call(monkeypatch, "run", "cut-then-kill", "kill-leader", "--results", str(results)) == 130
    (interrupted,) = results.glob("cut-then-kill-*")
    printed = capsys.readouterr().err
    assert "interrupted; journals are kept" in printed
    assert f"kafka-chaos check '{interrupted}'" in printed
    assert "check 'kill-leader" not in printed


def test_before_the_first_run_there_is_nothing_to_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    interrupt_runs(monkeypatch, after=0)
    assert call(monkeypatch, "run", "cut-then-kill", "--results", str(tmp_path)) == 130
    assert capsys.readouterr().err.rstrip().endswith("interrupted; nothing was run yet")


def test_interrupted_claims_name_the_folder_of_the_unfinished_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def run_items(_items: object, options: Options, *_: object, **__: object) -> None:
        for name, file in (("done", RESULT_FILE), ("half", "experiment.json")):
            (options.results / name / "arm").mkdir(parents=True)
            (options.results / name / "arm" / RUN_FILE).write_text("{}")
            (options.results / name / file).write_text("{}")
        raise KeyboardInterrupt

    monkeypatch.setattr(suite_runs, "run_items", run_items)
    assert call(monkeypatch, "claims", "R1", "--results", str(tmp_path)) == 130
    (place,) = tmp_path.iterdir()
    printed = capsys.readouterr().err
    assert f"kafka-chaos check {place}/half" in printed
    assert f"{place}/done" not in printed


def test_other_commands_say_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("harness.check_jobs.recheck.recheck", stop)
    assert call(monkeypatch, "check", str(tmp_path)) == 130
    assert f"kafka-chaos check {tmp_path}" in capsys.readouterr().err
    monkeypatch.setattr("harness.cluster.containers.docker_engine.connect_if_there", lambda: None)
    monkeypatch.setattr(healing, "heal_recorded", stop)
    assert call(monkeypatch, "heal") == 130
    assert "`kafka-chaos heal` goes on" in capsys.readouterr().err
