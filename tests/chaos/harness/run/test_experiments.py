"""The built-in experiments, whole: each has its control arm, and the check runs on the saved folder."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from typer.testing import CliRunner

from harness.check_jobs.recheck import recheck
from harness.cli.app import app
from harness.cluster.managed import ManagedCluster
from harness.model.finding_class import FindingClass
from harness.model.result import ExperimentResult, VerdictWord
from harness.report.run_page import write_report
from harness.run.executor import Options, run_on
from harness.spec.experiment_files import load
from tests.chaos.support.suite import Started
from tests.chaos.support.windows import not_proved

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
    assert not_proved(arm.meta) == []


def test_a_saved_folder_is_checked_again_to_the_same_counts(cut: tuple[Path, ExperimentResult]) -> None:
    folder, result = cut
    again = recheck(folder)
    for before, after in zip(result.arms, again.arms, strict=True):
        assert before.summary is not None
        assert after.summary is not None
        assert after.summary.findings == before.summary.findings
        assert after.judgement == before.judgement
    assert ExperimentResult.model_validate_json((folder / "result.json").read_text()) == again


@pytest.mark.soak
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


@pytest.mark.soak
def test_transactions_poll_each_other_in_a_circle_with_read_uncommitted_alone(
    cluster: ManagedCluster, tmp_path: Path
) -> None:
    folder, result = run_on(cluster, load("transactions-that-read"), Options(results=tmp_path, seed=5))
    for arm in result.arms:
        assert arm.judgement.as_promised, arm.judgement
        assert arm.judgement.verdict is VerdictWord.VALID, arm.judgement
        journals = {
            name: ds.dataset(folder / arm.folder / name, format="parquet").to_table().to_pylist()
            for name in ("transactions", "live/polls-0")
        }
        mine = [row for row in journals["transactions"] if row["producer"] == 0 and row["polled"]]
        taken = [at for row in mine for at in range(row["polled_from"], row["polled_from"] + row["polled"])]
        assert len(taken) > 100
        assert taken == list(range(len(taken))), "each record is taken once, in order"
        received = {row["position"]: row["read_ns"] for row in journals["live/polls-0"]}
        for row in mine:
            last = received[row["polled_from"] + row["polled"] - 1]
            assert row["ended_ns"] is None or last < row["ended_ns"], "polled before its end"
    committed, uncommitted = (arm.summary for arm in result.arms)
    assert committed is not None
    assert uncommitted is not None
    assert committed.count(FindingClass.CIRCULAR_INFORMATION_FLOW) == 0
    assert uncommitted.count(FindingClass.CIRCULAR_INFORMATION_FLOW) >= 1
    assert committed.count(FindingClass.WRITE_CYCLE) >= 1
    write_report(result, folder)
    assert "Cycles of transactions" in (folder / "report.html").read_text()
