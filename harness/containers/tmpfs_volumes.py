"""Log dirs of a limited size: one volume per broker, in memory, kept while the broker's process is down.

A volume of Docker's own driver has no size limit, but a tmpfs has one. Its content exists as long as it is
mounted, so a keeper container mounts all volumes of a cluster: a broker's data survives the restart of its
container, as on a disk. The official image and ours run Kafka as user 1000.
"""

from __future__ import annotations

from collections.abc import Mapping

from docker import DockerClient
from docker.errors import DockerException

from harness.containers import capabilities, engine
from harness.model.errors import ClusterError

KAFKA_USER = 1000


def create_log_dirs(
    client: DockerClient,
    cluster: str,
    nodes: Mapping[int, str],
    mib: int,
    toolbox: str,
    labels: dict[str, str],
) -> dict[int, str]:
    """Create a volume of `mib` MiB for each of `nodes` (name by id), and the container that keeps them
    mounted.

    Returns the volumes' names by node id. All have `labels`, so that a sweep removes them with the cluster.

    Raises:
        ClusterError: the engine cannot create or mount them.
    """
    names = {number: f"{cluster}-{name}-data" for number, name in nodes.items()}
    options = {"type": "tmpfs", "device": "tmpfs", "o": f"size={mib}m,uid={KAFKA_USER},gid={KAFKA_USER}"}
    try:
        for name in names.values():
            client.volumes.create(name, driver="local", driver_opts=options, labels=labels)
        client.containers.run(
            toolbox,
            ["sleep", "infinity"],
            name=f"{cluster}-keeper",
            detach=True,
            labels={**labels, engine.LASTING_LABEL: "1"},
            network_mode="none",
            **capabilities.NONE,
            volumes={name: {"bind": f"/kept/{number}", "mode": "rw"} for number, name in names.items()},
        )
    except DockerException as error:
        raise ClusterError(
            "log dirs of a limited size are not available",
            where="cluster.disk_mib",
            expected="an engine that mounts a tmpfs as a volume",
            found=engine.one_line(str(getattr(error, "explanation", None) or error)),
            next_step="leave `disk_mib` out; `kafka-chaos doctor` shows what this engine can do",
        ) from error
    return names
