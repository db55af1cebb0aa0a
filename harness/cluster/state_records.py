"""Records of running clusters and open faults on disk, so that another process can heal them.

There is one folder per cluster, below `$XDG_STATE_HOME/kafka-chaos` (or `$KAFKA_CHAOS_STATE`). `cluster.json`
describes the cluster and its containers. Each open fault is one file, written before the fault is applied and
removed when it has been seen to be healed. The folder is removed when the cluster is stopped.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from docker import DockerClient

from harness.cluster.containers import docker_engine
from harness.model.errors import ClusterError, first_line
from harness.model.frozen import Frozen
from harness.model.host import processes
from harness.model.storage import write_whole
from harness.spec.cluster import ClusterSpec

_CLUSTER_FILE = "cluster.json"
_FAULT_PREFIX = "fault-"

_R = TypeVar("_R", bound=Frozen)


class ClusterRecord(Frozen):
    """Where a cluster's containers are.

    `owner` is the process that started it (`harness.model.host.processes.owner_label`). `ports` are in order
    of broker id, `addresses` by node id. `access` holds the clients' security settings (`ClientSecurity`), so
    only the user can read the file. `baseline` is what stood in each node before any fault, by kind
    (`harness.cluster.trace_kinds`). For an existing cluster: `brokers` by id (host and port), and the
    `topics` and `groups` of a run that must be deleted.
    """

    name: str
    owner: str
    spec: ClusterSpec
    cluster_id: str = ""
    ports: tuple[int, ...] = ()
    addresses: dict[int, str] = {}
    client_address: str = ""
    access: dict[str, str] = {}
    baseline: dict[int, dict[str, tuple[str, ...]]] = {}
    brokers: dict[int, tuple[str, int]] = {}
    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


class OpenFaultRecord(Frozen):
    """One fault that may have been applied and has not been seen to be healed.

    `injection` holds the fields of the `Injection` of the fault `kind`; the other fields make up its
    `InjectionContext`.
    """

    name: str
    kind: str
    topic: str
    session_seconds: float
    tag: str
    opened_ns: int
    injection: dict[str, Any]
    beside: tuple[str, ...] = ()


def state_folder() -> Path:
    """The folder of this user's records on this machine."""
    chosen = os.environ.get("KAFKA_CHAOS_STATE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "kafka-chaos"


def remember(cluster: Any) -> None:
    """Record a cluster that was just started, or what has changed since (a `ManagedCluster` or an
    `ExternalCluster`)."""
    own: dict[str, Any]
    if cluster.spec.existing is not None:
        # Its security settings stay in the user's own file.
        brokers = {number: cluster.endpoint(number) for number in cluster.broker_ids}
        own = {"brokers": brokers, "topics": cluster.topics, "groups": cluster.groups}
    else:
        own = {
            "cluster_id": cluster.cluster_id,
            "ports": tuple(node.host_port for node in cluster.nodes if node.host_port is not None),
            "addresses": {node.id: cluster.address(node.id) for node in cluster.nodes},
            "client_address": cluster.client_address,
            "access": dict(cluster.access.properties),
        }
    owner = processes.owner_label(os.getpid())
    record = ClusterRecord(
        name=cluster.name, owner=owner, spec=cluster.spec, baseline=cluster.baseline, **own
    )
    _write(state_folder() / record.name / _CLUSTER_FILE, record)


def forget(name: str) -> None:
    """Delete all records of a cluster that is gone, and of its faults."""
    shutil.rmtree(state_folder() / name, ignore_errors=True)


def open_fault(cluster: str, record: OpenFaultRecord) -> None:
    """Record a fault before it is applied."""
    _write(state_folder() / cluster / f"{_FAULT_PREFIX}{record.tag}.json", record)


def close_fault(cluster: str, tag: str) -> None:
    """Delete the record of a fault that has been seen to be healed."""
    (state_folder() / cluster / f"{_FAULT_PREFIX}{tag}.json").unlink(missing_ok=True)


def open_faults(cluster: str) -> list[OpenFaultRecord]:
    """The open faults of a cluster, the last opened first.

    Raises:
        ClusterError: a record cannot be read.
    """
    paths = (state_folder() / cluster).glob(f"{_FAULT_PREFIX}*.json")
    records = [_read(path, OpenFaultRecord) for path in paths]
    return sorted(records, key=lambda record: record.opened_ns, reverse=True)


def recorded_clusters() -> Iterator[ClusterRecord]:
    """Every recorded cluster of this machine, running or not."""
    for path in sorted(state_folder().glob(f"*/{_CLUSTER_FILE}")):
        yield _read(path, ClusterRecord)


def owners() -> dict[str, str]:
    """The owner of every recorded cluster by the cluster's name, without records that cannot be read."""
    by_cluster = {}
    for path in state_folder().glob(f"*/{_CLUSTER_FILE}"):
        with suppress(ClusterError):
            by_cluster[path.parent.name] = _read(path, ClusterRecord).owner
    return by_cluster


def prune(client: DockerClient) -> None:
    """Delete the records of clusters whose containers are gone."""
    # By the names of the folders, so that unreadable records are deleted too.
    for path in state_folder().glob("*/"):
        if _not_ours(path):
            continue
        filters = {"label": f"{docker_engine.CLUSTER_LABEL}={path.name}"}
        if not client.containers.list(all=True, filters=filters, ignore_removed=True):
            forget(path.name)


def _not_ours(folder: Path) -> bool:
    """Whether this is the record of an existing cluster that still has topics or faults of ours."""
    try:
        record = _read(folder / _CLUSTER_FILE, ClusterRecord)
    except ClusterError:
        return False
    left = bool(record.topics) or any(folder.glob(f"{_FAULT_PREFIX}*.json"))
    return left and record.spec.existing is not None


def _write(path: Path, record: Frozen) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, record.model_dump_json(indent=2) + "\n", private=True)


def _read(path: Path, kind: type[_R]) -> _R:
    try:
        return kind.model_validate_json(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise ClusterError(
            "a record of a cluster or of an open fault cannot be read",
            where=str(path),
            found=first_line(error),
            next_step="`kafka-chaos clean --all` removes that cluster, its faults and the record",
        ) from error
