"""Runs a matrix: round after round, each arm once per round, on clusters that arms share."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness.many.campaign import StoredRun, StoredRuns
from harness.many.docker_backend import DockerBackend, Feasibility
from harness.many.matrix.figures import ArmState, arm_results, loss_width
from harness.many.matrix.plan import MatrixPlan
from harness.many.matrix.result import MATRIX_FILE, MatrixResult, MatrixStore, RunRow, found_in
from harness.many.run_time import format_duration
from harness.many.workers import RequestFinished
from harness.model.errors import BadInput, PrerequisiteMissing
from harness.model.progress import report_progress
from harness.spec.cluster import ClusterSpec


@dataclass(eq=False, kw_only=True)
class DueRun(StoredRun):
    """One run that is due: an arm's `repeat`, counted from 0."""

    arm: str
    repeat: int


class MatrixRun:
    """One matrix under way, on at most `clusters` clusters; it goes on where an earlier process ended.
    `resumed_by` is the command that goes on with it."""

    def __init__(
        self,
        plan: MatrixPlan,
        store: MatrixStore,
        command: str,
        backend: DockerBackend,
        clusters: int = 1,
        *,
        resumed_by: str = "matrix",
    ) -> None:
        self._plan = plan
        self._store = store
        self._backend = backend
        self._clusters = max(1, clusters)
        self._runs = StoredRuns[DueRun](store, backend, self._clusters, self._begin, command=resumed_by)
        self._experiments = {arm.name: arm.experiment for arm in plan.arms if arm.experiment is not None}
        self._labels = {arm.name: arm.labels for arm in plan.arms}
        rows = (row for arm in plan.arms for row in store.outcomes(arm.name))
        self._rows = {(row.arm, row.repeat): row for row in rows}
        self._out: dict[str, tuple[ArmState, str]] = {
            arm.name: ("refused", arm.refusal or "") for arm in plan.arms if arm.experiment is None
        }
        before = plan.before
        for known in before.arms if before is not None else ():
            if known.state == "refused" and known.name in self._experiments:
                self._out[known.name] = ("refused", known.reason or "")
        self._command = before.command if before is not None else command
        self._started_ns = before.started_ns if before is not None else time.time_ns()
        self._began = time.monotonic() - (before.seconds if before is not None else 0.0)
        self._feasible = Feasibility()
        self._made: list[DueRun] = []
        """Runs that are being checked."""

    def execute(self) -> MatrixResult:
        """Make all runs that are not over yet; returns what is also written as matrix.json.

        Raises:
            BadInput: every arm is refused or impossible.
            PrerequisiteMissing: no Java, no engine, no image.
            ClusterError: several runs in a row broke. Finished runs are kept: `--resume`.
            KeyboardInterrupt: passed on; finished runs are kept too.
        """
        self._save("under way")
        self._feasible = self._backend.feasibility(list(self._experiments.values()))
        self._out |= {name: ("impossible", why) for name, why in self._feasible.impossible.items()}
        if len(self._out) == len(self._plan.arms):
            self._save("all runs made")
            raise BadInput(
                "no arm of the matrix can be run",
                where=self._plan.spec.name,
                found="; ".join(f"{name}: {why}" for name, (_, why) in list(self._out.items())[:3]),
                next_step="correct the settings, or leave those faults out",
            )
        try:
            with self._runs:
                self._run_rounds(self._runs)
            self._harvest(wait=True)
        finally:
            self._save("under way")
        return self._save("budget spent" if self._runs.refused else "all runs made")

    def _run_rounds(self, campaign: StoredRuns[DueRun]) -> None:
        repeats = self._plan.spec.repeats
        for repeat in range(repeats.most):
            due = [name for name in self._experiments if name not in self._out]
            if repeat >= repeats.at_least and repeats.narrower_than is not None:
                self._harvest(wait=True)
                due = [name for name in due if self._width(name) > repeats.narrower_than]
            if not due or campaign.refused:
                return
            order = in_round(due, self._cluster_of, self._plan.seed, repeat, campaign.cluster_up)
            campaign.add(self._due(name, repeat) for name in order if (name, repeat) not in self._rows)
            while campaign.waiting or campaign.busy:
                for run, _, message in campaign.ended():
                    self._take(run, message)

    def _due(self, arm: str, repeat: int) -> DueRun:
        experiment, skipped = self._feasible.possible[arm]
        return DueRun(
            name=f"{arm}, run {repeat + 1}",
            experiment=experiment,
            folder=self._store.run_folder(arm, repeat),
            seed=self._plan.seed + repeat,
            skipped=skipped,
            arm=arm,
            repeat=repeat,
        )

    def _begin(self, run: DueRun) -> str | None:
        """The head of a run's progress; None: the budget does not allow it."""
        budget = self._plan.spec.repeats.budget_minutes
        if run.made_before:
            self._made.append(run)
            return ""
        if budget is not None and self._elapsed() + self._expected(run.arm) > budget * 60:
            report_progress("the budget is spent")
            return None
        return f"{self._progress()} · {run.arm} {run.repeat + 1}"

    def _take(self, run: DueRun, message: RequestFinished) -> None:
        """Record the outcome of a run: it can be checked, its arm is refused or impossible, or it broke."""
        if run.error is None:
            self._runs.failures.reset()
            self._runs.times.add(run.arm, self._experiments[run.arm], message.seconds)
            self._made.append(run)
        elif isinstance(run.error, BadInput | PrerequisiteMissing):
            state: ArmState = "refused" if isinstance(run.error, BadInput) else "impossible"
            what, found = run.error.what, run.error.found
            self._out[run.arm] = (state, f"{what}: {found}" if found else what)
            report_progress(f"{run.arm}: {state}: {what}")
        else:
            self._keep(run, self._runs.broken(run, run.error))
        self._harvest(wait=False)
        self._save("under way")

    def _keep(self, run: DueRun, found: dict[str, Any]) -> None:
        fields = self._runs.fields_of(run) | found
        row = RunRow(arm=run.arm, labels=self._labels[run.arm], repeat=run.repeat, **fields)
        self._store.keep(row)
        self._rows[row.arm, row.repeat] = row

    def _cluster_of(self, name: str) -> ClusterSpec:
        return self._experiments[name].cluster

    def _harvest(self, *, wait: bool) -> None:
        """Keep the runs whose checks are over."""
        for run in list(self._made):
            assert run.check is not None, "it was made"
            if wait or run.check.done():
                self._keep(run, found_in(run.check.result()))
                self._made.remove(run)

    def _width(self, name: str) -> float:
        return loss_width([row for row in self._rows.values() if row.arm == name])

    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    def _expected(self, name: str) -> float:
        return self._runs.times.expected(name, self._experiments[name])

    def _progress(self) -> str:
        """The number of the next run, and how long the rest takes."""
        repeats = self._plan.spec.repeats
        rounds = repeats.most if repeats.narrower_than is None else repeats.at_least
        number = len(self._rows) + len(self._made) + 1
        over = Counter([arm for arm, _ in self._rows] + [run.arm for run in self._made])
        due = (arm for arm in self._experiments if arm not in self._out)
        left = sum(self._expected(arm) * max(0, rounds - over[arm]) for arm in due) / self._clusters
        if repeats.budget_minutes is not None:
            left = min(left, max(0.0, repeats.budget_minutes * 60 - self._elapsed()))
        return f"run {number}, {format_duration(left)} left"

    def _save(self, ended: Literal["all runs made", "budget spent", "under way"]) -> MatrixResult:
        spec = self._plan.spec
        result = MatrixResult(
            name=spec.name,
            title=spec.title,
            description=spec.description,
            spec=spec.stored_form(),
            seed=self._plan.seed,
            command=self._command,
            started_ns=self._started_ns,
            seconds=round(self._elapsed(), 1),
            ended=ended,
            arms=arm_results(self._plan.arms, list(self._rows.values()), self._out, self._plan.seed),
        )
        self._store.write(MATRIX_FILE, result)
        return result


def in_round(
    arms: Sequence[str], cluster_of: Callable[[str], object], seed: int, repeat: int, up: object
) -> list[str]:
    """The arms of one round in random order, those that share a cluster together.

    A round has each arm once, so that what changes with time (a busier machine, a warmer disk) affects all
    arms alike. Arms of the cluster that is `up` come first: that saves a start, and reverses the order of
    clusters from round to round.
    """
    shuffled = sorted(arms)
    random.Random(f"{seed}/{repeat}").shuffle(shuffled)
    clusters = [cluster_of(arm) for arm in shuffled]
    return sorted(shuffled, key=lambda arm: (cluster_of(arm) != up, clusters.index(cluster_of(arm))))
