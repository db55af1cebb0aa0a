"""Experiments of a suite that are still to be run: who runs which, and what came of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.campaign.worker_processes import (
    ProgressMessage,
    RunFinished,
    RunRequest,
    WorkerMessage,
    WorkerProcess,
)
from harness.model.errors import KafkaChaosError
from harness.model.progress import report_progress
from harness.preflight.kernel_probes import Capability
from harness.run.executor import Options, RunningExperiment, job_of
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment
from harness.suite.model import SuiteItem


@dataclass
class ScheduledExperiment:
    """One experiment of an item, and of those after it that share it: its job, or why it did not run to its
    end."""

    item: SuiteItem
    experiment: Experiment
    arms: tuple[str, ...]
    job: RunningExperiment | None = None
    seconds: float = 0.0
    error: str | None = None
    ran: bool = False

    @property
    def over(self) -> bool:
        """Whether nothing more will come of it: it ran and was checked, or could not be run."""
        return (self.ran or self.error is not None) and (self.job is None or self.job.checked)

    def fail(self, error: str) -> None:
        self.error = error


def runs_of(items: Iterable[SuiteItem]) -> list[ScheduledExperiment]:
    """Every experiment of these items; one that several items have is run once, with the arms of all."""
    found: dict[str, ScheduledExperiment] = {}
    for item in items:
        for experiment, arms in item.experiments():
            one = found.setdefault(
                experiment.model_dump_json(by_alias=True), ScheduledExperiment(item, experiment, ())
            )
            one.arms = tuple(dict.fromkeys((*one.arms, *arms)))
    return list(found.values())


def prepared(one: ScheduledExperiment, options: Options, found: Sequence[Capability]) -> bool:
    """Whether the experiment can be run at all; if not, why is kept."""
    mine = replace(options, results=options.results / one.item.id, arms=one.arms)
    try:
        one.job = job_of(one.experiment, mine, found)
    except KafkaChaosError as error:
        one.error = str(error)
    one.error = one.item.too_old() or one.error
    return one.error is None


class WorkQueue:
    """What is still to be run, and who runs what."""

    def __init__(
        self, waiting: list[ScheduledExperiment], options: Options, found: Sequence[Capability]
    ) -> None:
        self.waiting = waiting
        self._options = options
        self._found = found
        self._at: dict[WorkerProcess, ScheduledExperiment] = {}
        self._broken: set[WorkerProcess] = set()
        self._clusters = 0

    def hand_out(self, workers: Sequence[WorkerProcess]) -> None:
        """Give whoever has nothing to do what is best for it."""
        living = [worker for worker in workers if worker.busy or worker.alive]
        if not living:
            for one in self.waiting:
                one.fail("nobody is left to run it: the processes that run experiments have ended")
            self.waiting.clear()
        for worker in living:
            if worker.busy:
                continue
            others = [other for other in living if other is not worker]
            alone = any(other.busy and self._at[other].item.alone for other in others)
            number = next_for(
                worker.spec,
                [other.spec for other in others if other.spec is not None],
                [(one.experiment.cluster, one.item.alone) for one in self.waiting],
                alone=alone,
                others_busy=any(other.busy for other in others),
            )
            if number is None:
                if alone or not self.waiting:
                    # An idle cluster takes its share of the machine too.
                    worker.stop(at_once=False)
                continue
            one = self.waiting.pop(number)
            assert one.job is not None, "it was prepared"
            self._clusters += worker.spec != one.experiment.cluster or worker in self._broken
            self._at[worker] = one
            worker.give(
                RunRequest(
                    one.job.experiment,
                    one.arms,
                    one.job.folder,
                    self._options.seed,
                    one.job.skipped,
                    self._options.results / f"logs-{self._clusters}",
                    reuse=worker not in self._broken,
                )
            )
            self._broken.discard(worker)

    def take(self, worker: WorkerProcess, message: WorkerMessage) -> None:
        """Take what a worker tells."""
        one = self._at[worker]
        if isinstance(message, ProgressMessage):
            report_progress(message.text)
            return
        if isinstance(message, RunFinished):
            if one.job is not None:
                one.job.check(message.name)
            return
        one.seconds = message.seconds
        if message.error is None:
            one.ran = True
            return
        self._broken.add(worker)
        if not message.began:
            # What was to run on such a cluster cannot be told.
            spec = one.experiment.cluster
            for other in (one, *(other for other in self.waiting if other.experiment.cluster == spec)):
                other.fail(message.error)
            self.waiting = [other for other in self.waiting if other.error is None]
        elif message.fresh:
            one.fail(message.error)
        elif prepared(one, self._options, self._found):
            # What ran before on its cluster may be why.
            self.waiting.insert(0, one)


def next_for(
    mine: ClusterSpec | None,
    others: Sequence[ClusterSpec],
    waiting: Sequence[tuple[ClusterSpec, bool]],
    *,
    alone: bool,
    others_busy: bool,
) -> int | None:
    """Which of the waiting experiments, each with its cluster spec and whether it must run alone, a worker is
    to run next: on the cluster it has, else on one that no other has, else the first. None: none now. Those
    that run alone come last, when all others rest. Pure."""
    if alone:
        return None
    free = [number for number, (_, by_itself) in enumerate(waiting) if not by_itself]
    left = free or ([] if others_busy else list(range(len(waiting))))
    own = [number for number in left if waiting[number][0] == mine]
    unclaimed = [number for number in left if waiting[number][0] not in others]
    # What runs alone is better left to whoever has the cluster up.
    return next(iter(own + unclaimed + free), None)
