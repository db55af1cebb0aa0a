"""The built-in experiments, whole: each has its control arm, and the check runs on the saved folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.check_jobs.recheck import recheck
from harness.cli.app import app
from harness.cluster.managed import ManagedCluster
from harness.model.result import ExperimentResult, FindingClass, VerdictWord
from harness.run.executor import Options, run_on
from harness.spec.experiment_files import load
from tests.chaos.conftest import Started

pytestmark = pytest.mark.chaos


@pytest.fixture(scope="module")
def cluster(started: Started) -> ManagedCluster:
    """The cluster of cut-then-kill, for all experiments."""
    return started(load("cut-then-kill").cluster)


@pytest.fixture(scope="module")
def cut(cluster: ManagedCluster, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ExperimentResult]:
    """cut-then-kill, both arms."""
    options = Options(results=tmp_path_factory.mktemp("results"), seed=7)
    return run_on(cluster, load("cut-then-kill"), options)


def test_acks_1_loses_exactly_what_was_acked_after_the_cut(cut: tuple[Path, ExperimentResult]) -> None:
    _, result = cut
    arm = result.arms[0]
    assert arm.summary is not None
    assert arm.judgement.verdict == VerdictWord.INVALID
    assert arm.judgement.as_promised, arm.judgement
    assert arm.summary.acked_by_step == {"together": 500, "alone": 500}
    assert arm.summary.lost_by_step == {"alone": 500}
    assert arm.summary.count(FindingClass.LOST) == 500
    assert arm.summary.lost_held_by_leader == arm.summary.lost_unexamined == 0
    assert arm.meta.final_read is not None
    assert arm.meta.final_read.replicas_inspected == (1, 2, 3)
    windows = {window.kind: window for window in arm.meta.windows}
    assert windows["partition"].verified
    assert windows["kill"].verified


def test_acks_all_loses_nothing_under_the_same_faults(cut: tuple[Path, ExperimentResult]) -> None:
    _, result = cut
    arm = result.arms[1]
    assert arm.summary is not None
    assert arm.judgement.as_promised, arm.judgement
    assert arm.summary.count(FindingClass.LOST) == 0
    assert all(window.verified for window in arm.meta.windows)


def test_a_saved_folder_is_checked_again_to_the_same_counts(cut: tuple[Path, ExperimentResult]) -> None:
    folder, result = cut
    again = recheck(folder)
    for before, after in zip(result.arms, again.arms, strict=True):
        assert before.summary is not None
        assert after.summary is not None
        assert after.summary.findings == before.summary.findings
        assert after.judgement == before.judgement
    assert ExperimentResult.model_validate_json((folder / "result.json").read_text()) == again


def test_kill_leader_from_the_command_line(results: Path) -> None:
    outcome = CliRunner().invoke(
        app,
        [
            "run",
            "kill-leader",
            "--arm",
            "acks=all-idempotent",
            "--results",
            str(results),
            "--json",
            "--quiet",
        ],
    )
    assert outcome.exit_code == 0, outcome.output
    (result,) = json.loads(outcome.stdout)
    (arm,) = result["arms"]
    assert arm["judgement"] == {
        "verdict": "valid",
        "reasons": arm["judgement"]["reasons"],
        "as_promised": True,
        "promise_reasons": [],
    }
    assert arm["summary"]["sent"] > 1000
    assert arm["summary"]["unavailable_seconds"] > 1
    folder = next(results.glob("kill-leader-*/"))
    assert (folder / "report.html").stat().st_size > 1000
    assert list((folder / "logs").glob("broker-*.log"))
