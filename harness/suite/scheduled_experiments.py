"""The experiments of a suite: which must run, the requests for them, and the outcome of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.campaign.work_queue import WorkQueue
from harness.campaign.worker import RequestFinished, RunFinished, RunRequest, Worker, Workers
from harness.model.errors import ClusterError, KafkaChaosError
from harness.preflight.kernel_probes import Capability
from harness.run.executor import Options, RunningExperiment, job_of, runs_of
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment
from harness.suite.model import SuiteItem


@dataclass(eq=False)
class ScheduledExperiment:
    """An experiment of an item, shared with later items that have it too: its job, or why it did not run to
    its end."""

    item: SuiteItem
    experiment: Experiment
    arms: tuple[str, ...]
    job: RunningExperiment | None = None
    seconds: float = 0.0
    error: str | None = None
    ran: bool = False

    @property
    def cluster(self) -> ClusterSpec:
        return self.experiment.cluster

    @property
    def alone(self) -> bool:
        """Whether it measures times, so that nothing else may run meanwhile."""
        return self.item.alone

    @property
    def over(self) -> bool:
        """Whether it is finished: it ran and was checked, or could not be run."""
        return (self.ran or self.error is not None) and (self.job is None or self.job.checked)


def experiments_of(items: Iterable[SuiteItem]) -> list[ScheduledExperiment]:
    """Every experiment of these items; an experiment that several items share is run once, with the arms of
    all items."""
    scheduled: dict[str, ScheduledExperiment] = {}
    for item in items:
        for experiment, arms in item.experiments():
            one = scheduled.setdefault(
                experiment.model_dump_json(by_alias=True), ScheduledExperiment(item, experiment, ())
            )
            one.arms = tuple(dict.fromkeys((*one.arms, *arms)))
    return list(scheduled.values())


class ExperimentSchedule:
    """Runs experiments on workers. Those that cannot be run at all are left out, and say why in `error`."""

    def __init__(
        self, experiments: Iterable[ScheduledExperiment], options: Options, capabilities: Sequence[Capability]
    ) -> None:
        self._options = options
        self._capabilities = capabilities
        self._clusters = 0
        self._queue = WorkQueue([one for one in experiments if self._prepare(one)], self._request)

    def __len__(self) -> int:
        """Number of experiments that wait."""
        return len(self._queue.waiting)

    def step(self, workers: Workers, seconds: float) -> None:
        """Give idle workers experiments, and take in messages for at most `seconds`."""
        try:
            self._queue.hand_out(workers.workers)
        except ClusterError as error:
            self._fail(self._queue.waiting, str(error))
        for worker, message in workers.messages(seconds):
            one = self._queue.run_of[worker]
            if isinstance(message, RunFinished):
                assert one.job is not None, "it was prepared"
                one.job.check(message.folder.name)
            else:
                self._finish(worker, one, message)

    def _prepare(self, one: ScheduledExperiment) -> bool:
        mine = replace(self._options, results=self._options.results / one.item.id, arms=one.arms)
        try:
            one.job = job_of(one.experiment, mine, self._capabilities)
        except KafkaChaosError as error:
            one.error = str(error)
        one.error = one.item.too_old() or one.error
        return one.error is None

    def _request(self, one: ScheduledExperiment, worker: Worker) -> RunRequest:
        assert one.job is not None, "it was prepared"
        self._clusters += worker.replace or worker.spec != one.cluster
        return RunRequest(
            one.job.experiment,
            tuple(arms for _, arms in runs_of(one.job.experiment, one.job.arms, one.job.folder)),
            self._options.seed,
            self._options.results / f"logs-{self._clusters}",
            one.job.skipped,
            reuse=not worker.replace,
            delete_topics=True,
        )

    def _finish(self, worker: Worker, one: ScheduledExperiment, message: RequestFinished) -> None:
        one.seconds = message.seconds
        if message.error is None:
            one.ran = True
            return
        worker.replace = True
        if not message.began:
            # Every experiment on such a cluster would fail likewise.
            same = [other for other in self._queue.waiting if other.cluster == one.cluster]
            self._fail([one, *same], str(message.error))
        elif message.fresh:
            self._fail([one], str(message.error))
        elif self._prepare(one):
            # Experiments that ran before on its cluster may be the cause.
            self._queue.waiting.insert(0, one)

    def _fail(self, experiments: Iterable[ScheduledExperiment], error: str) -> None:
        for one in experiments:
            one.error = error
        self._queue.waiting = [one for one in self._queue.waiting if one.error is None]
