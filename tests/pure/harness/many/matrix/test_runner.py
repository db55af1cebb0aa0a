"""Matrices under way: order, clusters, resume after a kill, refusals, budgets; on paper, without brokers."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.many.matrix import runner
from harness.many.matrix.plan import MatrixOptions, plan_matrix
from harness.many.matrix.result import MATRIX_FILE, MatrixStore, load_result
from harness.many.matrix.runner import MatrixRun
from harness.many.matrix.table import cells, notes, reasons, table
from harness.many.run_time import format_duration
from harness.model.defaults import DEFAULT_VERSION
from harness.model.errors import BadInput, ClusterError, JournalError
from harness.spec.overrides import ClusterOptions
from tests.support.builders.matrices import (
    NO_OPTIONS,
    resume_matrix,
    run_matrix,
    runs_made,
    write_matrix,
)
from tests.support.command_line import call
from tests.support.fake_backend import FakeBackend
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure


def test_every_arm_has_its_runs_in_turns(tmp_path: Path) -> None:
    backend = FakeBackend(tmp_path / "log")
    store, result = run_matrix(tmp_path, backend)
    assert result.ended == "all runs made"
    assert result.exit_code() == 0
    assert load_result(store.folder) == result
    lines = [line.split() for line in backend.lines()]
    assert len(lines) == 12
    for number in range(3):
        one = lines[4 * number : 4 * number + 4]
        assert {folder for _, folder, _ in one} == {f"{number + 1:03d}"}, "a round has every arm once"
        assert len({arm for arm, _, _ in one}) == 4
        assert {seed for _, _, seed in one} == {str(5 + number)}
    assert [arm for arm, _, _ in lines[:4]] != [arm for arm, _, _ in lines[4:8]], "orders differ"
    assert backend.starts == [DEFAULT_VERSION], "one cluster for all"
    assert backend.up == 0
    for arm in result.arms:
        assert arm.figures is not None
        assert arm.figures.runs == 3
        assert arm.figures.with_loss.n == 3
        if arm.labels["acks"] == "all":
            assert arm.figures.with_loss.k == 0
            assert arm.figures.with_loss.one_sided
            assert arm.figures.with_loss.high == pytest.approx(1 - 0.05 ** (1 / 3))
            assert arm.figures.lost_per_million.high is None


def test_progress_says_how_long_is_left(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    plan = plan_matrix(write_matrix(tmp_path), None, NO_OPTIONS, 5)
    store = MatrixStore.created(tmp_path / "results", "small")
    MatrixRun(plan, store, "", FakeBackend(tmp_path / "log")).execute()
    heads = [line for line in caplog.messages if " left · " in line]
    assert len(heads) == 12
    assert heads[0].startswith(f"run 1, {format_duration(plan.needed.seconds - 15)} left · ")
    # Runs on paper take no time, and what is left is told by what runs took.
    assert heads[-1].startswith("run 12, 0 s left · ")


def test_the_same_seed_gives_the_same_order(tmp_path: Path) -> None:
    backends = [FakeBackend(tmp_path / f"log{number}") for number in range(3)]
    for backend, seed in zip(backends, (5, 5, 6), strict=True):
        run_matrix(tmp_path, backend, seed)
    assert backends[0].lines() == backends[1].lines()
    assert backends[0].lines() != backends[2].lines()


def test_arms_of_one_cluster_share_it(tmp_path: Path) -> None:
    backend = FakeBackend(tmp_path / "log")
    axes = {"version": {"version": ["3.9.2", "4.3.1"]}, "acks": {"producer": "acks", "values": [1, "all"]}}
    run_matrix(tmp_path, backend, axes=axes)
    assert len(backend.lines()) == 12
    # Three rounds of two clusters; each round begins on the one that is up.
    assert len(backend.starts) == 4
    assert backend.up == 0


CHILD = """
import sys
from pathlib import Path
from harness.many.matrix.plan import MatrixOptions, plan_matrix
from harness.many.matrix.runner import MatrixRun
from harness.many.matrix.result import MatrixStore
from tests.support.fake_backend import FakeBackend
spec, folder, log = sys.argv[1:]
plan = plan_matrix(spec, None, MatrixOptions(), 5)
MatrixRun(plan, MatrixStore(Path(folder)), "", FakeBackend(Path(log), die_at=7)).execute()
"""


@pytest.mark.soak  # a process that imports everything and is killed
def test_resume_after_a_kill_makes_no_finished_run_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    store = MatrixStore.created(tmp_path / "results", "small")
    child = subprocess.run(
        [sys.executable, "-c", CHILD, write_matrix(tmp_path), str(store.folder), str(log)],
        cwd=ROOT,
        check=False,
        timeout=120,
    )
    assert child.returncode == -signal.SIGKILL
    before = load_result(store.folder)
    assert before.ended == "under way"
    assert sum(len(arm.runs) for arm in before.arms) == 7
    backend = FakeBackend(log)
    result = resume_matrix(store, backend)
    assert result.ended == "all runs made"
    assert set(runs_made(backend).values()) == {1}, "no run was made twice"
    assert len(backend.lines()) == 12
    assert len(list(store.folder.glob("runs/*/cut-short-*"))) == 1, "what the killed run left is kept apart"
    # As if it had never been killed.
    undisturbed = FakeBackend(tmp_path / "other-log")
    _, whole = run_matrix(tmp_path, undisturbed)
    assert [arm.figures for arm in result.arms] == [arm.figures for arm in whole.arms]
    assert sorted(backend.lines()) == sorted(undisturbed.lines())
    # Once more there is nothing to do.
    resume_matrix(store, backend)
    assert len(backend.lines()) == 12


def test_a_run_that_was_made_and_not_checked_is_only_checked(tmp_path: Path) -> None:
    backend = FakeBackend(tmp_path / "log")
    store, result = run_matrix(tmp_path, backend)
    gone = store.folder / result.arms[0].runs[1].folder / "outcome.json"
    gone.unlink()
    again = resume_matrix(store, backend)
    assert gone.exists()
    assert len(backend.lines()) == 12
    assert again.arms == result.arms


def test_an_interrupted_matrix_goes_on(tmp_path: Path) -> None:
    backend = FakeBackend(tmp_path / "log", interrupt_at=4)
    store = MatrixStore.created(tmp_path / "results", "small")
    plan = plan_matrix(write_matrix(tmp_path), None, NO_OPTIONS, 5)
    with pytest.raises(KeyboardInterrupt):
        MatrixRun(plan, store, "", backend).execute()
    assert backend.up == 0
    assert resume_matrix(store, backend).ended == "all runs made"
    assert len(backend.lines()) == 12


def test_resume_takes_more_runs_and_no_other_matrix(tmp_path: Path) -> None:
    backend = FakeBackend(tmp_path / "log")
    store, _ = run_matrix(tmp_path, backend)
    assert sum(len(arm.runs) for arm in resume_matrix(store, backend, MatrixOptions(repeat=5)).arms) == 20
    other = write_matrix(tmp_path, axes={"acks": {"producer": "acks", "values": [0]}})
    for spec, changes, says in (
        (other, NO_OPTIONS, "has other axes"),
        (None, MatrixOptions(seed=6), "--seed 5"),
        (None, MatrixOptions(cluster=ClusterOptions("3.9.2")), "cannot change"),
    ):
        with pytest.raises(BadInput, match=says):
            plan_matrix(spec, store.folder, changes, 0)
    assert plan_matrix(None, store.folder, MatrixOptions(seed=5), 0).seed == 5


def test_a_broken_run_is_left_out_and_said_so(tmp_path: Path) -> None:
    name = "acks=all_fault=kill"
    backend = FakeBackend(tmp_path / "log", break_=[name], unknown=("acks=1_fault=none", "002"))
    _, result = run_matrix(tmp_path, backend)
    arms = {arm.name: arm for arm in result.arms}
    assert arms[name].figures is not None
    assert (arms[name].figures.runs, arms[name].figures.left_out) == (2, 1)
    assert "a broker did not start" in arms[name].left_out[0]
    assert "fault kill-1 was not shown" in arms["acks=1_fault=none"].left_out[0]
    told = "\n".join([*reasons(result).values(), *notes(result)])
    assert f"left out: {name}" in told
    assert cells(arms[name])[0] == "2 (+1)"
    assert result.exit_code() == 0
    assert len(backend.starts) == 2, "after a broken run there is a new cluster"


def test_several_broken_runs_in_a_row_end_it(tmp_path: Path) -> None:
    names = ["acks=1_fault=kill", "acks=1_fault=none", "acks=all_fault=kill", "acks=all_fault=none"]
    backend = FakeBackend(tmp_path / "log", break_=names)
    with pytest.raises(ClusterError, match="3 runs in a row broke") as caught:
        run_matrix(tmp_path, backend)
    assert "--resume" in str(caught.value)


def test_refused_and_impossible_arms_are_reported(tmp_path: Path) -> None:
    refused, impossible = "acks=1_fault=kill", "acks=all_fault=kill"
    backend = FakeBackend(tmp_path / "log", refuse=refused, impossible_=[impossible])
    store, result = run_matrix(tmp_path, backend)
    states = {arm.name: arm.state for arm in result.arms}
    assert (states[refused], states[impossible]) == ("refused", "impossible")
    assert len(backend.lines()) == 6
    told = "\n".join([*reasons(result).values(), *notes(result)])
    assert f"{refused}: refused by the client: the broker refuses the topic: Invalid value" in told
    assert f"{impossible}: not possible on this machine: no netem" in told
    assert result.exit_code() == 0
    assert len(table(result).rows) == 4
    assert [arm.state for arm in resume_matrix(store, FakeBackend(tmp_path / "log")).arms].count(
        "refused"
    ) == 1


def test_a_matrix_of_refusals_is_bad_input(tmp_path: Path) -> None:
    axes = {
        "acks": {"producer": "acks", "values": [0]},
        "idempotence": {"producer": "enable.idempotence", "values": [True]},
    }
    with pytest.raises(BadInput, match="no arm of the matrix can be run"):
        run_matrix(tmp_path, FakeBackend(tmp_path / "log"), axes=axes)


def test_repeats_until_narrow_enough(tmp_path: Path) -> None:
    backend = FakeBackend(tmp_path / "log")
    repeats = {"at_least": 3, "at_most": 40, "narrower_than": 0.3}
    _, result = run_matrix(tmp_path, backend, repeats=repeats)
    for arm in result.arms:
        assert arm.figures is not None
        share = arm.figures.with_loss
        if share.k == 0:
            assert share.n == 9, "1 - 0.05^(1/n) <= 0.3 from 9 runs on"
        else:
            assert share.n > 9
            assert share.n == 40 or share.high - share.low <= 0.3


def test_a_budget_ends_it_and_a_larger_one_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.many.run_time.run_seconds", lambda _: 1000.0)
    monkeypatch.setattr("harness.many.matrix.runner.MatrixRun._expected", lambda *_: 25.0)
    monkeypatch.setattr("harness.many.matrix.runner.MatrixRun._elapsed", lambda self: 10.0 * len(self._rows))
    backend = FakeBackend(tmp_path / "log")
    store, result = run_matrix(tmp_path, backend, repeats={"at_least": 3, "budget_minutes": 1})
    assert result.ended == "budget spent"
    assert len(backend.lines()) == 4
    assert "budget was spent" in "\n".join([*reasons(result).values(), *notes(result)])
    monkeypatch.undo()
    assert resume_matrix(store, backend, MatrixOptions(repeat=3, budget=60)).ended == "all runs made"
    assert len(backend.lines()) == 12


def test_more_than_a_day_is_told_and_refused_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runner, "DockerBackend", lambda: pytest.fail("it was started"))
    spec = write_matrix(tmp_path)
    assert call(monkeypatch, "matrix", spec, "--repeat", "5000", "--results", str(tmp_path / "r")) == 2
    told = capsys.readouterr().err
    assert "this would take about" in told
    assert re.search(r"this would take about \d+ days? \d+ h", told)
    assert not (tmp_path / "r").exists()
    assert call(monkeypatch, "matrix", spec, "--repeat", "5000", "--dry-run") == 0
    assert "at most 20,000 runs" in capsys.readouterr().out


def test_the_command_line_teaches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "matrix", "--list") == 0
    assert "unclean-elr: " in capsys.readouterr().out
    assert call(monkeypatch, "matrix", "--show", "versions") == 0
    assert "3.9.2-zk" in capsys.readouterr().out
    assert call(monkeypatch, "matrix", "--schema") == 0
    assert json.loads(capsys.readouterr().out)["title"] == "MatrixSpec"
    assert call(monkeypatch, "matrix", "versions", "--dry-run", "--json", "--seed", "3") == 0
    assert len(json.loads(capsys.readouterr().out)["arms"]) == 15
    for arguments, says in (
        (("matrix",), "no matrix is named"),
        (("matrix", "acks-idempotense"), "did you mean 'acks-idempotence'"),
        (("matrix", "versions", "--kafka-version", "4.3.1"), "the version is an axis"),
        (("matrix", "validate", "--profile", "slow"), "no timing profile"),
        (("matrix", "--show", "nothing"), "no matrix is called"),
    ):
        assert call(monkeypatch, *arguments) == 2
        assert says in capsys.readouterr().err
    assert call(monkeypatch, "matrix", "--resume", str(tmp_path / "nowhere")) == 3
    assert "there is no result of a matrix here" in capsys.readouterr().err


def test_the_whole_command_on_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("harness.many.docker_backend.DockerBackend", lambda _: FakeBackend(tmp_path / "log"))
    results = str(tmp_path / "results")
    assert call(monkeypatch, "matrix", write_matrix(tmp_path), "--results", results, "--seed", "5") == 0
    told = capsys.readouterr()
    assert "up to 63%" in told.out
    assert re.search(r"\d min\b", told.err), "how long it takes is told first"
    (folder,) = (one for one in (tmp_path / "results").iterdir() if one.name != "index.html")
    assert call(monkeypatch, "matrix", "--resume", str(folder), "--json", "-q") == 0
    assert json.loads(capsys.readouterr().out)["ended"] == "all runs made"


def test_two_processes_do_not_work_at_one_matrix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("harness.many.docker_backend.DockerBackend", lambda _: FakeBackend(tmp_path / "log"))
    store, _ = run_matrix(tmp_path, FakeBackend(tmp_path / "log"))
    with store.locked():
        assert call(monkeypatch, "matrix", "--resume", str(store.folder), "-q") == 2
    assert "another process is working in this folder" in capsys.readouterr().err
    assert call(monkeypatch, "matrix", "--resume", str(store.folder), "-q") == 0


def test_results_of_another_version_or_damaged_are_refused(tmp_path: Path) -> None:
    store, _ = run_matrix(tmp_path, FakeBackend(tmp_path / "log"))
    path = store.folder / MATRIX_FILE
    good = path.read_text()
    for text, says in (
        (good.replace('"schema_version": 1', '"schema_version": 2', 1), "schema version 2"),
        (good[: len(good) // 2], "cannot be read"),
        (good.replace('"ended"', '"endet"'), "cannot be read"),
        ("[]", "schema version None"),
    ):
        path.write_text(text)
        with pytest.raises(JournalError) as caught:
            load_result(store.folder)
        assert says in str(caught.value)
    path.write_text(good)
    outcome = next(store.folder.glob("runs/*/001/outcome.json"))
    outcome.write_text(outcome.read_text().replace('"run_schema_version": ', '"run_schema_version": 9'))
    with pytest.raises(JournalError, match="another version"):
        resume_matrix(store, FakeBackend(tmp_path / "log"))
