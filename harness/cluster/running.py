"""Starts the cluster that an experiment describes, or connects to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.cluster.external import ExternalCluster
from harness.cluster.managed import ManagedCluster
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
