"""Runs a matrix: round after round, each arm once per round, on clusters that arms share."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Literal

from harness.campaign.consecutive_failures import ConsecutiveFailures, broken_reasons
from harness.campaign.docker_backend import DockerBackend, Feasibility
from harness.campaign.run_store import awaits_check, set_aside
from harness.campaign.run_time import RunTimes, format_duration
from harness.campaign.work_queue import WorkQueue
from harness.campaign.workers import RequestFinished, RunRequest, Worker, WorkerMessage, Workers, workers_for
from harness.matrix.figures import ArmState, arm_results, loss_width
from harness.matrix.plan import MatrixPlan
from harness.matrix.result import MATRIX_FILE, MatrixResult, MatrixStore, RunRow, row_of
from harness.model.errors import BadInput, KafkaChaosError, PrerequisiteMissing
from harness.model.progress import report_progress
from harness.model.result import ArmResult, VerdictWord
from harness.spec.cluster import ClusterSpec

_LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class MatrixRunKey:
    """One run that is due: an arm's `repeat`, counted from 0."""

    arm: str
    repeat: int
    cluster: ClusterSpec
    alone: bool = False

    def __str__(self) -> str:
        return f"{self.arm}, run {self.repeat + 1}"


class MatrixRun:
    """One matrix under way, on at most `clusters` clusters; it goes on where an earlier process ended."""

    def __init__(
        self, plan: MatrixPlan, store: MatrixStore, command: str, backend: DockerBackend, clusters: int = 1
    ) -> None:
        self._plan = plan
        self._store = store
        self._backend = backend
        self._clusters = max(1, clusters)
        self._experiments = {arm.name: arm.experiment for arm in plan.arms if arm.experiment is not None}
        self._labels = {arm.name: arm.labels for arm in plan.arms}
        self._rows = store.outcomes([arm.name for arm in plan.arms])
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
        self._checks: dict[tuple[str, int], Future[ArmResult]] = {}
        self._times = RunTimes()
        self._failures = ConsecutiveFailures(f"kafka-chaos matrix --resume {store.folder}")
        self._spent = False

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
            with workers_for(self._clusters, self._backend, self._store.lock) as workers:
                self._run_rounds(workers)
            self._harvest(wait=True)
        finally:
            self._save("under way")
        return self._save("budget spent" if self._spent else "all runs made")

    def _run_rounds(self, workers: Workers) -> None:
        repeats = self._plan.spec.repeats
        for repeat in range(repeats.most):
            due = [name for name in self._experiments if name not in self._out]
            if repeat >= repeats.at_least and repeats.narrower_than is not None:
                self._harvest(wait=True)
                due = [name for name in due if self._width(name) > repeats.narrower_than]
            if not due or self._spent:
                return
            order = in_round(due, self._cluster_of, self._plan.seed, repeat, workers.workers[0].spec)
            self._run_round(
                workers,
                [
                    MatrixRunKey(name, repeat, self._cluster_of(name))
                    for name in order
                    if (name, repeat) not in self._rows
                ],
            )

    def _run_round(self, workers: Workers, runs: list[MatrixRunKey]) -> None:
        queue = WorkQueue(runs, self._request, keep_idle=True)
        while True:
            if self._spent:
                queue.waiting.clear()
            queue.hand_out(workers.workers)
            if not any(worker.busy for worker in workers.workers):
                return
            for worker, message in workers.messages(_LOOK_SECONDS):
                self._take(worker, queue.run_of[worker], message)

    def _request(self, run: MatrixRunKey, worker: Worker) -> RunRequest | None:
        """What to ask of a worker; None: the run was made and is only checked, or the budget is spent."""
        folder = self._store.run_folder(run.arm, run.repeat)
        if self._spent:
            return None
        if awaits_check(folder, run.arm):
            self._checks[run.arm, run.repeat] = self._backend.check(folder.parent, folder.name)
            return None
        budget = self._plan.spec.repeats.budget_minutes
        if budget is not None and self._elapsed() + self._expected(run.arm) > budget * 60:
            self._spent = True
            report_progress("the budget is spent")
            return None
        set_aside(folder, str(run))
        experiment, skipped = self._feasible.possible[run.arm]
        return RunRequest(
            experiment,
            ({folder: experiment.arms[0]},),
            self._plan.seed + run.repeat,
            self._store.new_log_folder(),
            skipped,
            reuse=not worker.replace,
            head=f"{self._progress()} · {run.arm} {run.repeat + 1}",
        )

    def _take(self, worker: Worker, run: MatrixRunKey, message: WorkerMessage) -> None:
        """Record the outcome of a run: it can be checked, its arm is refused or impossible, or it broke."""
        if not isinstance(message, RequestFinished):
            return
        folder, error = self._store.run_folder(run.arm, run.repeat), message.error
        if error is None:
            self._failures.reset()
            self._times.add(run.arm, self._experiments[run.arm], message.seconds)
            self._checks[run.arm, run.repeat] = self._backend.check(folder.parent, folder.name)
        elif isinstance(error, BadInput | PrerequisiteMissing):
            state: ArmState = "refused" if isinstance(error, BadInput) else "impossible"
            self._out[run.arm] = (state, f"{error.what}: {error.found}" if error.found else error.what)
            report_progress(f"{run.arm}: {state}: {error.what}")
            worker.replace = state == "impossible"
        else:
            worker.replace = True
            self._failures.add(str(run), error)
            self._keep(self._broken_row(run, message.seconds, error))
        self._harvest(wait=False)
        self._save("under way")

    def _broken_row(self, run: MatrixRunKey, seconds: float, error: KafkaChaosError) -> RunRow:
        return RunRow(
            arm=run.arm,
            labels=self._labels[run.arm],
            repeat=run.repeat,
            folder=self._store.path_of(run.arm, run.repeat),
            seed=self._plan.seed + run.repeat,
            verdict=VerdictWord.UNKNOWN,
            as_promised=None,
            reasons=broken_reasons(error),
            started_ns=time.time_ns() - round(seconds * 1e9),
            seconds=round(seconds, 1),
        )

    def _keep(self, row: RunRow) -> None:
        self._store.keep(row.folder, row)
        self._rows[row.arm, row.repeat] = row

    def _cluster_of(self, name: str) -> ClusterSpec:
        return self._experiments[name].cluster

    def _harvest(self, *, wait: bool) -> None:
        """Keep the runs whose checks are over."""
        for (name, repeat), future in list(self._checks.items()):
            if wait or future.done():
                path = self._store.path_of(name, repeat)
                labels = self._labels[name]
                self._keep(row_of(future.result(), arm=name, labels=labels, repeat=repeat, folder=path))
                del self._checks[name, repeat]

    def _width(self, name: str) -> float:
        return loss_width([row for row in self._rows.values() if row.arm == name])

    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    def _expected(self, name: str) -> float:
        return self._times.expected(name, self._experiments[name])

    def _progress(self) -> str:
        """The number of the next run, and how long the rest takes."""
        repeats = self._plan.spec.repeats
        rounds = repeats.most if repeats.narrower_than is None else repeats.at_least
        number = len(self._rows) + len(self._checks) + 1
        over = Counter(arm for arm, _ in (*self._rows, *self._checks))
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
