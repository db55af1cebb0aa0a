"""Makes one run after the other on one cluster that is made as good as new in between."""

from __future__ import annotations

import time
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from harness.campaign.run_time import run_seconds
from harness.explore.backend import ExploreBackend
from harness.explore.coverage_report import broken_in
from harness.explore.menu import ExploreMenu, experiment_of
from harness.explore.phases import ClusterPhase
from harness.explore.result import TrialRun
from harness.explore.store import ExploreStore
from harness.explore.trial import Trial
from harness.model.errors import (
    BadInput,
    CheckError,
    ClusterError,
    JournalError,
    KafkaChaosError,
    PrerequisiteMissing,
)
from harness.model.progress import progress_under, report_progress
from harness.model.result import VerdictWord
from harness.model.run import RunMeta
from harness.spec.experiment import Experiment

MOST_FAILURES = 3
"""So many runs that break one after the other say that it is not the schedules."""
_NOT_KNOWN = "not known: made by a process that was stopped before it was kept"


class TrialRunner:
    """Holds the cluster. Use as a context manager: at its end the cluster is removed. `clusters` counts
    starts."""

    def __init__(
        self,
        menu: ExploreMenu,
        store: ExploreStore,
        rig: ExploreBackend,
        clusters: int,
    ) -> None:
        self._menu = menu
        self._store = store
        self._rig = rig
        self.clusters = clusters
        self._stack = ExitStack()
        self._cluster: Any = None
        self._failures = 0
        self._guessed = self._took = 0.0

    def __enter__(self) -> TrialRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self._down()

    def expected(self, trial: Trial) -> float:
        """Seconds of a run: the estimate, corrected by what runs took so far."""
        guess = run_seconds(experiment_of(self._menu, trial))
        return guess * (self._took / self._guessed if self._guessed else 1.0)

    def made(
        self,
        number: int,
        trial: Trial,
        aims: tuple[ClusterPhase, ...],
        violation: int | None,
        seed: int,
        progress_head: str,
    ) -> TrialRun:
        """A run, made, checked and kept; its progress is reported under `progress_head`. The verdict of one
        that could not be made is unknown.

        Raises:
            ClusterError, BadInput: several in a row could not be made, or were refused.
            PrerequisiteMissing, CheckError: nothing can be run, or nothing checked.
        """
        began = time.monotonic()
        arm = f"run-{number:04d}-{zlib.crc32(trial.model_dump_json().encode()):08x}"
        experiment = experiment_of(self._menu, trial, name=f"explore-{self._menu.name}", arm=arm)
        common: dict[str, Any] = {
            "number": number,
            "violation": violation,
            "trial": trial,
            "aims": aims,
            "folder": self._store.path_of(number),
            "seed": seed,
            "started_ns": time.time_ns(),
        }
        try:
            found = self._found(number, experiment, seed, progress_head)
        except (PrerequisiteMissing, CheckError):
            raise
        except KafkaChaosError as error:
            self._broke(error, number)
            found = {
                "verdict": VerdictWord.UNKNOWN,
                "reasons": (f"the run broke: {error.what}", *((error.found,) if error.found else ())),
            }
        else:
            self._failures = 0
            self._took += time.monotonic() - began
            self._guessed += run_seconds(experiment)
        run = TrialRun(**common, **found, seconds=round(time.monotonic() - began, 1))
        self._store.keep(run)
        return run

    def _found(self, number: int, experiment: Experiment, seed: int, progress_head: str) -> dict[str, Any]:
        folder, proof = self._store.run_folder(number), _NOT_KNOWN
        if not _awaits_check(folder, experiment.arms[0].name):
            if (aside := self._store.set_aside(number)) is not None:
                report_progress(f"run {number}: was cut short; what it left is in {aside.name}")
            cluster, proof = self._ready(progress_head)
            with progress_under(progress_head, last_part=True):
                self._rig.run(cluster, experiment, folder, seed)
        with progress_under(progress_head, last_part=True):
            result = self._rig.check(folder.parent, folder.name).result()
        summary, verdict = result.summary, result.judgement.verdict
        return {
            "seen": self._rig.look(folder, experiment.topic.replication_factor),
            "verdict": verdict,
            "reasons": result.judgement.reasons,
            "findings": summary.findings if summary else {},
            "broken": broken_in(result) if verdict is VerdictWord.INVALID else (),
            "sent": summary.sent if summary else 0,
            "acked": summary.outcomes.get("acked", 0) if summary else 0,
            "reset": proof,
        }

    def _ready(self, progress_head: str) -> tuple[Any, str]:
        """A cluster as good as new, and the proof in words."""
        if self._cluster is not None:
            try:
                with progress_under(progress_head, last_part=True):
                    report_progress("making the cluster as good as new")
                    return self._cluster, f"reused: {self._rig.reset(self._cluster)}"
            except ClusterError as error:
                report_progress(f"a new cluster: the one that ran is not as good as new: {error.found}")
                self._down()
        self.clusters += 1
        logs = self._store.folder / "logs" / f"{time.time_ns()}"
        with progress_under(progress_head, last_part=True):
            self._cluster = self._stack.enter_context(self._rig.start(self._menu.cluster, logs))
        return self._cluster, "a new cluster"

    def _broke(self, error: KafkaChaosError, number: int) -> None:
        """The next run has a new cluster, unless it was the client or the broker that refused a schedule."""
        report_progress(f"run {number}: broke: {error.what}")
        self._failures += 1
        if isinstance(error, BadInput):
            if self._failures >= MOST_FAILURES:
                raise error
            return
        self._down()
        if self._failures >= MOST_FAILURES:
            raise ClusterError(
                f"{self._failures} runs in a row broke",
                where=f"run {number}",
                found=str(error),
                next_step=f"see to it, then: kafka-chaos explore --resume {self._store.folder}",
            ) from error

    def _down(self) -> None:
        self._cluster = None
        self._stack.close()


def _awaits_check(folder: Path, arm: str) -> bool:
    """Whether this very run was made whole by a process that was stopped before it was checked."""
    try:
        meta = RunMeta.load(folder)
    except JournalError:
        return False
    return meta.finished and meta.arm == arm
