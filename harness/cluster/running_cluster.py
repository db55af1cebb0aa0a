"""The running cluster that an experiment describes: started or connected to, held by its spec while others
need it, or attached to because another process has started it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from docker import DockerClient
from docker.errors import NotFound

from harness.cluster import external_containers
from harness.cluster.containers import images
from harness.cluster.external import ExternalCluster
from harness.cluster.external_brokers import client_security_of
from harness.cluster.live import LiveCluster
from harness.cluster.managed import ManagedCluster
from harness.cluster.node_plan import plan
from harness.cluster.protocol.client_security import ClientSecurity
from harness.cluster.state_records import ClusterRecord
from harness.model.errors import ClusterError
from harness.model.progress import report_progress
from harness.spec.cluster import ClusterSpec


@contextmanager
def running_cluster(spec: ClusterSpec, logs: Path) -> Iterator[ManagedCluster | ExternalCluster]:
    """A started cluster, removed at the end whatever happens; or an external one, left as it was."""
    if spec.existing is not None:
        report_progress(f"connecting to the cluster at {spec.existing.bootstrap_servers}")
        with ExternalCluster(spec) as existing:
            yield existing
        return
    report_progress(
        f"starting Kafka {spec.version}: {spec.brokers} brokers, {spec.controllers} controller(s)"
    )
    with ManagedCluster(spec, log_folder=logs) as cluster:
        yield cluster


class ClusterHolder:
    """At most one running cluster. Use it as a context manager: the cluster is removed at the end.

    `start` gives a cluster of a spec as a context manager, whose logs go to the folder named. `reset` makes a
    used cluster fit for its next user and describes how that was verified; when it raises ClusterError, the
    cluster is removed and a new one takes its place. A single call may name another way to `reset`.
    """

    def __init__(
        self,
        start: Callable[[ClusterSpec, Path], AbstractContextManager[Any]],
        reset: Callable[[Any], str] = lambda _: "",
    ) -> None:
        self._start = start
        self._reset = reset
        self._stack = ExitStack()
        self.cluster: Any = None
        self.spec: ClusterSpec | None = None
        """The spec of the running cluster; None: no cluster runs."""
        self.proof: str | None = None
        """What `reset` returned when the cluster was last reset; None: the cluster is new."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def get(self, spec: ClusterSpec, logs: Path, reset: Callable[[Any], str] | None = None) -> Any:
        """The running cluster if it has this spec and can be reset, else a new one.

        Raises:
            PrerequisiteMissing, ClusterError: a new cluster was needed and could not be started.
        """
        if not self.reuse(spec, reset):
            self.remove()
            self.cluster = self._stack.enter_context(self._start(spec, logs))
            self.spec, self.proof = spec, None
        return self.cluster

    def reuse(self, spec: ClusterSpec, reset: Callable[[Any], str] | None = None) -> bool:
        """Reset the running cluster if it has this spec; False: there is none, or it was removed."""
        if self.spec != spec:
            return False
        try:
            self.proof = (reset or self._reset)(self.cluster)
        except ClusterError as error:
            report_progress(f"starting a new cluster, since the last one cannot be reset: {error.found}")
            self.remove()
            return False
        return True

    def remove(self) -> None:
        """Remove the cluster, if there is one."""
        self.cluster = self.spec = None
        self._stack.close()


def attach(client: DockerClient | None, record: ClusterRecord) -> LiveCluster | None:
    """Attach to a recorded cluster; None if its containers are gone. `client` may be None for an existing
    cluster, one that kafka-chaos has not started.

    Raises:
        BadInput, ClusterError: for an existing cluster, its client configuration or a container is gone.
    """
    if record.spec.existing is not None:
        return _attach_external(record)
    assert client is not None
    cluster = LiveCluster()
    cluster.spec = record.spec
    cluster.name = record.name
    cluster.nodes = plan(record.spec, list(record.ports), record.cluster_id)
    cluster.access = ClientSecurity(record.access)
    try:
        handles = {node.id: client.containers.get(f"{record.name}-{node.name}") for node in cluster.nodes}
    except NotFound:
        return None
    cluster.baseline = record.baseline
    cluster.use_containers(client, handles, record.addresses, record.client_address, images.toolbox(client))
    return cluster


def _attach_external(record: ClusterRecord) -> ExternalCluster:
    """Attach to an existing cluster that another process has used, without contacting its brokers."""
    cluster = ExternalCluster(record.spec)
    cluster.name, cluster.topics, cluster.groups = record.name, record.topics, record.groups
    cluster.use_security(client_security_of(cluster.existing))
    cluster.baseline = record.baseline
    cluster.set_brokers(record.brokers)
    if cluster.existing.containers is not None:
        external_containers.attach(cluster, cluster.existing.containers)
    return cluster
