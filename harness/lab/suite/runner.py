"""Runs items of a suite on real brokers, several in parallel and those of one cluster one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.cluster.containers import docker_engine, images
from harness.lab.suite.expect_records import acks_curve
from harness.lab.suite.expectations import Observation
from harness.lab.suite.judge import judge
from harness.lab.suite.model import Item, Suite, SuiteArm, SuiteArmResult, SuiteItem, SuiteResult
from harness.lab.suite.narrative import story
from harness.lab.suite.run_evidence import FinishedRun
from harness.many.campaign import Campaign
from harness.many.docker_backend import DockerBackend
from harness.many.workers import RequestFinished, RunFinished, RunRequest, Worker, WorkerPool, Workers
from harness.model.errors import ClusterError, KafkaChaosError
from harness.model.result import ArmResult, VerdictWord
from harness.run.executor import Options, RunningExperiment, capabilities_for, job_of, runs_of, with_engine
from harness.run.preflight.kernel_probes import Capability
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment
from harness.spec.overrides import ClusterOptions, overridden


def on_cluster(item: Item, options: ClusterOptions) -> Item:
    """The item on the clusters that the options ask for; one whose arms name their versions stays so."""
    if item.pinned:
        return item
    arms = tuple(
        arm.model_copy(update={"experiment": overridden(arm.experiment, options)}) for arm in item.arms
    )
    return item.model_copy(update={"arms": arms})


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
            entry = scheduled.setdefault(
                experiment.model_dump_json(by_alias=True), ScheduledExperiment(item, experiment, ())
            )
            entry.arms = tuple(dict.fromkeys((*entry.arms, *arms)))
    return list(scheduled.values())


class ExperimentSchedule:
    """Runs experiments on workers. Those that cannot be run at all are left out, and say why in `error`.

    `workers` makes them for a number of experiments. The clusters are removed at the end of `campaign`."""

    def __init__(
        self,
        experiments: Iterable[ScheduledExperiment],
        options: Options,
        capabilities: Sequence[Capability],
        workers: Callable[[int], Workers],
    ) -> None:
        self._options = options
        self._capabilities = capabilities
        self._clusters = 0
        ready = [experiment for experiment in experiments if self._prepare(experiment)]
        self.campaign = Campaign(workers(len(ready)), self._request)
        self.campaign.add(ready)

    def step(self) -> None:
        """Give idle workers experiments, and take in what the workers say within a moment."""
        try:
            self.campaign.hand_out()
        except ClusterError as error:
            self._fail(self.campaign.waiting, str(error))
        for experiment, worker, message in self.campaign.messages():
            if isinstance(message, RunFinished):
                assert experiment.job is not None, "it was prepared"
                experiment.job.check(message.folder.name)
            else:
                self._finish(worker, experiment, message)

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
            same = [other for other in self.campaign.waiting if other.cluster == one.cluster]
            self._fail([one, *same], str(message.error))
        elif message.fresh:
            self._fail([one], str(message.error))
        elif self._prepare(one):
            # Experiments that ran before on its cluster may be the cause.
            self.campaign.waiting.insert(0, one)

    def _fail(self, experiments: Iterable[ScheduledExperiment], error: str) -> None:
        for experiment in experiments:
            experiment.error = error
        self.campaign.waiting[:] = [
            experiment for experiment in self.campaign.waiting if experiment.error is None
        ]


def run_items(
    items: Sequence[SuiteItem],
    options: Options,
    done: Callable[[SuiteResult], None] = lambda _: None,
    *,
    parallel: int = 2,
    workers: Callable[[int, DockerBackend], Workers] = WorkerPool,
) -> list[SuiteResult]:
    """Run items of a suite and judge them; the results are in the order given.

    `done` gets each result as soon as it is complete. At most `parallel` experiments run at the same time,
    each on its own cluster. An experiment that this machine or Kafka version cannot run, or that
    does not run to its end, makes its item `unknown`; after one that broke the next one gets a new cluster.

    Raises:
        BadInput: a fault that is impossible on an existing cluster, or would hit its containers.
        PrerequisiteMissing: no Java for Spark, no container engine or no image: before anything is started.
    """
    experiments = experiments_of(items)
    options = with_engine(options, [scheduled.experiment for scheduled in experiments])
    capabilities = capabilities_for([scheduled.experiment for scheduled in experiments])
    clusters = [scheduled.cluster for scheduled in experiments if scheduled.cluster.existing is None]
    if clusters:
        client = docker_engine.connect()
        for version, image in {(cluster.version, cluster.image) for cluster in clusters}:
            images.resolve(client, version, image)
    backend = DockerBackend(options.engine)
    schedule = ExperimentSchedule(
        experiments, options, capabilities, lambda count: workers(min(parallel, count), backend)
    )
    of = {
        item.id: [
            scheduled
            for scheduled in experiments
            if any(arm.experiment == scheduled.experiment for arm in item.arms)
        ]
        for item in items
    }
    results: dict[str, SuiteResult] = {}
    with schedule.campaign:
        while len(results) < len(items):
            schedule.step()
            for item in items:
                if item.id not in results and all(scheduled.over for scheduled in of[item.id]):
                    results[item.id] = _result(item, of[item.id])
                    done(results[item.id])
    return [results[item.id] for item in items]


def _result(item: SuiteItem, ran: Sequence[ScheduledExperiment]) -> SuiteResult:
    results = tuple(_arm_result(item.suite, arm, ran) for arm in item.arms)
    verdict, reasons = judge(item.suite, results)
    return item.suite.result(
        id=item.id,
        title=item.title,
        verdict=verdict,
        reasons=reasons,
        arms=results,
        seconds=round(sum(scheduled.seconds for scheduled in ran if scheduled.item is item), 1),
        kafka=item.kafka,
    )


def _arm_result(suite: Suite, arm: SuiteArm, ran: Sequence[ScheduledExperiment]) -> SuiteArmResult:
    (scheduled,) = (experiment for experiment in ran if experiment.experiment == arm.experiment)
    if scheduled.job is not None:
        for result in scheduled.job.result().arms:
            if result.meta.arm == arm.arm:
                return evaluate(suite, arm, scheduled.job.folder, result)
    return suite.arm_result(
        role=arm.role,
        experiment=arm.experiment.name,
        arm=arm.arm,
        folder="",
        doubts=(f"it did not run: {scheduled.error}",),
        rows=(),
    )


def evaluate(suite: Suite, arm: SuiteArm, folder: Path, result: ArmResult) -> SuiteArmResult:
    """Compare a finished arm with what is expected of it; `folder` is that of its experiment,
    RESULTS/ITEM/EXPERIMENT."""
    run = FinishedRun(folder / result.folder, result)
    doubts = result.judgement.reasons if result.judgement.verdict is VerdictWord.UNKNOWN else ()
    rows = (
        *(expectation.observe(run) for expectation in arm.expects),
        *(
            Observation(what=row.finding.value, expected=row.promised, seen=f"{row.seen:,}", ok=False)
            for row in result.judgement.broken_promises
        ),
    )
    return suite.arm_result(
        role=arm.role,
        experiment=arm.experiment.name,
        arm=arm.arm,
        folder=str(run.folder.relative_to(folder.parent.parent)),
        doubts=doubts,
        rows=rows,
        story=story(run, arm.experiment),
        curve=acks_curve(run, arm.curve) if arm.curve else (),
    )
