"""The loop of all that makes many runs: matrices, explorations, claims and known bugs.

A `Campaign` gives runs to workers and gives back what they say. `StoredRuns` is the campaign of runs with a
single arm and a folder in a store: it finds those that an earlier process made, and has each checked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from harness.many.consecutive_failures import ConsecutiveFailures
from harness.many.docker_backend import DockerBackend
from harness.many.run_store import RunStore, awaits_check, set_aside
from harness.many.run_time import RunTimes
from harness.many.work_queue import AnyQueuedRun, WorkQueue
from harness.many.workers import (
    RequestFinished,
    RunRequest,
    Worker,
    WorkerMessage,
    Workers,
    workers_for,
)
from harness.model.errors import BadInput, KafkaChaosError
from harness.model.result import ArmResult, VerdictWord
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment

_LOOK_SECONDS = 0.2


class Campaign(Generic[AnyQueuedRun]):
    """Has workers make runs. Use it as a context manager: at the end every cluster has been removed.

    `request` says what a worker is asked to do for a run (None: nothing is left to do). Workers for whom
    nothing is left are stopped, unless more may come (`keep_idle`)."""

    def __init__(
        self,
        workers: Workers,
        request: Callable[[AnyQueuedRun, Worker], RunRequest | None],
        *,
        keep_idle: bool = False,
    ) -> None:
        self._workers = workers
        self._queue = WorkQueue[AnyQueuedRun]([], request, keep_idle=keep_idle)

    def __enter__(self) -> Self:
        self._workers.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._workers.__exit__(kind, error, trace)

    @property
    def waiting(self) -> list[AnyQueuedRun]:
        """Runs that no worker has yet; it may be changed at any time."""
        return self._queue.waiting

    @property
    def busy(self) -> bool:
        """Whether a worker has a run."""
        return any(worker.busy for worker in self._workers.workers)

    @property
    def cluster_up(self) -> ClusterSpec | None:
        """The spec of the first worker's cluster."""
        return self._workers.workers[0].spec

    def add(self, runs: Iterable[AnyQueuedRun]) -> None:
        """Have these made when workers are free, after those added before."""
        self.waiting.extend(runs)

    def hand_out(self) -> None:
        """Give idle workers runs.

        Raises:
            ClusterError: runs wait, and all worker processes have ended.
        """
        self._queue.hand_out(self._workers.workers)

    def messages(self) -> Iterator[tuple[AnyQueuedRun, Worker, WorkerMessage]]:
        """What workers say within a moment, and of which run."""
        for worker, message in self._workers.messages(_LOOK_SECONDS):
            yield self._queue.run_of[worker], worker, message


@dataclass(eq=False, kw_only=True)
class StoredRun:
    """A run of an experiment with one arm, which leaves `folder`. `name` is for people.

    The rest is what has become of it: whether an earlier process made it, and it is only checked; the head of
    its progress messages; when its turn came, and the seconds from then until it was made; why it was not;
    its check."""

    name: str
    experiment: Experiment
    folder: Path
    seed: int
    skipped: tuple[str, ...] = ()
    alone: bool = False
    made_before: bool = False
    head: str = ""
    began: float = 0.0
    started_ns: int = 0
    seconds: float = 0.0
    error: KafkaChaosError | None = None
    check: Future[ArmResult] | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def cluster(self) -> ClusterSpec:
        return self.experiment.cluster

    @property
    def over(self) -> bool:
        """Whether it was made and checked, or broke."""
        return self.error is not None or (self.check is not None and self.check.done())


Stored = TypeVar("Stored", bound=StoredRun)


class StoredRuns(Campaign[Stored]):
    """Makes runs of a store on `clusters` clusters, and has them checked meanwhile.

    `begin` is asked when the turn of a run comes, for the head of its progress messages; None: the budget
    does not allow it. Then it and all later ones are dropped, and `refused` is set, until the caller clears
    it. With `reset`, a used cluster is made as good as new before the next run. `command` is that of the
    campaign: with --resume it goes on after several runs in a row broke."""

    def __init__(
        self,
        store: RunStore[Any],
        backend: DockerBackend,
        clusters: int,
        begin: Callable[[Stored], str | None],
        *,
        command: str,
        reset: bool = False,
    ) -> None:
        super().__init__(workers_for(clusters, backend, store.lock), self._request, keep_idle=True)
        self.refused = False
        self.times = RunTimes()
        self.failures = ConsecutiveFailures(f"kafka-chaos {command} --resume {store.folder}")
        self._store = store
        self._backend = backend
        self._begin = begin
        self._reset = reset

    def ended(self) -> Iterator[tuple[Stored, Worker, RequestFinished]]:
        """Each run that is made within a moment, whose check has begun, or that breaks; free clusters get the
        next ones first. Nothing where no run is being made.

        Raises:
            ClusterError: runs wait, and all worker processes have ended.
        """
        self.hand_out()
        for run, worker, message in self.messages() if self.busy else ():
            if isinstance(message, RequestFinished):
                run.seconds, run.error = time.monotonic() - run.began, message.error
                if run.error is None:
                    self.check(run)
                # Whatever breaks may be the cluster's fault, but a refusal is not.
                worker.replace = run.error is not None and not isinstance(run.error, BadInput)
                yield run, worker, message

    def check(self, run: Stored) -> None:
        """Begin to check a run that was made."""
        run.check = self._backend.check(run.folder.parent, run.folder.name)

    def fields_of(self, run: Stored) -> dict[str, Any]:
        """What is known of a run without its check, as fields of a `RunOutcome`."""
        return {
            "folder": str(run.folder.relative_to(self._store.folder)),
            "seed": run.seed,
            "started_ns": run.started_ns,
            "seconds": round(run.seconds, 1),
        }

    def broken(self, run: Stored, error: KafkaChaosError) -> dict[str, Any]:
        """The verdict of a run that broke, which proves nothing, as fields of a `RunOutcome`.

        Raises:
            ClusterError, BadInput: several in a row broke, as `ConsecutiveFailures` says.
        """
        self.failures.add(run.name, error)
        reasons = (f"the run broke: {error.what}", *((error.found,) if error.found else ()))
        return {"verdict": VerdictWord.UNKNOWN, "reasons": reasons}

    def drop(self, run: Stored) -> None:
        """The budget does not allow this run."""

    def _request(self, run: Stored, worker: Worker) -> RunRequest | None:
        (arm,) = run.experiment.arms
        run.made_before = awaits_check(run.folder, arm.name)
        head = None if self.refused else self._begin(run)
        if head is None:
            self.refused = True
            self.drop(run)
            return None
        run.head, run.began, run.started_ns = head, time.monotonic(), time.time_ns()
        if run.made_before:
            self.check(run)
            return None
        set_aside(run.folder, run.name)
        return RunRequest(
            run.experiment,
            ({run.folder: arm},),
            run.seed,
            self._store.new_log_folder(),
            run.skipped,
            reuse=not worker.replace,
            reset=self._reset,
            head=head,
        )
