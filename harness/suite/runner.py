"""Runs items of a suite on real brokers: some side by side, those of one cluster spec one after the other."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from checkers.spark.java import java_of_spark
from harness.campaign.worker_processes import WorkerPool, forget_topics
from harness.cluster.managed import ManagedCluster
from harness.containers import engine, images
from harness.model.errors import KafkaChaosError
from harness.model.result import ArmResult, VerdictWord
from harness.preflight import feasibility
from harness.run.executor import Options
from harness.spec.cluster import ClusterSpec
from harness.spec.overrides import overridden
from harness.suite.expect_records import acks_curve
from harness.suite.expectations import Observation
from harness.suite.model import Item, Suite, SuiteArm, SuiteArmResult, SuiteItem, SuiteResult, judge
from harness.suite.narrative import story
from harness.suite.run_evidence import FinishedRun
from harness.suite.work_queue import ScheduledExperiment, WorkQueue, prepared, runs_of

_LOOK_SECONDS = 0.25


def on_version(item: Item, version: str | None, image: str | None) -> Item:
    """The item on another Kafka version or image (None: as written). One whose arms name their versions
    stays on those."""
    if item.pinned:
        return item
    arms = tuple(
        replace(arm, experiment=overridden(arm.experiment, version, image, None)) for arm in item.arms
    )
    return replace(item, arms=arms)


def run_items(
    items: Sequence[SuiteItem],
    options: Options,
    done: Callable[[SuiteResult], None] = lambda _: None,
    *,
    side_by_side: int = 2,
    crew: Callable[[int], WorkerPool] = WorkerPool,
) -> list[SuiteResult]:
    """Run items of a suite and judge them; the results come in the order given, whatever shared a cluster.

    `done` gets each result as soon as it is complete. `side_by_side` is the number of experiments to run in
    parallel, each on its own cluster. An experiment that this machine or Kafka version cannot run, or that
    does not run to its end, makes its item `unknown`; after one that broke the next one gets a new cluster.

    Raises:
        PrerequisiteMissing: no Java, no engine or no image: before anything is started.
    """
    java_of_spark(os.environ)
    ran = runs_of(items)
    client = engine.connect()
    found = feasibility.probed(client, [one.experiment for one in ran])
    for version, image in {(one.experiment.cluster.version, one.experiment.cluster.image) for one in ran}:
        images.resolve(client, version, image)
    of = {item.id: [one for one in ran if item.has(one.experiment)] for item in items}
    todo = WorkQueue([one for one in ran if prepared(one, options, found)], options, found)
    results: dict[str, SuiteResult] = {}
    with crew(min(side_by_side, len(todo.waiting))) as workers:
        while len(results) < len(items):
            todo.hand_out(workers.workers)
            for worker, message in workers.messages(_LOOK_SECONDS):
                todo.take(worker, message)
            for item in items:
                if item.id not in results and all(one.over for one in of[item.id]):
                    results[item.id] = _result(item, of[item.id])
                    done(results[item.id])
    return [results[item.id] for item in items]


def run_on(
    started: Callable[[ClusterSpec], ManagedCluster], item: SuiteItem, options: Options
) -> SuiteResult:
    """Run one item; `started` gives a cluster of a spec."""
    ran = runs_of([item])
    found = feasibility.probed(engine.connect(), [one.experiment for one in ran])
    able = [one for one in ran if prepared(one, options, found)]
    specs = [one.experiment.cluster for one in able]
    for one in sorted(able, key=lambda one: specs.index(one.experiment.cluster)):
        _run(one, started(one.experiment.cluster))
    return _result(item, ran)


def _run(one: ScheduledExperiment, cluster: ManagedCluster) -> None:
    assert one.job is not None, "it was prepared"
    began = time.monotonic()
    try:
        one.job.run(cluster)
    except KafkaChaosError as error:
        one.error = str(error)
    forget_topics(cluster, one.job.folder)
    one.seconds = time.monotonic() - began


def _result(item: SuiteItem, ran: Sequence[ScheduledExperiment]) -> SuiteResult:
    results = []
    for arm in item.arms:
        (one,) = (one for one in ran if one.experiment == arm.experiment)
        results.append(_arm_result(item.suite, arm, one))
    verdict, reasons = judge(item.suite, results)
    return item.suite.result(
        id=item.id,
        title=item.title,
        verdict=verdict,
        reasons=reasons,
        arms=tuple(results),
        seconds=round(sum(one.seconds for one in ran if one.item is item), 1),
        kafka=item.kafka,
    )


def _arm_result(suite: Suite, arm: SuiteArm, ran: ScheduledExperiment) -> SuiteArmResult:
    result = None
    if ran.job is not None:
        result = next((one for one in ran.job.result().arms if one.meta.arm == arm.arm), None)
    if result is not None and ran.job is not None:
        return evaluate(suite, arm, ran.job.folder, result)
    return suite.arm_result(
        role=arm.role,
        experiment=arm.experiment.name,
        arm=arm.arm,
        folder="",
        doubts=(f"it did not run: {ran.error}",),
        rows=(),
    )


def evaluate(suite: Suite, arm: SuiteArm, folder: Path, result: ArmResult) -> SuiteArmResult:
    """Compare a finished arm with what is expected of it; `folder` is that of its experiment,
    RESULTS/ITEM/EXPERIMENT."""
    run = FinishedRun(folder / result.folder, result)
    doubts = result.judgement.reasons if result.judgement.verdict is VerdictWord.UNKNOWN else ()
    rows = (
        *(expectation.observe(run) for expectation in arm.expects),
        *(_broken_promise(text) for text in result.judgement.promise_reasons),
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


def _broken_promise(text: str) -> Observation:
    what, _, rest = text.partition(": promised ")
    expected, _, found = rest.partition(", seen ")
    return Observation(what=what, expected=expected, seen=found, ok=False)
