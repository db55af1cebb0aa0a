"""Runs a matrix: round after round, each arm once a round, on clusters that arms share."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from harness.campaign import run_time
from harness.campaign.backend import Backend
from harness.campaign.cluster_pool import ClusterSlot, side_by_side
from harness.matrix.expand import MatrixArm
from harness.matrix.figures import CellState, arms_of, loss_width
from harness.matrix.ordering import in_round, is_due
from harness.matrix.result import MatrixResult, RunRow, row_of
from harness.matrix.spec import MatrixSpec
from harness.matrix.store import MatrixStore
from harness.model.errors import BadInput, ClusterError, KafkaChaosError, PrerequisiteMissing
from harness.model.progress import progress_under, report_progress
from harness.model.result import ArmResult, VerdictWord
from harness.spec.experiment import Experiment

MOST_FAILURES = 3
"""So many runs that break one after the other say that it is not the arms."""


@dataclass(frozen=True, slots=True)
class MatrixInput:
    """What is to be run. `before` is what an earlier process left of the same matrix; None: nothing.
    `clusters`: how many may be up at a time."""

    spec: MatrixSpec
    arms: Sequence[MatrixArm]
    store: MatrixStore
    seed: int
    command: str
    before: MatrixResult | None = None
    clusters: int = 1


class MatrixRun:
    """One matrix under way. `execute` goes on where an earlier process stopped."""

    def __init__(self, given: MatrixInput, rig: Backend) -> None:
        self._given = given
        self._rig = rig
        self._experiments: dict[str, Experiment] = {
            arm.name: arm.experiment for arm in given.arms if arm.experiment is not None
        }
        self._labels = {arm.name: arm.labels for arm in given.arms}
        self._rows = given.store.outcomes([arm.name for arm in given.arms])
        self._out: dict[str, tuple[CellState, str]] = {
            arm.name: ("refused", arm.refusal or "") for arm in given.arms if arm.experiment is None
        }
        before = given.before
        for known in before.arms if before is not None else ():
            if known.state == "refused" and known.name in self._experiments:
                self._out[known.name] = ("refused", known.reason or "")
        self._seconds_before = before.seconds if before is not None else 0.0
        self._started_ns = before.started_ns if before is not None else time.time_ns()
        self._began = time.monotonic()
        self._checks: dict[tuple[str, int], Future[ArmResult]] = {}
        self._took: dict[str, list[float]] = {}
        self._lanes = [ClusterSlot(rig, given.store) for _ in range(max(1, given.clusters))]
        # Held for what is kept of runs, never while one is made.
        self._lock = threading.RLock()
        self._failures = 0
        self._spent = False

    def execute(self) -> MatrixResult:
        """Make all runs that are not over yet; returns what is also written as matrix.json.

        Raises:
            BadInput: every arm is refused or impossible.
            PrerequisiteMissing: no Java, no engine, no image.
            ClusterError: several runs in a row broke. What was made is kept: `--resume`.
            KeyboardInterrupt: passed on; the same.
        """
        self._save("under way")
        impossible = self._rig.impossible(list(self._experiments.values()))
        self._out |= {name: ("impossible", why) for name, why in impossible.items()}
        if len(self._out) == len(self._given.arms):
            self._save("all runs made")
            raise BadInput(
                "no arm of the matrix can be run",
                where=self._given.spec.name,
                found="; ".join(f"{name}: {why}" for name, (_, why) in list(self._out.items())[:3]),
                next_step="correct the settings, or leave those faults out",
            )
        try:
            self._rounds()
            self._harvest(wait=True)
        finally:
            for lane in self._lanes:
                lane.end()
            self._save("under way")
        return self._save("budget spent" if self._spent else "all runs made")

    def _rounds(self) -> None:
        repeats = self._given.spec.repeats
        for repeat in range(repeats.most):
            if repeat >= repeats.at_least and repeats.narrower_than is not None:
                self._harvest(wait=True)
            due = [
                name
                for name in self._experiments
                if name not in self._out and is_due(repeats, repeat, self._width(name))
            ]
            if not due:
                return
            order = in_round(due, self._key, self._given.seed, repeat, self._lanes[0].up)
            left = [name for name in order if (name, repeat) not in self._rows]
            if not side_by_side(self._lanes, left, self._key, partial(self._one, repeat)):
                return

    def _one(self, repeat: int, lane: ClusterSlot, name: str) -> bool:
        """Make a run; False: the budget does not allow it."""
        with self._lock:
            folder = self._prepared(name, repeat)
        if folder is None:
            return not self._spent
        started, began = time.time_ns(), time.monotonic()
        try:
            experiment = self._experiments[name]
            cluster = lane.cluster(experiment.cluster, self._key(name))
            began = time.monotonic()
            seed = self._given.seed + repeat
            with progress_under(self._progress_head(name, repeat), last_part=True):
                self._rig.run(cluster, experiment, folder, seed)
        except KafkaChaosError as error:
            with self._lock:
                self._ended_badly(lane, name, repeat, started, time.monotonic() - began, error)
        else:
            with self._lock:
                self._failures = 0
                self._took.setdefault(name, []).append(time.monotonic() - began)
                self._checks[name, repeat] = self._rig.check(folder.parent, folder.name)
        with self._lock:
            self._harvest(wait=False)
            self._save("under way")
        return True

    def _prepared(self, name: str, repeat: int) -> Path | None:
        """The folder of a run to be made; None: it was made and is only checked, or the budget is spent."""
        store = self._given.store
        folder = store.run_folder(name, repeat)
        if store.awaits_check(name, repeat):
            self._checks[name, repeat] = self._rig.check(folder.parent, folder.name)
            return None
        budget = self._given.spec.repeats.budget_minutes
        if budget is not None and self._elapsed() + self._expected(name) > budget * 60:
            if not self._spent:
                report_progress("the budget is spent")
            self._spent = True
            return None
        if (aside := store.set_aside(name, repeat)) is not None:
            report_progress(f"{name}, run {repeat + 1}: was cut short; what it left is in {aside.name}")
        return folder

    def _ended_badly(
        self, lane: ClusterSlot, name: str, repeat: int, started: int, seconds: float, error: KafkaChaosError
    ) -> None:
        """Keep why a run was not made: of the arm, or of the run."""
        why = f"{error.what}: {error.found}" if error.found else error.what
        if isinstance(error, BadInput):
            self._out[name] = ("refused", why)
            report_progress(f"{name}: refused: {error.what}")
        elif isinstance(error, PrerequisiteMissing):
            self._out[name] = ("impossible", why)
            report_progress(f"{name}: impossible here: {error.what}")
            lane.down()
        elif not lane.ended:
            self._broke(lane, name, repeat, started, seconds, error)

    def _broke(
        self, lane: ClusterSlot, name: str, repeat: int, started: int, seconds: float, error: KafkaChaosError
    ) -> None:
        """Keep a run that could not be made as one that says nothing, and take a new cluster."""
        row = RunRow(
            arm=name,
            labels=self._labels[name],
            repeat=repeat,
            folder=self._given.store.path_of(name, repeat),
            seed=self._given.seed + repeat,
            verdict=VerdictWord.UNKNOWN,
            as_promised=None,
            reasons=(f"the run broke: {error.what}", *((error.found,) if error.found else ())),
            started_ns=started,
            seconds=round(seconds, 1),
        )
        self._failures += 1
        lane.down()
        if self._failures >= MOST_FAILURES:
            raise ClusterError(
                f"{self._failures} runs in a row broke",
                where=f"{name}, run {repeat + 1}",
                found=str(error),
                next_step=f"see to it, then: kafka-chaos matrix --resume {self._given.store.folder}",
            ) from error
        self._given.store.keep(row)
        self._rows[name, repeat] = row

    def _key(self, name: str) -> str:
        return self._experiments[name].cluster.model_dump_json()

    def _harvest(self, *, wait: bool) -> None:
        """Take in the checks that are over."""
        for (name, repeat), future in list(self._checks.items()):
            if wait or future.done():
                result = future.result()
                path = self._given.store.path_of(name, repeat)
                row = row_of(result, arm=name, labels=self._labels[name], repeat=repeat, folder=path)
                self._given.store.keep(row)
                self._rows[name, repeat] = row
                del self._checks[name, repeat]

    def _runs(self, name: str) -> list[RunRow]:
        return [self._rows[key] for key in sorted(self._rows) if key[0] == name]

    def _width(self, name: str) -> float:
        return loss_width(self._runs(name))

    def _elapsed(self) -> float:
        return self._seconds_before + time.monotonic() - self._began

    def _expected(self, name: str) -> float:
        """Seconds of a run: what runs of this arm took, or the estimate corrected by what others took."""
        if name in self._took:
            return sum(self._took[name]) / len(self._took[name])
        taken = [one for many in self._took.values() for one in many]
        guessed = sum(
            len(many) * run_time.run_seconds(self._experiments[arm]) for arm, many in self._took.items()
        )
        factor = sum(taken) / guessed if guessed else 1.0
        return factor * run_time.run_seconds(self._experiments[name])

    def _progress_head(self, name: str, repeat: int) -> str:
        """What progress of one run is reported under: its number, and how long the remaining runs take."""
        repeats = self._given.spec.repeats
        rounds = repeats.most if repeats.narrower_than is None else repeats.at_least
        with self._lock:
            number = len(self._rows) + len(self._checks) + 1
            over = Counter(arm for arm, _ in (*self._rows, *self._checks))
            left = sum(
                self._expected(arm) * max(0, rounds - over[arm])
                for arm in self._experiments
                if arm not in self._out
            ) / len(self._lanes)
        if repeats.budget_minutes is not None:
            left = min(left, max(0.0, repeats.budget_minutes * 60 - self._elapsed()))
        return f"run {number}, {run_time.told(left)} left · {name} {repeat + 1}"

    def _save(self, ended: Literal["all runs made", "budget spent", "under way"]) -> MatrixResult:
        given = self._given
        result = MatrixResult(
            name=given.spec.name,
            title=given.spec.title,
            description=given.spec.description,
            spec=given.spec.kept(),
            seed=given.seed,
            command=given.command,
            started_ns=self._started_ns,
            seconds=round(self._elapsed(), 1),
            ended=ended,
            arms=arms_of(given.arms, list(self._rows.values()), self._out, given.seed),
        )
        given.store.save(result)
        return result
