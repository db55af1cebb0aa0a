"""What a matrix is run with: real clusters, the runner and the check that `kafka-chaos run` has."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from checkers.spark.java import java_of_spark
from harness.check.worker import start_checking
from harness.cluster import state_records
from harness.containers import engine
from harness.model.errors import BadInput
from harness.model.result import ArmResult
from harness.preflight import feasibility
from harness.run.executor import running
from harness.run.runner import ExperimentRun
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment


class Backend(Protocol):
    """What `harness.matrix.runner` needs."""

    def impossible(self, experiments: Sequence[Experiment]) -> dict[str, str]:
        """Why this machine cannot have an arm, by the arm's name; prepares everything else."""
        ...

    def start(self, spec: ClusterSpec, logs: Path) -> AbstractContextManager[Any]: ...

    def run(self, cluster: Any, experiment: Experiment, folder: Path, seed: int) -> None: ...

    def check(self, parent: Path, name: str) -> Future[ArmResult]: ...


class DockerBackend:
    """Kafka in containers."""

    def __init__(self) -> None:
        self._sifted: dict[str, tuple[Experiment, tuple[str, ...]]] = {}

    def impossible(self, experiments: Sequence[Experiment]) -> dict[str, str]:
        """Look for Java and the engine, remove what a killed harness left, and probe the kernel.

        Raises:
            PrerequisiteMissing: no Java, no engine.
        """
        java_of_spark(os.environ)
        client = engine.connect()
        engine.sweep(client)
        state_records.prune(client)
        found = feasibility.probed(client, experiments)
        reasons = {}
        for experiment in experiments:
            name = experiment.arms[0].name
            try:
                self._sifted[name] = feasibility.sifted(experiment, found)
            except BadInput as error:
                reasons[name] = f"{error.what}: {error.found}"
        return reasons

    def start(self, spec: ClusterSpec, logs: Path) -> AbstractContextManager[Any]:
        return running(spec, logs)

    def run(self, cluster: Any, experiment: Experiment, folder: Path, seed: int) -> None:
        left, skipped = self._sifted[experiment.arms[0].name]
        ExperimentRun(cluster, left, {folder: left.arms[0]}, seed, skipped).execute()

    def check(self, parent: Path, name: str) -> Future[ArmResult]:
        return start_checking(parent, name)
