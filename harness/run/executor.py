"""Executes whole experiments: their arms one after the other on a cluster, and the check of each run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from checkers import EngineChoice
from harness.check_jobs.engines import brokers_are_up
from harness.check_jobs.recheck import RESULT_FILE, check_commands
from harness.check_jobs.worker import CheckOptions, prepare_checks, start_checking
from harness.cluster.containers import docker_engine
from harness.cluster.external import ExternalCluster
from harness.cluster.managed import ManagedCluster
from harness.cluster.running_cluster import ClusterHolder, running_cluster
from harness.model.errors import BadInput, KafkaChaosError, did_you_mean
from harness.model.progress import report_progress
from harness.model.result import ArmResult, ExperimentResult
from harness.model.secrets import redact, without_secret_values
from harness.run.experiment_run import ExperimentRun
from harness.run.preflight import feasibility
from harness.run.preflight.kernel_probes import Capability
from harness.run.workloads import check_settings_of
from harness.spec.experiment import Arm, Experiment
from workloads.records.producer.payloads import check_payload
from workloads.records.reader.readers import check_settings

EXPERIMENT_FILE = "experiment.json"


@dataclass(frozen=True, slots=True)
class Options:
    """How to execute. `arms` selects arms by name (empty: all); `command` is what repeats the execution, for
    the report. `started` is called with the arm and the topic of every run as soon as the topic exists.
    `owned_containers`: the user confirms that faults may act on the containers of an external cluster.
    `engine`: what checks the runs ("auto": Apache Spark); `both_engines`: another engine checks them as well
    (`harness.check_jobs.worker.CheckOptions`)."""

    results: Path = Path("results")
    seed: int = 0
    arms: tuple[str, ...] = ()
    repeat: int = 1
    command: str = ""
    started: Callable[[str, str], None] = lambda _arm, _topic: None
    owned_containers: bool = False
    engine: EngineChoice = field(default_factory=EngineChoice)
    both_engines: bool = False


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
                next_step=did_you_mean(name, known, "name one of these, or no arm to run all"),
            )
    return tuple(arm for arm in experiment.arms if not names or arm.name in names)


def execute(experiments: Sequence[Experiment], options: Options) -> list[tuple[Path, ExperimentResult]]:
    """Run the experiments, those with equal cluster specs on one cluster, and check every run.

    Returns each experiment's folder below `options.results` and its result, which is also written there as
    result.json. A finished run is checked while the next one runs (see `harness.check_jobs.worker`).

    Raises:
        PrerequisiteMissing: no Java for Spark, no container engine or no image: before anything is started.
        BadInput: no such arm, or a fault that is impossible on this machine and may not be skipped.
        KafkaChaosError: a run could not be made; those before it keep their journals, and the error says
            how to check them. A run that breaks later is reported as `unknown` instead.
        KeyboardInterrupt: its notes are the commands that check what is there.
    """
    for experiment in experiments:
        choose_arms(experiment, options.arms)
    options = with_engine(options, experiments)
    capabilities = capabilities_for(experiments)
    jobs = [job_of(experiment, options, capabilities) for experiment in experiments]
    specs = [job.experiment.cluster for job in jobs]
    try:
        with ClusterHolder(running_cluster) as clusters:
            for job in sorted(jobs, key=lambda job: specs.index(job.experiment.cluster)):
                job.run(clusters.get(job.experiment.cluster, job.folder / "logs"))
        return [(job.folder, job.result()) for job in jobs]
    except KeyboardInterrupt as interruption:
        for command in check_commands(job.folder for job in jobs):
            interruption.add_note(command)
        raise


def with_engine(options: Options, experiments: Sequence[Experiment]) -> Options:
    """The options with an engine that is decided on, and starts when the brokers are up.

    Raises:
        BadInput, PrerequisiteMissing: as `prepare_runs`.
    """
    chosen = prepare_runs(experiments, options.engine, owned_containers=options.owned_containers)
    return replace(options, engine=chosen)


def prepare_runs(
    experiments: Sequence[Experiment], choice: EngineChoice, *, owned_containers: bool = False
) -> EngineChoice:
    """Refuse what is impossible on existing clusters, get the images of versions that nodes are to get, then
    decide on the engine of the checks, which starts when the brokers are up.
    Every way to run experiments begins with this; `ExperimentRun` refuses the same, but later.

    Raises:
        BadInput: a fault that is impossible on an existing cluster, or would hit its containers.
        PrerequisiteMissing: the engine needs Java, and there is none, or an image is not available.
    """
    for experiment in experiments:
        feasibility.check_external_limits(experiment, owned=owned_containers)
    feasibility.prepare_versions(experiments)
    return prepare_checks(choice)


def capabilities_for(experiments: Sequence[Experiment]) -> tuple[Capability, ...]:
    """What kernel and engine can do, as far as a fault that acts on containers needs it; and whether there is
    an engine at all, if one is needed."""
    in_containers = [
        experiment
        for experiment in experiments
        if (its := experiment.cluster.existing) is None or its.containers is not None
    ]
    return feasibility.probe_for(docker_engine.connect(), in_containers) if in_containers else ()


def run_on(
    cluster: ManagedCluster, experiment: Experiment, options: Options
) -> tuple[Path, ExperimentResult]:
    """Run one experiment on a running cluster, and check it; returns what `execute` does."""
    job = job_of(experiment, options, feasibility.probe_for(cluster.client, [experiment]))
    job.run(cluster)
    return job.folder, job.result()


def job_of(experiment: Experiment, options: Options, capabilities: Sequence[Capability]) -> RunningExperiment:
    """An experiment ready to run in a new folder; `capabilities` is what kernel and engine can do.

    Raises:
        BadInput: no such arm, a payload that cannot be built, settings that the client refuses, no such
            built-in application, a fault that is impossible on this machine, or a folder that cannot be
            written.
        PrerequisiteMissing: what a built-in application runs is not available.
    """
    for arm in choose_arms(experiment, options.arms):
        check_payload(experiment.workload_of(arm))
        for reader in experiment.readers_of(arm):
            check_settings(reader)
        check_settings_of(experiment, arm)
    left, skipped = feasibility.without_impossible_faults(experiment, capabilities)
    for line in skipped:
        report_progress(line)
    return RunningExperiment(left, choose_arms(left, options.arms), options, skipped)


def runs_of(
    experiment: Experiment, arms: Sequence[Arm], folder: Path, repeat: int = 1
) -> list[tuple[int, dict[Path, Arm]]]:
    """Every arm `repeat` times, in turns; arms that go together are one run. Each run is the number of its
    turn, from 0, and its arms by their folder below `folder`."""
    groups = (tuple(arms),) if experiment.together else tuple((arm,) for arm in arms)
    suffixes = [""] if repeat == 1 else [f"-{turn + 1:03d}" for turn in range(repeat)]
    return [
        (turn, {folder / f"{arm.name}{suffix}": arm for arm in group})
        for turn, suffix in enumerate(suffixes)
        for group in groups
    ]


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
        with BadInput.for_os_errors(
            "the results folder cannot be written",
            where=options.results,
            next_step="name another folder with --results",
        ):
            self.folder.mkdir(parents=True)
            data = without_secret_values(experiment.model_dump(mode="json", by_alias=True))
            (self.folder / EXPERIMENT_FILE).write_text(redact(json.dumps(data, indent=2)) + "\n")

    def run(self, cluster: ManagedCluster | ExternalCluster) -> None:
        """Run every arm `repeat` times; a finished run is checked while the next one is running."""
        brokers_are_up()
        began = time.monotonic()
        self.started_ns = time.time_ns()
        options = self._options
        try:
            for turn, arms in runs_of(self.experiment, self.arms, self.folder, options.repeat):
                ExperimentRun(
                    cluster,
                    self.experiment,
                    arms,
                    options.seed + turn,
                    self.skipped,
                    options.started,
                    options.owned_containers,
                ).execute()
                for folder in arms:
                    self.check(folder.name)
        except KafkaChaosError as error:
            if self._checks:
                error.add_note(f"the runs before it: kafka-chaos check {self.folder}")
            raise
        self.seconds = time.monotonic() - began

    def check(self, name: str) -> None:
        """Begin to check a finished run in the experiment's folder."""
        how = CheckOptions(self._options.engine, both_engines=self._options.both_engines)
        self._checks.append(start_checking(self.folder, name, how))

    @property
    def checked(self) -> bool:
        """Whether all checks have ended, so that `result` does not wait."""
        return all(check.done() for check in self._checks)

    def result(self) -> ExperimentResult:
        """Wait for the checks; write and return the result of the experiment."""
        result = ExperimentResult(
            experiment=self.experiment.name,
            title=self.experiment.title,
            description=self.experiment.description,
            arms=tuple(check.result() for check in self._checks),
            started_ns=self.started_ns,
            seconds=round(self.seconds, 1),
            command=self._options.command,
        )
        (self.folder / RESULT_FILE).write_text(redact(result.model_dump_json(indent=2)) + "\n")
        return result
