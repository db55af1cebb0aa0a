"""The interface with which a campaign makes its runs; `harness.campaign.docker_backend` implements it with
containers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from harness.model.result import ArmResult
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Arm, Experiment


@dataclass(frozen=True)
class Feasibility:
    """Which experiments this machine can run, by the name of their only arm. `possible` has each without the
    faults that may be skipped, and a sentence about every one of those; `impossible` has the reason."""

    possible: dict[str, tuple[Experiment, tuple[str, ...]]] = field(default_factory=dict)
    impossible: dict[str, str] = field(default_factory=dict)


class Backend(Protocol):
    """Starts clusters, makes runs on them and checks what they leave. It is sent to worker processes, so it
    must be picklable."""

    def feasibility(self, experiments: Sequence[Experiment]) -> Feasibility:
        """Find out what this machine can run, and prepare it for that."""
        ...

    def start(self, spec: ClusterSpec, logs: Path) -> AbstractContextManager[Any]:
        """A running cluster that is removed at the end."""
        ...

    def reset(self, cluster: Any) -> str:
        """Make a used cluster as good as new; returns in words how that was verified."""
        ...

    def run(
        self,
        cluster: Any,
        experiment: Experiment,
        arms: Mapping[Path, Arm],
        seed: int,
        skipped: tuple[str, ...] = (),
    ) -> None:
        """Make one run of these arms, each by the folder that it leaves."""
        ...

    def delete_topics(self, cluster: Any, folders: Sequence[Path]) -> None:
        """Delete the topics of these runs."""
        ...

    def check(self, parent: Path, name: str) -> Future[ArmResult]:
        """Begin to check the finished run in `parent`/`name`."""
        ...
