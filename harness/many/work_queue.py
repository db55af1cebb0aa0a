"""Runs that are still to be made, and which worker makes which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from harness.many.workers import RunRequest, Worker
from harness.model.errors import ClusterError
from harness.spec.cluster import ClusterSpec


class QueuedRun(Protocol):
    """Something to run. `alone`: no other may run at the same time."""

    @property
    def cluster(self) -> ClusterSpec: ...

    @property
    def alone(self) -> bool: ...


AnyQueuedRun = TypeVar("AnyQueuedRun", bound=QueuedRun)


class WorkQueue(Generic[AnyQueuedRun]):
    """Gives idle workers what is best for them; `waiting` may be changed at any time.

    `request` says what a worker is asked to do for a run (None: nothing is left to do). Workers for whom
    nothing is left are stopped, unless they are to be kept for another queue (`keep_idle`).
    """

    def __init__(
        self,
        waiting: list[AnyQueuedRun],
        request: Callable[[AnyQueuedRun, Worker], RunRequest | None],
        *,
        keep_idle: bool = False,
    ) -> None:
        self.waiting = waiting
        self.run_of: dict[Worker, AnyQueuedRun] = {}
        """What each worker makes, or made last."""
        self._request = request
        self._keep_idle = keep_idle

    def hand_out(self, workers: Sequence[Worker]) -> None:
        """Give every idle worker its next run.

        Raises:
            ClusterError: something waits, and all workers have ended.
        """
        living = [worker for worker in workers if worker.busy or worker.alive]
        if self.waiting and not living:
            raise ClusterError("all worker processes have ended")
        for worker in living:
            while not worker.busy:
                others = [other for other in living if other is not worker]
                alone = any(other.busy and self.run_of[other].alone for other in others)
                number = next_for(
                    worker.spec,
                    [other.spec for other in others if other.spec is not None],
                    [(run.cluster, run.alone) for run in self.waiting],
                    alone=alone,
                    others_busy=any(other.busy for other in others),
                )
                if number is None:
                    if (alone or not self.waiting) and not self._keep_idle:
                        # An idle cluster takes its share of the machine too.
                        worker.stop(at_once=False)
                    break
                run = self.waiting.pop(number)
                request = self._request(run, worker)
                if request is not None:
                    self.run_of[worker] = run
                    worker.give(request)
                    worker.replace = False


def next_for(
    mine: ClusterSpec | None,
    others: Sequence[ClusterSpec],
    waiting: Sequence[tuple[ClusterSpec, bool]],
    *,
    alone: bool,
    others_busy: bool,
) -> int | None:
    """The index of the waiting run (cluster spec, whether it must run alone) that a worker makes next: one
    for the cluster it has, else for one that no other worker has, else the first. None: none for now.

    Runs that must be alone come last, when all other workers are idle. Pure.
    """
    if alone:
        return None
    free = [number for number, (_, by_itself) in enumerate(waiting) if not by_itself]
    candidates = free or ([] if others_busy else list(range(len(waiting))))
    own = [number for number in candidates if waiting[number][0] == mine]
    unclaimed = [number for number in candidates if waiting[number][0] not in others]
    # A run that must be alone is better left to the worker that has its cluster.
    return next(iter(own + unclaimed + free), None)
