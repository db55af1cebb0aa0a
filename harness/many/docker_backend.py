"""How a campaign makes its runs: in containers, with the runner and the check that `kafka-chaos run` has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from checkers import EngineChoice
from harness.check_jobs.worker import CheckOptions, start_checking
from harness.cluster import state_records
from harness.cluster.containers import docker_engine
from harness.cluster.running_cluster import running_cluster
from harness.many.cluster_reset import reset
from harness.model.errors import BadInput, KafkaChaosError
from harness.model.journal import RUN_FILE
from harness.model.progress import report_progress
from harness.model.result import ArmResult
from harness.model.run import RunMeta
from harness.run.executor import prepare_runs
from harness.run.experiment_run import ExperimentRun
from harness.run.preflight import feasibility
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Arm, Experiment


@dataclass(frozen=True)
class Feasibility:
    """Which experiments this machine can run, by the name of their only arm. `possible` has each without the
    faults that may be skipped, and a sentence about every one of those; `impossible` has the reason."""

    possible: dict[str, tuple[Experiment, tuple[str, ...]]] = field(default_factory=dict)
    impossible: dict[str, str] = field(default_factory=dict)


class DockerBackend:
    """Starts clusters in containers, makes runs on them and checks what they leave. It is sent to worker
    processes, so it must be picklable.

    `engine` checks the runs ("auto": Apache Spark), with `both_engines` the other one does as well."""

    def __init__(self, engine: EngineChoice | None = None, *, both_engines: bool = False) -> None:
        self._how = CheckOptions(engine or EngineChoice(), both_engines=both_engines)

    def feasibility(self, experiments: Sequence[Experiment]) -> Feasibility:
        """Look for what checks and clusters need, start the engine of the checks, remove what a killed
        harness left, and probe the kernel.

        Raises:
            BadInput: a fault that is impossible on an existing cluster, or would hit its containers.
            PrerequisiteMissing: no Java, no container engine.
        """
        self._how = replace(self._how, engine=prepare_runs(experiments, self._how.engine))
        client = docker_engine.connect()
        docker_engine.sweep(client, recorded=state_records.owners())
        state_records.prune(client)
        capabilities = feasibility.probe_for(client, experiments)
        feasible = Feasibility()
        for experiment in experiments:
            name = experiment.arms[0].name
            try:
                feasible.possible[name] = feasibility.without_impossible_faults(experiment, capabilities)
            except BadInput as error:
                feasible.impossible[name] = f"{error.what}: {error.found}"
        return feasible

    def start(self, spec: ClusterSpec, logs: Path) -> AbstractContextManager[Any]:
        """A running cluster that is removed at the end."""
        return running_cluster(spec, logs)

    def reset(self, cluster: Any) -> str:
        """Make a used cluster as good as new; returns in words how that was verified."""
        report_progress("resetting the cluster")
        return reset(cluster)

    def run(
        self,
        cluster: Any,
        experiment: Experiment,
        arms: Mapping[Path, Arm],
        seed: int,
        skipped: tuple[str, ...] = (),
    ) -> None:
        """Make one run of these arms, each by the folder that it leaves."""
        ExperimentRun(cluster, experiment, arms, seed, skipped).execute()

    def delete_topics(self, cluster: Any, folders: Sequence[Path]) -> None:
        """Delete the topics of these runs."""
        for folder in folders:
            if (folder / RUN_FILE).exists():
                with suppress(KafkaChaosError):
                    cluster.admin().delete(RunMeta.load(folder).topic)

    def check(self, parent: Path, name: str) -> Future[ArmResult]:
        """Begin to check the finished run in `parent`/`name`."""
        return start_checking(parent, name, self._how)
