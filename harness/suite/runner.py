"""Runs claims on real brokers: some side by side, those of one cluster spec one after the other."""

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
from harness.suite.model import Claim, ClaimArm, ClaimArmResult, ClaimResult, judged
from harness.suite.narrative import story
from harness.suite.run_evidence import FinishedRun
from harness.suite.work_queue import ScheduledExperiment, WorkQueue, prepared, runs_of

_LOOK_SECONDS = 0.25


def on_version(claim: Claim, version: str | None, image: str | None) -> Claim:
    """The claim on another Kafka version or image (None: as written). One whose arms name their versions
    stays on those."""
    if claim.only:
        return claim
    trials = tuple(
        replace(trial, experiment=overridden(trial.experiment, version, image, None))
        for trial in claim.trials
    )
    return replace(claim, trials=trials)


def run_claims(
    claims: Sequence[Claim],
    options: Options,
    done: Callable[[ClaimResult], None] = lambda _: None,
    *,
    side_by_side: int = 2,
    crew: Callable[[int], WorkerPool] = WorkerPool,
) -> list[ClaimResult]:
    """Run claims and judge them; in the order given, whatever shared a cluster. `done` gets each result as
    soon as it is there. So many experiments run `side_by_side`, on a cluster each.

    An experiment that this machine or Kafka version cannot have, or that cannot be run to its end, makes its
    claim `unknown`; after one that broke the next one gets a new cluster.

    Raises:
        PrerequisiteMissing: no Java, no engine or no image: before anything is started.
    """
    java_of_spark(os.environ)
    ran = runs_of(claims)
    client = engine.connect()
    found = feasibility.probed(client, [one.experiment for one in ran])
    for version, image in {(one.experiment.cluster.version, one.experiment.cluster.image) for one in ran}:
        images.resolve(client, version, image)
    of = {claim.id: [one for one in ran if claim.has(one.experiment)] for claim in claims}
    todo = WorkQueue([one for one in ran if prepared(one, options, found)], options, found)
    results: dict[str, ClaimResult] = {}
    with crew(min(side_by_side, len(todo.waiting))) as workers:
        while len(results) < len(claims):
            todo.hand_out(workers.workers)
            for worker, message in workers.messages(_LOOK_SECONDS):
                todo.take(worker, message)
            for claim in claims:
                if claim.id not in results and all(one.over for one in of[claim.id]):
                    results[claim.id] = _result(claim, of[claim.id])
                    done(results[claim.id])
    return [results[claim.id] for claim in claims]


def run_on(started: Callable[[ClusterSpec], ManagedCluster], claim: Claim, options: Options) -> ClaimResult:
    """Run one claim; `started` gives a cluster of a spec."""
    ran = runs_of([claim])
    found = feasibility.probed(engine.connect(), [one.experiment for one in ran])
    able = [one for one in ran if prepared(one, options, found)]
    specs = [one.experiment.cluster for one in able]
    for one in sorted(able, key=lambda one: specs.index(one.experiment.cluster)):
        _run(one, started(one.experiment.cluster))
    return _result(claim, ran)


def _run(one: ScheduledExperiment, cluster: ManagedCluster) -> None:
    assert one.job is not None, "it was prepared"
    began = time.monotonic()
    try:
        one.job.run(cluster)
    except KafkaChaosError as error:
        one.error = str(error)
    forget_topics(cluster, one.job.folder)
    one.seconds = time.monotonic() - began


def _result(claim: Claim, ran: Sequence[ScheduledExperiment]) -> ClaimResult:
    trials = []
    for trial in claim.trials:
        (one,) = (one for one in ran if one.experiment == trial.experiment)
        trials.append(_trial(trial, one))
    answer, reasons = judged(trials)
    return ClaimResult(
        id=claim.id,
        title=claim.title,
        answer=answer,
        reasons=reasons,
        trials=tuple(trials),
        seconds=round(sum(one.seconds for one in ran if one.claim is claim), 1),
        kafka=claim.kafka,
    )


def _trial(trial: ClaimArm, ran: ScheduledExperiment) -> ClaimArmResult:
    arm = None
    if ran.job is not None:
        arm = next((one for one in ran.job.result().arms if one.meta.arm == trial.arm), None)
    if arm is None or ran.job is None:
        return _of(trial, "", (f"it did not run: {ran.error}",))
    return seen(trial, ran.job.folder, arm)


def seen(trial: ClaimArm, folder: Path, arm: ArmResult) -> ClaimArmResult:
    """What a finished arm, in its experiment's folder RESULTS/CLAIM/EXPERIMENT, shows of a trial."""
    run = FinishedRun(folder / arm.folder, arm)
    doubts = arm.judgement.reasons if arm.judgement.verdict is VerdictWord.UNKNOWN else ()
    rows = tuple(expectation.held_against(run) for expectation in trial.expects)
    broken = arm.judgement.promise_reasons
    return ClaimArmResult(
        role=trial.role,
        experiment=trial.experiment.name,
        arm=trial.arm,
        folder=str(run.folder.relative_to(folder.parent.parent)),
        doubts=doubts,
        rows=rows + tuple(_broken(text) for text in broken),
        story=story(run, trial.experiment),
        curve=acks_curve(run, trial.curve) if trial.curve else (),
    )


def _broken(text: str) -> Observation:
    what, _, rest = text.partition(": promised ")
    expected, _, found = rest.partition(", seen ")
    return Observation(what=what, expected=expected, seen=found, ok=False)


def _of(trial: ClaimArm, folder: str, doubts: tuple[str, ...]) -> ClaimArmResult:
    return ClaimArmResult(
        role=trial.role,
        experiment=trial.experiment.name,
        arm=trial.arm,
        folder=folder,
        doubts=doubts,
        rows=(),
    )
