"""Makes one run after the other on one cluster, which is reset in between."""

from __future__ import annotations

import time
import zlib
from typing import Any

from checkers import bounds_of
from harness.campaign.consecutive_failures import ConsecutiveFailures, broken_reasons
from harness.campaign.docker_backend import DockerBackend
from harness.campaign.run_store import awaits_check, set_aside
from harness.campaign.run_time import RunTimes
from harness.cluster.running_cluster import ClusterHolder
from harness.explore.menu import ExploreMenu, Trial, experiment_of
from harness.explore.phases import observed_faults
from harness.explore.promised import promised
from harness.explore.result import ExploreStore, TrialRun
from harness.explore.selection import DrawnTrial
from harness.model.errors import BadInput, CheckError, KafkaChaosError, PrerequisiteMissing
from harness.model.progress import report_progress
from harness.model.result import VerdictWord
from harness.spec.experiment import Experiment

_NOT_KNOWN = "not known: the process that made the run ended before it was kept"


class TrialRunner:
    """Runs schedules on the cluster of its `holder`; earlier processes started `clusters_before`."""

    def __init__(
        self, menu: ExploreMenu, store: ExploreStore, backend: DockerBackend, clusters_before: int
    ) -> None:
        self._menu = menu
        self._store = store
        self._backend = backend
        self.holder = ClusterHolder(backend.start, self._reset)
        self.holder.starts = clusters_before
        self._times = RunTimes()
        self._failures = ConsecutiveFailures(f"kafka-chaos explore --resume {store.folder}")

    def expected(self, trial: Trial) -> float:
        """Seconds of a run: the estimate, corrected by what runs took so far."""
        return self._times.expected("", experiment_of(self._menu, trial))

    def run(self, number: int, drawn: DrawnTrial, violation: int | None, seed: int) -> TrialRun:
        """Make, check and keep a run. One that breaks proves nothing: its verdict is unknown.

        Raises:
            ClusterError, BadInput: several in a row broke, or were refused.
            PrerequisiteMissing, CheckError: nothing can be run, or nothing checked.
        """
        began, started_ns, trial = time.monotonic(), time.time_ns(), drawn.trial
        arm = f"run-{number:04d}-{zlib.crc32(trial.model_dump_json().encode()):08x}"
        experiment = experiment_of(self._menu, trial, name=f"explore-{self._menu.name}", arm=arm)
        try:
            found = self._outcome(number, experiment, seed)
        except (PrerequisiteMissing, CheckError):
            raise
        except KafkaChaosError as error:
            report_progress(f"run {number} broke: {error.what}")
            if not isinstance(error, BadInput):
                self.holder.remove()
            self._failures.add(f"run {number}", error)
            found = {"verdict": VerdictWord.UNKNOWN, "reasons": broken_reasons(error)}
        else:
            self._failures.reset()
            self._times.add(arm, experiment, time.monotonic() - began)
        run = TrialRun(
            number=number,
            violation=violation,
            trial=trial,
            aims=drawn.aims,
            folder=self._store.path_of(number),
            seed=seed,
            started_ns=started_ns,
            seconds=round(time.monotonic() - began, 1),
            **found,
        )
        self._store.keep(run.folder, run)
        return run

    def _outcome(self, number: int, experiment: Experiment, seed: int) -> dict[str, Any]:
        """The outcome of a run, as fields of a `TrialRun`."""
        folder, condition, (arm,) = self._store.run_folder(number), _NOT_KNOWN, experiment.arms
        if not awaits_check(folder, arm.name):
            set_aside(folder, f"run {number}")
            cluster = self.holder.get(self._menu.cluster, self._store.new_log_folder())
            proof = self.holder.proof
            condition = "a new cluster" if proof is None else f"reused: {proof}"
            self._backend.run(cluster, experiment, {folder: arm}, seed)
        result = self._backend.check(folder.parent, folder.name).result()
        summary, verdict = result.summary, result.judgement.verdict
        found: dict[str, Any] = {
            "seen": observed_faults(folder, experiment.topic.replication_factor),
            "verdict": verdict,
            "reasons": result.judgement.reasons,
            "reset": condition,
        }
        if summary is None:
            return found
        bounds = bounds_of(result.meta) if verdict is VerdictWord.INVALID else {}
        return {
            **found,
            "findings": summary.findings,
            "promised": promised(result.meta),
            "broken": tuple(one for one, bound in bounds.items() if bound.exceeded(summary.count(one))),
            "sent": summary.sent,
            "acked": summary.outcomes.get("acked", 0),
            "shares": summary.shares,
        }

    def _reset(self, cluster: Any) -> str:
        report_progress("resetting the cluster")
        return self._backend.reset(cluster)
