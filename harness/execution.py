"""Executes whole experiments: one cluster, its arms one after the other, then the check of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cluster import Cluster
from harness.experiment import Arm, Experiment
from harness.model.errors import BadInput
from harness.model.result import ExperimentResult
from harness.rechecking import RESULT_FILE, check_runs
from harness.runner import Run
from harness.spec import ClusterSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXPERIMENT_FILE = "experiment.json"


@dataclass(frozen=True, slots=True)
class Options:
    """How to execute. `tell` gets progress lines; `arms` picks arms by name (empty: all);
    `command` is what repeats it, for the report."""

    results: Path = Path("results")
    seed: int = 0
    arms: tuple[str, ...] = ()
    repeat: int = 1
    tell: Callable[[str], None] = lambda _: None
    command: str = ""


@contextmanager
def running(spec: ClusterSpec, logs: Path, tell: Callable[[str], None]) -> Iterator[Cluster]:
    """A started cluster, removed at the end whatever happens."""
    tell(f"starting Kafka {spec.version}: {spec.brokers} brokers, {spec.controllers} controller(s)")
    with Cluster(spec, log_folder=logs) as cluster:
        yield cluster


def choose_arms(experiment: Experiment, names: Sequence[str]) -> tuple[Arm, ...]:
    """The arms named, in the experiment's order (no names: all).

    Raises:
        BadInput: the experiment has no such arm.
    """
    known = [arm.name for arm in experiment.arms]
    for name in names:
        if name not in known:
            raise BadInput(
                f"no arm is called {name!r}",
                where=f"experiment {experiment.name}",
                expected=f"one of {', '.join(known)}",
                next_step="correct --arm, or leave it out to run all",
            )
    return tuple(arm for arm in experiment.arms if not names or arm.name in names)


def execute(experiments: Sequence[Experiment], options: Options) -> list[tuple[Path, ExperimentResult]]:
    """Run the experiments, those with equal cluster specs on one cluster; then check every run.

    Returns each experiment's folder below `options.results` and its result, which is also written there as
    result.json. The check starts when no broker runs any more, so neither slows the other down.

    Raises:
        KafkaChaosError: nothing could be run at all. An arm that breaks is reported as `unknown` instead.
    """
    jobs = [_Job(experiment, choose_arms(experiment, options.arms), options) for experiment in experiments]
    for spec in dict.fromkeys(_key(job.experiment.cluster) for job in jobs):
        mine = [job for job in jobs if _key(job.experiment.cluster) == spec]
        with running(mine[0].experiment.cluster, mine[0].folder / "logs", options.tell) as cluster:
            for job in mine:
                job.run(cluster)
    return _check_all(jobs, options)


def run_on(cluster: Cluster, experiment: Experiment, options: Options) -> tuple[Path, ExperimentResult]:
    """Run one experiment on a cluster that is up already, and check it; returns what `execute` does."""
    job = _Job(experiment, choose_arms(experiment, options.arms), options)
    job.run(cluster)
    return _check_all([job], options)[0]


class _Job:
    """One experiment under way, in a folder of its own below the results."""

    def __init__(self, experiment: Experiment, arms: Sequence[Arm], options: Options) -> None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
        self.experiment = experiment
        self.folder = options.results / f"{experiment.name}-{stamp}"
        self.runs: list[str] = []
        self.started_ns = time.time_ns()
        self.seconds = 0.0
        self._arms = arms
        self._options = options
        try:
            self.folder.mkdir(parents=True)
            text = experiment.model_dump_json(indent=2, by_alias=True)
            (self.folder / EXPERIMENT_FILE).write_text(text + "\n")
        except OSError as error:
            raise BadInput(
                "the results folder cannot be written",
                where=str(options.results),
                found=error.strerror or str(error),
                next_step="name another folder with --results",
            ) from error

    def run(self, cluster: Cluster) -> None:
        """Run every arm as often as asked, in turns."""
        began = time.monotonic()
        self.started_ns = time.time_ns()
        for turn in range(self._options.repeat):
            for arm in self._arms:
                name = arm.name if self._options.repeat == 1 else f"{arm.name}-{turn + 1:03d}"
                seed = self._options.seed + turn
                Run(cluster, self.experiment, arm, self.folder / name, seed, self._options.tell).execute()
                self.runs.append(name)
        self.seconds = time.monotonic() - began


def _key(spec: ClusterSpec) -> str:
    return spec.model_dump_json()


def _check_all(jobs: Sequence[_Job], options: Options) -> list[tuple[Path, ExperimentResult]]:
    from checkers.session import spark_session

    options.tell("starting Spark")
    spark = spark_session()
    try:
        return [_check_job(spark, job, options) for job in jobs]
    finally:
        spark.stop()


def _check_job(spark: SparkSession, job: _Job, options: Options) -> tuple[Path, ExperimentResult]:
    result = ExperimentResult(
        experiment=job.experiment.name,
        title=job.experiment.title,
        description=job.experiment.description,
        arms=check_runs(spark, job.folder, job.runs, options.tell),
        started_ns=job.started_ns,
        seconds=round(job.seconds, 1),
        command=options.command,
    )
    (job.folder / RESULT_FILE).write_text(result.model_dump_json(indent=2) + "\n")
    return job.folder, result
