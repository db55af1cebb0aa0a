"""Executes whole experiments: one cluster, its arms one after the other, then the check of each."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from checkers.spark.java import java_of_spark
from harness.check.recheck import RESULT_FILE
from harness.check.worker import start_checking
from harness.cluster.external import ExternalCluster
from harness.cluster.managed import ManagedCluster
from harness.containers import engine
from harness.model.errors import BadInput, KafkaChaosError
from harness.model.progress import report_progress
from harness.model.result import ArmResult, ExperimentResult
from harness.model.secrets import hidden, without_secret_values
from harness.preflight import feasibility
from harness.preflight.external_limits import refuse_unreachable
from harness.preflight.kernel_probes import Capability
from harness.run.runner import ExperimentRun
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Arm, Experiment

EXPERIMENT_FILE = "experiment.json"


@dataclass(frozen=True, slots=True)
class Options:
    """How to execute. `arms` picks arms by name (empty: all);
    `command` is what repeats it, for the report. `started` is told the arm and the topic of every run as soon
    as its topic is there. `owned_containers`: the user says that the containers of clusters that are not ours
    may be hurt."""

    results: Path = Path("results")
    seed: int = 0
    arms: tuple[str, ...] = ()
    repeat: int = 1
    command: str = ""
    started: Callable[[str, str], None] = lambda _arm, _topic: None
    owned_containers: bool = False


@contextmanager
def running(spec: ClusterSpec, logs: Path) -> Iterator[ManagedCluster | ExternalCluster]:
    """A started cluster, removed at the end whatever happens; or one that is not ours, left as it was."""
    if spec.existing is not None:
        report_progress(f"reaching the cluster at {spec.existing.bootstrap_servers}")
        with ExternalCluster(spec) as existing:
            yield existing
        return
    report_progress(
        f"starting Kafka {spec.version}: {spec.brokers} brokers, {spec.controllers} controller(s)"
    )
    with ManagedCluster(spec, log_folder=logs) as cluster:
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
    """Run the experiments, those with equal cluster specs on one cluster, and check every run.

    Returns each experiment's folder below `options.results` and its result, which is also written there as
    result.json. A finished run is checked while the next one runs (see `harness.check.worker`).

    Raises:
        PrerequisiteMissing: no Java for the check, no engine or no image: before anything is started.
        BadInput: no such arm, or a fault that this machine cannot have and that may not be skipped.
        KafkaChaosError: a run could not be made; those before it keep their journals, and the error says
            how to check them. A run that breaks later is reported as `unknown` instead.
    """
    java_of_spark(os.environ)
    for experiment in experiments:
        choose_arms(experiment, options.arms)
        refuse_unreachable(experiment, owned=options.owned_containers)
    found = _found(experiments)
    jobs = [job_of(experiment, options, found) for experiment in experiments]
    for spec in dict.fromkeys(_key(job.experiment.cluster) for job in jobs):
        mine = [job for job in jobs if _key(job.experiment.cluster) == spec]
        with running(mine[0].experiment.cluster, mine[0].folder / "logs") as cluster:
            for job in mine:
                job.run(cluster)
    return [(job.folder, job.result()) for job in jobs]


def _found(experiments: Sequence[Experiment]) -> tuple[Capability, ...]:
    """What kernel and engine can do, if a fault that acts on containers wants to know; and whether there is
    an engine at all, if one is needed."""
    asking = [
        one
        for one in experiments
        if one.cluster.existing is None or one.cluster.existing.containers is not None
    ]
    return feasibility.probed(engine.connect(), asking) if asking else ()


def run_on(
    cluster: ManagedCluster, experiment: Experiment, options: Options
) -> tuple[Path, ExperimentResult]:
    """Run one experiment on a cluster that is up already, and check it; returns what `execute` does."""
    job = job_of(experiment, options, feasibility.probed(cluster.client, [experiment]))
    job.run(cluster)
    return job.folder, job.result()


def job_of(experiment: Experiment, options: Options, found: Sequence[Capability]) -> RunningExperiment:
    """An experiment ready to run in a new folder; `found` is what kernel and engine can do.

    Raises:
        BadInput: no such arm, a fault that this machine cannot have, or a folder that cannot be written.
    """
    left, skipped = feasibility.sifted(experiment, found)
    for line in skipped:
        report_progress(line)
    return RunningExperiment(left, choose_arms(left, options.arms), options, skipped)


def made(
    cluster: ManagedCluster | ExternalCluster,
    experiment: Experiment,
    arms: Sequence[Arm],
    folder: Path,
    *,
    seed: int,
    skipped: tuple[str, ...] = (),
    repeat: int = 1,
    started: Callable[[str, str], None] = lambda _arm, _topic: None,
) -> Iterator[str]:
    """Run every arm as often as asked, in turns, those that go together in one run; gives the name of each
    run folder below `folder` as soon as it is complete.

    Raises:
        KafkaChaosError: a run could not be made.
    """
    sides = (tuple(arms),) if experiment.together else tuple((arm,) for arm in arms)
    for turn in range(repeat):
        suffix = "" if repeat == 1 else f"-{turn + 1:03d}"
        for side in sides:
            named = {folder / f"{arm.name}{suffix}": arm for arm in side}
            ExperimentRun(cluster, experiment, named, seed + turn, skipped, started).execute()
            yield from (path.name for path in named)


class RunningExperiment:
    """One experiment under way, in a folder of its own below the results."""

    def __init__(
        self, experiment: Experiment, arms: Sequence[Arm], options: Options, skipped: tuple[str, ...]
    ) -> None:
        self.skipped = skipped
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
        self.experiment = experiment
        self.folder = options.results / f"{experiment.name}-{stamp}"
        self._checks: list[Future[ArmResult]] = []
        self.started_ns = time.time_ns()
        self.seconds = 0.0
        self.arms = tuple(arms)
        self._options = options
        try:
            self.folder.mkdir(parents=True)
            data = without_secret_values(experiment.model_dump(mode="json", by_alias=True))
            (self.folder / EXPERIMENT_FILE).write_text(hidden(json.dumps(data, indent=2)) + "\n")
        except OSError as error:
            raise BadInput(
                "the results folder cannot be written",
                where=str(options.results),
                found=error.strerror or str(error),
                next_step="name another folder with --results",
            ) from error

    def run(self, cluster: ManagedCluster | ExternalCluster) -> None:
        """Run every arm as often as asked; a finished run is checked while the next one goes on."""
        began = time.monotonic()
        self.started_ns = time.time_ns()
        try:
            for name in made(
                cluster,
                self.experiment,
                self.arms,
                self.folder,
                seed=self._options.seed,
                skipped=self.skipped,
                repeat=self._options.repeat,
                started=self._options.started,
            ):
                self.check(name)
        except KafkaChaosError as error:
            if self._checks:
                error.add_note(f"the runs before it: kafka-chaos check {self.folder}")
            raise
        self.seconds = time.monotonic() - began

    def check(self, name: str) -> None:
        """Have a finished run in the job's folder checked."""
        self._checks.append(start_checking(self.folder, name))

    @property
    def checked(self) -> bool:
        """Whether every check that was begun has ended: `result` does not wait then."""
        return all(check.done() for check in self._checks)

    def result(self) -> ExperimentResult:
        """Wait for the checks; write and return what they add up to."""
        result = ExperimentResult(
            experiment=self.experiment.name,
            title=self.experiment.title,
            description=self.experiment.description,
            arms=tuple(check.result() for check in self._checks),
            started_ns=self.started_ns,
            seconds=round(self.seconds, 1),
            command=self._options.command,
        )
        (self.folder / RESULT_FILE).write_text(hidden(result.model_dump_json(indent=2)) + "\n")
        return result


def _key(spec: ClusterSpec) -> str:
    return spec.model_dump_json()
