"""Makes runs on clusters side by side, each of which is reset before its next run, and checks them meanwhile.

Runs are kept in the order of their numbers, however they end: what is kept never has a gap, so that a later
process can repeat the decisions that led to each run.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import dataclass
from typing import Any

from checkers import bounds_of
from harness.lab.explore.menu import ExploreMenu, experiment_of
from harness.lab.explore.phases import observed_faults
from harness.lab.explore.promised import promised
from harness.lab.explore.result import ExploreStore, TrialRun
from harness.lab.explore.selection import DrawnTrial
from harness.lab.explore.trial import Trial
from harness.many.campaign import StoredRun, StoredRuns
from harness.many.docker_backend import DockerBackend
from harness.model.errors import CheckError, KafkaChaosError, PrerequisiteMissing
from harness.model.progress import progress_under, report_progress
from harness.model.result import VerdictWord

_NOT_KNOWN = "not known: the process that made the run ended before it was kept"


@dataclass(eq=False, kw_only=True)
class DueTrial(StoredRun):
    """A run that was decided on: `known` is how many runs had been kept by then, `limit` what all runs to
    shrink its violation may take of the budget. `reset` is known later."""

    number: int
    drawn: DrawnTrial
    violation: int | None
    known: int
    limit: float
    reset: str = ""


class TrialRunner(StoredRuns[DueTrial]):
    """Runs schedules on clusters side by side, as `StoredRuns` says. `menu` may be replaced by one whose
    schedules are the same."""

    def __init__(
        self,
        menu: ExploreMenu,
        store: ExploreStore,
        backend: DockerBackend,
        clusters: int,
        begin: Callable[[DueTrial], str | None],
    ) -> None:
        super().__init__(store, backend, clusters, begin, command="explore", reset=True)
        self.due: deque[DueTrial] = deque()
        """What was decided on and not given back by `next_run`, in order."""
        self.starts = 0
        """How many clusters were started."""
        self.menu = menu
        self._trials = store

    def expected(self, trial: Trial) -> float:
        """Seconds of a run: the estimate, corrected by what runs took so far."""
        return self.times.expected("", experiment_of(self.menu, trial))

    def decide(
        self, number: int, drawn: DrawnTrial, seed: int, known: int, violation: int | None, limit: float
    ) -> None:
        """Have a run made when a cluster is free, after those decided on before."""
        arm = f"run-{number:04d}-{zlib.crc32(drawn.trial.model_dump_json().encode()):08x}"
        due = DueTrial(
            name=f"run {number}",
            experiment=experiment_of(self.menu, drawn.trial, name=f"explore-{self.menu.name}", arm=arm),
            folder=self._trials.run_folder(number),
            seed=seed,
            number=number,
            drawn=drawn,
            violation=violation,
            known=known,
            limit=limit,
        )
        self.due.append(due)
        self.add((due,))

    def drop(self, run: DueTrial) -> None:
        self.due.remove(run)

    def check(self, run: DueTrial) -> None:
        if run.made_before:
            run.reset = _NOT_KNOWN
        with progress_under(run.head, last_part=True):
            super().check(run)

    def next_run(self) -> TrialRun | None:
        """The next run in order, when it is over, checked and kept; others go on meanwhile. None: there is
        none. One that breaks proves nothing: its verdict is unknown.

        Raises:
            ClusterError, BadInput: several in a row broke, or were refused.
            PrerequisiteMissing, CheckError: nothing can be run, or nothing checked.
        """
        while self.due:
            if (run := self.finished_run()) is not None:
                return run
            for due, worker, message in self.ended():
                if message.began:
                    due.reset = "a new cluster" if message.fresh else f"reused: {message.proof}"
                # A process that has died knows nothing of its cluster.
                self.starts += message.began and message.fresh and worker.alive
                if isinstance(message.error, PrerequisiteMissing):
                    raise message.error
            idle = not self.busy and not self.waiting
            if idle and self.due and (check := self.due[0].check) is not None:
                wait((check,))
        return None

    def finished_run(self) -> TrialRun | None:
        """The next run in order, kept, if it is over and checked by now; raises what `next_run` does."""
        if not self.due or not self.due[0].over:
            return None
        due = self.due[0]
        try:
            outcome = self._outcome(due)
        except (PrerequisiteMissing, CheckError):
            raise
        except KafkaChaosError as error:
            report_progress(f"{due.name} broke: {error.what}")
            outcome = self.broken(due, error)
        else:
            self.failures.reset()
        self.due.popleft()
        run = TrialRun(
            number=due.number,
            violation=due.violation,
            known=due.known,
            trial=due.drawn.trial,
            aims=due.drawn.aims,
            reset=due.reset,
            **self.fields_of(due),
            **outcome,
        )
        self._trials.keep(run)
        return run

    def _outcome(self, due: DueTrial) -> dict[str, Any]:
        """What is found in a run, as fields of a `TrialRun`."""
        if due.error is not None:
            raise due.error
        assert due.check is not None
        result = due.check.result()
        due.seconds += result.check_seconds or 0.0
        self.times.add(due.name, due.experiment, due.seconds)
        summary, verdict = result.summary, result.judgement.verdict
        outcome: dict[str, Any] = {
            "seen": observed_faults(due.folder, due.experiment.topic.replication_factor),
            "verdict": verdict,
            "reasons": result.judgement.reasons,
        }
        if summary is None:
            return outcome
        read = result.meta.final_read is not None and result.meta.final_read.began
        bounds = bounds_of(result.meta) if read and verdict is not VerdictWord.VALID else {}
        return {
            **outcome,
            "findings": summary.findings,
            "promised": promised(result.meta),
            "broken": tuple(
                finding for finding, bound in bounds.items() if bound.exceeded(summary.count(finding))
            ),
            "sent": summary.sent,
            "acked": summary.outcomes.get("acked", 0),
            "shares": summary.shares,
        }
