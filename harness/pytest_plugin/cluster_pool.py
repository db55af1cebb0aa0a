"""The clusters of one session (with pytest-xdist: of one worker): started when first needed, used again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.cluster.managed import ManagedCluster
from harness.cluster.running_cluster import ClusterHolder
from harness.model.config.yaml_problems import FileText, as_bad_input
from harness.model.errors import ClusterError
from harness.model.host.ports import HIGHEST, LOWEST, free_ports
from harness.pytest_plugin.settings import ChaosSpent, Settings
from harness.run.faults.healing import heal_cluster
from harness.spec.cluster import ClusterSpec
from harness.spec.overrides import ClusterOptions


class _Leased(ClusterHolder):
    """A cluster, and the number of its present users."""

    users = 0


def spec_of(fields: dict[str, Any], settings: Settings) -> ClusterSpec:
    """The cluster of the fixture `kafka_cluster`: as the test suite describes it, with options and ini
    settings over it.

    Raises:
        BadInput: it is not a cluster's description.
    """
    data = {**fields, **ClusterOptions(settings.version, settings.image, settings.profile).given()}
    try:
        return ClusterSpec.model_validate(data)
    except ValidationError as error:
        raise as_bad_input(
            error,
            FileText("kafka_cluster_spec", "cluster", None, data, ClusterSpec.model_json_schema()),
            "`kafka-chaos schema` prints every key below `cluster` with its meaning",
        ) from error


class SessionClusters:
    """Clusters by their spec. Clusters in use run, and so does the cluster that was released last. `spent` is
    the part of the session's budget that tests have used.
    """

    def __init__(self, settings: Settings) -> None:
        self.spent = ChaosSpent()
        self._settings = settings
        self._leased: list[_Leased] = []

    def lease(self, spec: ClusterSpec) -> ManagedCluster:
        """A running cluster of this spec, healed if another test used it before. Give it back with `release`.

        Raises:
            PrerequisiteMissing, ClusterError: it cannot be started.
        """
        for leased in self._leased if self._settings.reuse else ():
            if leased.spec == spec and (leased.users or leased.reuse(spec)):
                break
        else:
            # Unused clusters make room: each takes about 1 GiB of memory.
            self._remove(unused for unused in self._leased if not unused.users)
            leased = _Leased(self._start, _heal)
            leased.get(spec, self._settings.results / "logs")
            self._leased.append(leased)
        leased.users += 1
        cluster: ManagedCluster = leased.cluster
        return cluster

    def release(self, cluster: ManagedCluster) -> None:
        """One user less; an unused cluster is kept for the next one, unless clusters are not to be reused."""
        for leased in self._leased:
            if leased.cluster is cluster:
                leased.users -= 1
        if not self._settings.reuse:
            self._remove(leased for leased in self._leased if leased.users <= 0)

    def close(self) -> None:
        """Remove all clusters."""
        self._remove(self._leased)

    def _remove(self, some: Iterable[_Leased]) -> None:
        for leased in list(some):
            self._leased.remove(leased)
            leased.remove()

    def _start(self, spec: ClusterSpec, logs: Path) -> ManagedCluster:
        ports = worker_ports(spec.brokers, *self._settings.worker)
        return ManagedCluster(spec, log_folder=logs, ports=ports)


def _heal(cluster: ManagedCluster) -> str:
    healed = heal_cluster(cluster)
    if not healed.clean:
        raise ClusterError(
            "the cluster cannot be healed", found="; ".join((*healed.failures, *healed.traces))
        )
    return "healed"


def worker_ports(count: int, worker: int, workers: int) -> list[int]:
    """Free host ports from this worker's own share of ours: no two workers ever choose the same."""
    share = (HIGHEST - LOWEST) // workers
    mine = range(LOWEST + worker * share, LOWEST + (worker + 1) * share)
    return free_ports(count, frozenset(port for port in range(LOWEST, HIGHEST) if port not in mine))
