"""What an exploration is run with: real clusters, and the runner and check that `kafka-chaos run` has."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from harness.campaign.backend import DockerBackend
from harness.explore.cluster_reset import reset
from harness.explore.phases import ObservedFault, seen_in
from harness.model.result import ArmResult
from harness.run import runner
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment


class ExploreBackend(Protocol):
    """What `harness.explore.explorer` needs."""

    def impossible(self, experiments: Sequence[Experiment]) -> dict[str, str]:
        """Why this machine cannot have an experiment, by its arm's name; prepares everything else."""
        ...

    def start(self, spec: ClusterSpec, logs: Path) -> AbstractContextManager[Any]: ...

    def reset(self, cluster: Any) -> str:
        """Make a used cluster as good as new; returns the proof in words."""
        ...

    def run(self, cluster: Any, experiment: Experiment, folder: Path, seed: int) -> None: ...

    def check(self, parent: Path, name: str) -> Future[ArmResult]: ...

    def look(self, folder: Path, replicas: int) -> tuple[ObservedFault, ...]:
        """What the cluster was at when each fault hit."""
        ...


class DockerExploreBackend(DockerBackend):
    """Kafka in containers."""

    def reset(self, cluster: Any) -> str:
        return reset(cluster)

    def run(self, cluster: Any, experiment: Experiment, folder: Path, seed: int) -> None:
        runner.ExperimentRun(cluster, experiment, {folder: experiment.arms[0]}, seed).execute()

    def look(self, folder: Path, replicas: int) -> tuple[ObservedFault, ...]:
        return seen_in(folder, replicas)
