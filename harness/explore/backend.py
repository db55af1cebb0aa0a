"""What an exploration is run with: the backend of a campaign, and what it finds out about faults."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from harness.campaign.backend import Backend
from harness.campaign.docker_backend import DockerBackend
from harness.explore.phases import ObservedFault, observed_faults


class ExploreBackend(Backend, Protocol):
    """What `harness.explore.explorer` needs."""

    def observed_faults(self, folder: Path, replicas: int) -> tuple[ObservedFault, ...]:
        """The phase that the cluster was in when each fault of a run hit."""
        ...


class DockerExploreBackend(DockerBackend):
    """Kafka in containers."""

    def observed_faults(self, folder: Path, replicas: int) -> tuple[ObservedFault, ...]:
        return observed_faults(folder, replicas)
