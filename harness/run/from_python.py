"""Experiments from Python, for instance from a pytest test.

from kafka_chaos import run_experiment

def test_acks_all_survives_a_leader_kill():
    result = run_experiment("kill-leader", arms=["acks=all-idempotent"])
    assert result.as_promised, result.explain()
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.model.result import ArmResult, ExperimentResult
from harness.report.arms_table import explanation
from harness.report.run_page import write_report
from harness.run.executor import EXPERIMENT_FILE, Options, execute
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import load as load_experiment

__all__ = ["ExperimentOutcome", "load_experiment", "run_experiment"]


@dataclass(frozen=True, slots=True)
class ExperimentOutcome:
    """The result of an experiment. `folder` holds the journals, result.json and report.html."""

    result: ExperimentResult
    folder: Path

    @property
    def as_promised(self) -> bool:
        """Whether it is known of every arm that it did what the experiment promises."""
        return self.result.exit_code() == 0

    def arm(self, name: str) -> ArmResult:
        """One arm's result by its name.

        Raises:
            KeyError: no such arm was run.
        """
        result = next((arm for arm in self.result.arms if arm.folder == name), None)
        if result is None:
            raise KeyError(f"no arm {name!r}; there are {[arm.folder for arm in self.result.arms]}")
        return result

    def explain(self) -> str:
        """Verdicts, reasons and the worst examples, fit for an assertion's message."""
        lines = [explanation(arm) for arm in self.result.arms]
        return "\n".join([*lines, f"report: {self.folder / 'report.html'}"])


def run_experiment(
    experiment: str | Experiment,
    *,
    arms: Sequence[str] = (),
    results: Path = Path("results"),
    seed: int | None = None,
) -> ExperimentOutcome:
    """Run a built-in experiment (by name), an experiment file (by path) or an `Experiment`.

    Args:
        arms: names of the arms to run; none means all.
        results: folder under which the run writes its journals and report.
        seed: seed of all random choices; None takes one from the clock.

    Raises:
        BadInput: no such experiment or arm, or settings that client or broker refuse.
        PrerequisiteMissing, ClusterError, CheckError: the harness could not do its work.
    """
    seed = int(time.time()) if seed is None else seed
    if isinstance(experiment, str):
        named, spec = experiment, load_experiment(experiment)
    else:
        # It has no file; the run's folder keeps one.
        named, spec = EXPERIMENT_FILE, experiment
    chosen = [word for arm in arms for word in ("--arm", arm)]
    command = shlex.join(["kafka-chaos", "run", named, *chosen, "--seed", str(seed)])
    options = Options(results=results, seed=seed, arms=tuple(arms), command=command)
    folder, result = execute([spec], options)[0]
    write_report(result, folder)
    return ExperimentOutcome(result, folder)
