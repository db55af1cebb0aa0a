"""The clusters of one session (with pytest-xdist: of one worker): started when first needed, used again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.cluster.managed import ManagedCluster
from harness.host.ports import HIGHEST, LOWEST, free_ports
from harness.model.errors import BadInput
from harness.pytest_plugin.settings import ChaosSpent, Settings
from harness.run.healing import heal_cluster
from harness.spec.cluster import ClusterSpec


@dataclass
class _Held:
    cluster: ManagedCluster
    key: str
    users: int = 1


def start_cluster(spec: ClusterSpec, logs: Path, ports: list[int]) -> ManagedCluster:
    """A started cluster on these host ports."""
    return ManagedCluster(spec, log_folder=logs, ports=ports).start()


def spec_of(given: dict[str, Any], settings: Settings) -> ClusterSpec:
    """The cluster of the fixture `kafka_cluster`: what the test suite says, with options and ini settings
    over it.

    Raises:
        BadInput: it is not a cluster's description.
    """
    over = {"version": settings.version, "image": settings.image, "profile": settings.profile}
    try:
        return ClusterSpec.model_validate(
            {**given, **{key: value for key, value in over.items() if value is not None}}
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(
            "kafka_cluster_spec is not a cluster's description",
            where=".".join(str(part) for part in first["loc"]) or "kafka_cluster_spec",
            expected=first["msg"],
            next_step="`kafka-chaos schema` prints every key below `cluster` with its meaning",
        ) from error


class SessionClusters:
    """Clusters by their spec. Those that somebody holds are up, and the last one that nobody does.

    `spent` is what their users have had of the session's budget.
    """

    def __init__(
        self,
        settings: Settings,
        start: Callable[[ClusterSpec, Path, list[int]], ManagedCluster] | None = None,
        heal: Callable[[ManagedCluster], bool] = lambda cluster: heal_cluster(cluster).clean,
    ) -> None:
        self.spent = ChaosSpent()
        self._settings = settings
        self._start = start_cluster if start is None else start
        self._heal = heal
        self._held: list[_Held] = []

    def lease(self, spec: ClusterSpec) -> ManagedCluster:
        """A running cluster of this spec, healed if somebody had it before. Give it back with `release`.

        Raises:
            PrerequisiteMissing, ClusterError: it cannot be had.
        """
        key = spec.model_dump_json()
        for held in [held for held in self._held if held.key == key and self._settings.reuse]:
            if held.users == 0 and not self._heal(held.cluster):
                self._stop(held)
                continue
            held.users += 1
            return held.cluster
        # What nobody holds makes room: a cluster takes about 1 GiB of memory.
        for held in [held for held in self._held if held.users == 0]:
            self._stop(held)
        ports = worker_ports(spec.brokers, *self._settings.worker)
        cluster = self._start(spec, self._settings.results / "logs", ports)
        self._held.append(_Held(cluster, key))
        return cluster

    def release(self, cluster: ManagedCluster) -> None:
        """Nobody needs it here any more; it stays for the next one, if it may."""
        held = next((held for held in self._held if held.cluster is cluster), None)
        if held is None:
            return
        held.users -= 1
        if held.users <= 0 and not self._settings.reuse:
            self._stop(held)

    def close(self) -> None:
        """Remove all that is left."""
        for held in list(self._held):
            self._stop(held)

    def _stop(self, held: _Held) -> None:
        self._held.remove(held)
        held.cluster.stop()


def worker_ports(count: int, worker: int, workers: int) -> list[int]:
    """Free host ports from this worker's own share of ours: no two workers ever choose the same."""
    share = (HIGHEST - LOWEST) // workers
    mine = range(LOWEST + worker * share, LOWEST + (worker + 1) * share)
    return free_ports(count, frozenset(port for port in range(LOWEST, HIGHEST) if port not in mine))
