"""The input of an application that reads a file or an HTTP endpoint instead of a topic."""

from __future__ import annotations

from pathlib import Path

from harness.cluster.live import LiveCluster
from harness.cluster.managed import ManagedCluster
from harness.model.host.ports import HOST, free_ports
from workloads.applications.application_spec import ApplicationSpec
from workloads.applications.group_watch import GroupWatch
from workloads.applications.source_clients import FileClient, HttpClient, SourceClient
from workloads.records.config.workload_spec import WorkloadSpec

FOLDER = "input"
"""The folder of an input file, below that of the application; in a container, of its root."""


class SourceWatch(GroupWatch):
    """What a `GroupWatch` tells of an input that is no topic: it has no group, and ends where `client` is."""

    def __init__(self, client: SourceClient) -> None:
        self.group, self.partitions = None, 1
        self.ends = lambda: {0: client.taken}  # type: ignore[method-assign]


def open_source(
    spec: ApplicationSpec, workload: WorkloadSpec, cluster: LiveCluster, folder: Path, patience: float
) -> SourceClient | None:
    """What writes the input of an application, its file below `folder`; None: it reads a topic. `patience` is
    how many seconds a record waits for an endpoint.

    Raises:
        BadInput: the file cannot be written.
    """
    given, payload = spec.input, workload.payload is not None
    if given is None:
        return None
    if given.file is not None:
        path = folder.absolute() / FOLDER / given.file
        seen = f"/{FOLDER}/{given.file}" if spec.in_container else str(path)
        return FileClient(path, seen, payload=payload)
    host = HOST
    if spec.in_container:
        assert isinstance(cluster, ManagedCluster), "checked when the experiment was made"
        host = cluster.spare_address(0)
    json = workload.payload is not None and workload.payload.json_ is not None
    kind = "application/json" if json else "text/plain"
    url = given.url(host, str(free_ports(1)[0])).geturl()
    return HttpClient(url, kind, payload=payload, patience=patience)
