"""Makes runs on clusters side by side, each of which is reset before its next run, and checks them meanwhile.

Runs are kept in the order of their numbers, however they end: what is kept never has a gap, so that a later
process can repeat the decisions that led to each run.
"""

from __future__ import annotations

import time
import zlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from checkers import bounds_of
from harness.campaign.consecutive_failures import ConsecutiveFailures, broken_reasons
from harness.campaign.docker_backend import DockerBackend
from harness.campaign.run_store import awaits_check, set_aside
from harness.campaign.run_time import RunTimes
from harness.campaign.work_queue import WorkQueue
from harness.campaign.workers import RequestFinished, RunRequest, Worker, WorkerMessage, workers_for
from harness.explore.menu import ExploreMenu, Trial, experiment_of
from harness.explore.phases import observed_faults
from harness.explore.promised import promised
from harness.explore.result import ExploreStore, TrialRun
from harness.explore.selection import DrawnTrial
from harness.model.errors import BadInput, CheckError, KafkaChaosError, PrerequisiteMissing
from harness.model.progress import progress_under, report_progress
from harness.model.result import ArmResult, VerdictWord
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment

_NOT_KNOWN = "not known: the process that made the run ended before it was kept"
_LOOK_SECONDS = 0.2


@dataclass(eq=False)
class DueTrial:
    """A run that was decided on: `known` is how many runs had been kept by then, `limit` what all runs to
    shrink its violation may take of the budget. The rest is what is known about it meanwhile."""

    number: int
    drawn: DrawnTrial
    violation: int | None
    seed: int
    known: int
    limit: float
    cluster: ClusterSpec
    alone: bool = False
    head: str = ""
    began: float = 0.0
    started_ns: int = 0
    seconds: float = 0.0
    reset: str = ""
    check: Future[ArmResult] | None = None
    error: KafkaChaosError | None = None

    def __str__(self) -> str:
        return f"run {self.number}"


class TrialRunner:
    """Runs schedules on `clusters` clusters side by side. Use it as a context manager: at the end all of them
    have been removed.

    `begin` is asked before each run for the head of its progress messages; None: the budget does not allow
    it. Then it and all later ones are dropped, and `refused` is set, until the caller clears it. `menu` may
    be replaced by one whose schedules are the same."""

    def __init__(
        self,
        menu: ExploreMenu,
        store: ExploreStore,
        backend: DockerBackend,
        clusters: int,
        begin: Callable[[DueTrial], str | None],
    ) -> None:
        self.due: deque[DueTrial] = deque()
        """What was decided on and not given back by `next_run`, in order."""
        self.refused = False
        self.starts = 0
        """How many clusters were started."""
        self.menu = menu
        self._store = store
        self._backend = backend
        self._clusters = clusters
        self._begin = begin
        self._queue = WorkQueue[DueTrial]([], self._request, keep_idle=True)
        self._times = RunTimes()
        self._failures = ConsecutiveFailures(f"kafka-chaos explore --resume {store.folder}")

    def __enter__(self) -> Self:
        self._workers = workers_for(self._clusters, self._backend, self._store.lock)
        self._workers.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._workers.__exit__(kind, error, trace)

    def expected(self, trial: Trial) -> float:
        """Seconds of a run: the estimate, corrected by what runs took so far."""
        return self._times.expected("", experiment_of(self.menu, trial))

    def add(self, due: DueTrial) -> None:
        """Have a run made when a cluster is free, after those added before."""
        self.due.append(due)
        self._queue.waiting.append(due)

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
            self._queue.hand_out(self._workers.workers)
            if any(worker.busy for worker in self._workers.workers):
                for worker, message in self._workers.messages(_LOOK_SECONDS):
                    self._take(worker, self._queue.run_of[worker], message)
            elif self.due and (check := self.due[0].check) is not None:
                wait((check,))
        return None

    def finished_run(self) -> TrialRun | None:
        """The next run in order, kept, if it is over and checked by now; raises what `next_run` does."""
        if not self.due or not self._over(self.due[0]):
            return None
        due = self.due[0]
        found: dict[str, Any] = {"reset": due.reset}
        try:
            found |= self._outcome(due)
        except (PrerequisiteMissing, CheckError):
            raise
        except KafkaChaosError as error:
            report_progress(f"{due} broke: {error.what}")
            self._failures.add(str(due), error)
            found |= {"verdict": VerdictWord.UNKNOWN, "reasons": broken_reasons(error)}
        else:
            self._failures.reset()
        self.due.popleft()
        run = TrialRun(
            number=due.number,
            violation=due.violation,
            known=due.known,
            trial=due.drawn.trial,
            aims=due.drawn.aims,
            folder=self._store.path_of(due.number),
            seed=due.seed,
            started_ns=due.started_ns,
            seconds=round(due.seconds, 1),
            **found,
        )
        self._store.keep(run.folder, run)
        return run

    def _over(self, due: DueTrial) -> bool:
        return due.error is not None or (due.check is not None and due.check.done())

    def _request(self, due: DueTrial, worker: Worker) -> RunRequest | None:
        """What to ask of a worker; None: the budget is spent, or the run was made and is only checked."""
        head = None if self.refused else self._begin(due)
        if head is None:
            self.refused = True
            self.due.remove(due)
            return None
        due.head, due.began, due.started_ns = head, time.monotonic(), time.time_ns()
        folder, experiment = self._store.run_folder(due.number), self._experiment(due)
        (arm,) = experiment.arms
        if awaits_check(folder, arm.name):
            due.reset = _NOT_KNOWN
            self._check(due)
            return None
        set_aside(folder, str(due))
        return RunRequest(
            experiment,
            ({folder: arm},),
            due.seed,
            self._store.new_log_folder(),
            reuse=not worker.replace,
            reset=True,
            head=head,
        )

    def _experiment(self, due: DueTrial) -> Experiment:
        arm = f"run-{due.number:04d}-{zlib.crc32(due.drawn.trial.model_dump_json().encode()):08x}"
        return experiment_of(self.menu, due.drawn.trial, name=f"explore-{self.menu.name}", arm=arm)

    def _take(self, worker: Worker, due: DueTrial, message: WorkerMessage) -> None:
        """A run was made, or broke."""
        if not isinstance(message, RequestFinished):
            return
        due.seconds = time.monotonic() - due.began
        if message.began:
            due.reset = "a new cluster" if message.fresh else f"reused: {message.proof}"
        # A process that has died knows nothing of its cluster.
        self.starts += message.began and message.fresh and worker.alive
        if isinstance(message.error, PrerequisiteMissing):
            raise message.error
        due.error = message.error
        if message.error is None:
            self._check(due)
        elif not isinstance(message.error, BadInput):
            worker.replace = True

    def _check(self, due: DueTrial) -> None:
        folder = self._store.run_folder(due.number)
        with progress_under(due.head, last_part=True):
            due.check = self._backend.check(folder.parent, folder.name)

    def _outcome(self, due: DueTrial) -> dict[str, Any]:
        """What is found in a run, as fields of a `TrialRun`."""
        if due.error is not None:
            raise due.error
        assert due.check is not None
        result = due.check.result()
        due.seconds += result.check_seconds or 0.0
        experiment, folder = self._experiment(due), self._store.run_folder(due.number)
        self._times.add(str(due), experiment, due.seconds)
        summary, verdict = result.summary, result.judgement.verdict
        found: dict[str, Any] = {
            "seen": observed_faults(folder, experiment.topic.replication_factor),
            "verdict": verdict,
            "reasons": result.judgement.reasons,
        }
        if summary is None:
            return found
        read = result.meta.final_read is not None and result.meta.final_read.began
        bounds = bounds_of(result.meta) if read and verdict is not VerdictWord.VALID else {}
        return {
            **found,
            "findings": summary.findings,
            "promised": promised(result.meta),
            "broken": tuple(one for one, bound in bounds.items() if bound.exceeded(summary.count(one))),
            "sent": summary.sent,
            "acked": summary.outcomes.get("acked", 0),
            "shares": summary.shares,
        }
