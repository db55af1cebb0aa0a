"""Runs claims on real brokers: those with equal cluster specs one after the other on one cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from checkers.session import java_version
from harness import engine, possible
from harness.claims.counts import acks_curve
from harness.claims.evidence import Finished
from harness.claims.frame import Claim, ClaimResult, Seen, Trial, TrialResult, judged
from harness.claims.story import story
from harness.cluster import Cluster
from harness.execution import Job, Options, job_of
from harness.experiment import Experiment
from harness.kernel import Capability
from harness.model.errors import ClusterError, KafkaChaosError
from harness.model.journal import RUN_FILE
from harness.model.result import ArmResult, VerdictWord
from harness.model.run import RunMeta
from harness.overrides import overridden
from harness.spec import ClusterSpec


@dataclass
class _Ran:
    """One experiment of a claim, and of those after it that share it: its job, or why it did not run to its
    end."""

    claim: Claim
    experiment: Experiment
    arms: tuple[str, ...]
    job: Job | None = None
    seconds: float = 0.0
    error: str | None = None


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
    claims: Sequence[Claim], options: Options, done: Callable[[ClaimResult], None] = lambda _: None
) -> list[ClaimResult]:
    """Run claims and judge them; in the order given, whatever shared a cluster. `done` gets each result as
    soon as it is there.

    An experiment that this machine or Kafka version cannot have, or that cannot be run to its end, makes its
    claim `unknown`; after one that broke the next one gets a new cluster.

    Raises:
        PrerequisiteMissing: no Java, no engine or no image: before anything is started.
    """
    java_version(os.environ)
    ran = runs_of(claims)
    found = possible.probed(engine.connect(), [one.experiment for one in ran])
    waiting = [one for one in ran if _prepared(one, options, found)]
    results: dict[str, ClaimResult] = {}
    number = 0
    while len(results) < len(claims):
        for claim in claims:
            if claim.id not in results and not any(one.experiment in _tried(claim) for one in waiting):
                results[claim.id] = _result(claim, ran)
                done(results[claim.id])
        if waiting:
            number += 1
            spec = waiting[0].experiment.cluster
            mine = [one for one in waiting if one.experiment.cluster == spec]
            waiting = [one for one in waiting if one.experiment.cluster != spec]
            _on_clusters(mine, options, f"logs-{number}", found)
    return [results[claim.id] for claim in claims]


def _tried(claim: Claim) -> list[Experiment]:
    return [experiment for experiment, _ in claim.experiments()]


def run_on(started: Callable[[ClusterSpec], Cluster], claim: Claim, options: Options) -> ClaimResult:
    """Run one claim; `started` gives a cluster of a spec."""
    ran = runs_of([claim])
    found = possible.probed(engine.connect(), [one.experiment for one in ran])
    able = [one for one in ran if _prepared(one, options, found)]
    specs = [one.experiment.cluster for one in able]
    for one in sorted(able, key=lambda one: specs.index(one.experiment.cluster)):
        _run(one, started(one.experiment.cluster))
    return _result(claim, ran)


def runs_of(claims: Iterable[Claim]) -> list[_Ran]:
    """Every experiment of these claims; one that several claims have is run once, with the arms of all."""
    found: dict[str, _Ran] = {}
    for claim in claims:
        for experiment, arms in claim.experiments():
            one = found.setdefault(experiment.model_dump_json(by_alias=True), _Ran(claim, experiment, ()))
            one.arms = tuple(dict.fromkeys((*one.arms, *arms)))
    return list(found.values())


def _on_clusters(waiting: Sequence[_Ran], options: Options, logs: str, probed: Sequence[Capability]) -> None:
    """Run experiments of one spec on one cluster; after one that broke, on a new one.

    One that broke after others on its cluster is run again on the new one: what they left may be why.
    """
    left = list(waiting)
    number = 0
    while left:
        number += 1
        folder = options.results / (logs if number == 1 else f"{logs}-{number}")
        spec = left[0].experiment.cluster
        try:
            with _started(spec, folder, options.tell) as cluster:
                fresh = True
                while left:
                    one = left.pop(0)
                    _run(one, cluster)
                    if one.error is not None:
                        if not fresh:
                            one.error = None
                            left[:0] = [one] if _prepared(one, options, probed) else []
                        break
                    fresh = False
        except ClusterError as error:
            # It did not come up: what was to run on it cannot be told.
            for one in left:
                one.error = str(error)
            return


def _started(spec: ClusterSpec, logs: Path, tell: Callable[[str], None]) -> Cluster:
    tell(f"starting Kafka {spec.version}: {spec.brokers} brokers, {spec.controllers} controller(s)")
    return Cluster(spec, log_folder=logs)


def _prepared(one: _Ran, options: Options, found: Sequence[Capability]) -> bool:
    """Whether the experiment can be run at all; if not, why is kept."""
    mine = replace(options, results=options.results / one.claim.id, arms=one.arms)
    try:
        one.job = job_of(one.experiment, mine, found)
    except KafkaChaosError as error:
        one.error = str(error)
    one.error = one.claim.too_old() or one.error
    return one.error is None


def _run(one: _Ran, cluster: Cluster) -> None:
    assert one.job is not None, "it was prepared"
    began = time.monotonic()
    try:
        one.job.run(cluster)
    except KafkaChaosError as error:
        one.error = str(error)
    _forget_topics(cluster, one.job.folder)
    one.seconds = time.monotonic() - began


def _forget_topics(cluster: Cluster, folder: Path) -> None:
    """Delete what the runs in a folder have written: all has been read, and a broker that dies later would
    have to recover it."""
    for path in folder.glob(f"*/{RUN_FILE}"):
        with suppress(KafkaChaosError):
            cluster.admin().delete(RunMeta.load(path.parent).topic)


def _result(claim: Claim, ran: Sequence[_Ran]) -> ClaimResult:
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


def _trial(trial: Trial, ran: _Ran) -> TrialResult:
    arm = None
    if ran.job is not None:
        arm = next((one for one in ran.job.result().arms if one.meta.arm == trial.arm), None)
    if arm is None or ran.job is None:
        return _of(trial, "", (f"it did not run: {ran.error}",))
    return seen(trial, ran.job.folder, arm)


def seen(trial: Trial, folder: Path, arm: ArmResult) -> TrialResult:
    """What a finished arm, in its experiment's folder RESULTS/CLAIM/EXPERIMENT, shows of a trial."""
    run = Finished(folder / arm.folder, arm)
    doubts = arm.judgement.reasons if arm.judgement.verdict is VerdictWord.UNKNOWN else ()
    rows = tuple(expectation.held_against(run) for expectation in trial.expects)
    broken = arm.judgement.promise_reasons
    return TrialResult(
        role=trial.role,
        experiment=trial.experiment.name,
        arm=trial.arm,
        folder=str(run.folder.relative_to(folder.parent.parent)),
        doubts=doubts,
        rows=rows + tuple(_broken(text) for text in broken),
        story=story(run, trial.experiment),
        curve=acks_curve(run, trial.curve) if trial.curve else (),
    )


def _broken(text: str) -> Seen:
    what, _, rest = text.partition(": promised ")
    expected, _, found = rest.partition(", seen ")
    return Seen(what=what, expected=expected, seen=found, ok=False)


def _of(trial: Trial, folder: str, doubts: tuple[str, ...]) -> TrialResult:
    return TrialResult(
        role=trial.role,
        experiment=trial.experiment.name,
        arm=trial.arm,
        folder=folder,
        doubts=doubts,
        rows=(),
    )
