"""The command to type next, after runs and after an audit."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli.results import after_audit, after_run
from harness.many.matrix.spec import MATRIX
from harness.model.config.properties import parse_properties
from harness.model.result import ExperimentResult
from harness.run.executor import Options
from harness.spec.experiment_files import load
from harness.tools.audit.audit import audit
from tests.support.builders.experiments import Losses, install
from tests.support.command_line import call

pytestmark = pytest.mark.pure

TYPED = "kafka-chaos run kill-leader --seed 3"


def ran(
    monkeypatch: pytest.MonkeyPatch, results: Path, losses: Losses | None = None, name: str = "kill-leader"
) -> tuple[Path, ExperimentResult]:
    stand_ins = install(monkeypatch)
    stand_ins.losses = losses or {}
    return stand_ins.run_on(None, load(name), Options(results=results))  # type: ignore[arg-type]


def test_after_a_broken_promise_the_same_faults_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, result = ran(monkeypatch, tmp_path, {"acks=all": 2, "acks=0": None})
    run = f"{folder}/acks=all"
    assert after_run([(folder, result)], TYPED) == f"next: {TYPED} --replay {run}  # the same faults again"
    assert after_run([(folder, result)] * 2, TYPED).startswith(
        f"next: kafka-chaos run kill-leader --replay {run}"
    )
    assert after_run([(folder, result)], TYPED, replayed=True) == f"next: open {folder}/report.html"


def test_after_a_run_without_an_answer_the_same_run_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done = [ran(monkeypatch, tmp_path, {"acks=0": None})]
    assert after_run(done, TYPED) == f"next: {TYPED}  # again, for an answer"


def test_after_one_good_run_many(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done = [ran(monkeypatch, tmp_path)]
    assert after_run(done, TYPED).startswith("next: kafka-chaos matrix acks-idempotence --dry-run")
    assert after_run(done, TYPED, own=True).startswith(f"next: {TYPED} --repeat 10")
    assert after_run(done, TYPED, repeat=5).startswith(f"next: kafka-chaos rates {done[0][0]} --by arm")
    other = [ran(monkeypatch, tmp_path, name="transactions")]
    assert after_run(other, "kafka-chaos run transactions").endswith("--repeat 10  # one run shows little")


def test_matrices_that_are_named_exist() -> None:
    from harness.cli import results

    assert set(results._MATRICES.values()) <= set(MATRIX.builtin_names())


def test_after_a_contradiction_its_remedy() -> None:
    found = audit(parse_properties("acks=all\nmin.insync.replicas=1", "p"))
    typed = "kafka-chaos audit p"
    assert after_audit(found, typed, proved=False) == (
        f"next: set min.insync.replicas=2 with replication.factor=3; then: {typed}"
    )
    risky = audit(parse_properties("acks=1", "p"))
    assert (
        after_audit(risky, typed, proved=False) == f"next: {typed} --prove  # shows the risks on real brokers"
    )
    assert after_audit(risky, typed, proved=True) is None
    assert after_audit(audit(parse_properties("acks=all", "p")), typed, proved=False) is None


def test_the_commands_print_it_last(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from harness.run import executor

    stand_ins = install(monkeypatch)
    monkeypatch.setattr(
        executor,
        "execute",
        lambda chosen, options: [stand_ins.run_on(None, one, options) for one in chosen],  # type: ignore[arg-type]
    )
    results = str(tmp_path / "results")
    assert call(monkeypatch, "run", "kill-leader", "--results", results, "-q") == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("next: kafka-chaos matrix")
    (tmp_path / "p").write_text("acks=all\nmin.insync.replicas=1\n")
    assert call(monkeypatch, "audit", str(tmp_path / "p")) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("next: set min.insync.replicas=2")
