"""Runs items of a suite on real brokers, several in parallel and those of one cluster one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from harness.campaign.backend import Backend
from harness.campaign.docker_backend import DockerBackend
from harness.campaign.worker import Workers
from harness.campaign.worker_processes import WorkerPool
from harness.containers import engine, images
from harness.model.result import ArmResult, VerdictWord
from harness.run.executor import Options, capabilities_for, with_engine
from harness.spec.overrides import overridden
from harness.suite.expect_records import acks_curve
from harness.suite.expectations import Observation
from harness.suite.model import Item, Suite, SuiteArm, SuiteArmResult, SuiteItem, SuiteResult, judge
from harness.suite.narrative import story
from harness.suite.run_evidence import FinishedRun
from harness.suite.scheduled_experiments import ExperimentSchedule, ScheduledExperiment, experiments_of

_LOOK_SECONDS = 0.25


def on_version(item: Item, version: str | None, image: str | None) -> Item:
    """The item on another Kafka version or image (None: as written). One whose arms name their versions
    stays on those."""
    if item.pinned:
        return item
    arms = tuple(
        arm.model_copy(update={"experiment": overridden(arm.experiment, version, image, None)})
        for arm in item.arms
    )
    return item.model_copy(update={"arms": arms})


def run_items(
    items: Sequence[SuiteItem],
    options: Options,
    done: Callable[[SuiteResult], None] = lambda _: None,
    *,
    parallel: int = 2,
    workers: Callable[[int, Backend], Workers] = WorkerPool,
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
    options = with_engine(options, [one.experiment for one in experiments])
    capabilities = capabilities_for([one.experiment for one in experiments])
    clusters = [one.cluster for one in experiments if one.cluster.existing is None]
    if clusters:
        client = engine.connect()
        for version, image in {(cluster.version, cluster.image) for cluster in clusters}:
            images.resolve(client, version, image)
    schedule = ExperimentSchedule(experiments, options, capabilities)
    of = {
        item.id: [one for one in experiments if any(arm.experiment == one.experiment for arm in item.arms)]
        for item in items
    }
    results: dict[str, SuiteResult] = {}
    with workers(min(parallel, len(schedule)), DockerBackend(options.engine)) as pool:
        while len(results) < len(items):
            schedule.step(pool, _LOOK_SECONDS)
            for item in items:
                if item.id not in results and all(one.over for one in of[item.id]):
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
        seconds=round(sum(one.seconds for one in ran if one.item is item), 1),
        kafka=item.kafka,
    )


def _arm_result(suite: Suite, arm: SuiteArm, ran: Sequence[ScheduledExperiment]) -> SuiteArmResult:
    (one,) = (one for one in ran if one.experiment == arm.experiment)
    if one.job is not None:
        for result in one.job.result().arms:
            if result.meta.arm == arm.arm:
                return evaluate(suite, arm, one.job.folder, result)
    return suite.arm_result(
        role=arm.role,
        experiment=arm.experiment.name,
        arm=arm.arm,
        folder="",
        doubts=(f"it did not run: {one.error}",),
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
            Observation(what=one.finding.value, expected=one.promised, seen=f"{one.seen:,}", ok=False)
            for one in result.judgement.broken_promises
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
