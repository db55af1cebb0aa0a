"""Volumes of a cluster's nodes: log dirs of a limited size, and clocks that can be shifted.

A volume of Docker's own driver has no size limit, but a tmpfs has one. Its content exists as long as it is
mounted, so a keeper container mounts all log dirs of a cluster: a broker's data survives the restart of its
container, as on a disk. The official image and ours run Kafka as user 1000.

Clocks are shifted while nodes run: every JVM in them starts with libfaketime preloaded. The library must be
there when a JVM starts, and must not be loaded into the shells around it (their child processes would not
find its semaphore). So each node has a volume with the library, a file with the offset of the clock, and a
`bin/java` that runs the image's own Java with the library; JAVA_HOME, which Kafka's scripts follow, points to
it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from docker import DockerClient
from docker.errors import DockerException

from harness.cluster.containers import capabilities, docker_engine
from harness.cluster.containers.exec import run_sidecar
from harness.model.errors import ClusterError

KAFKA_USER = 1000
CLOCK_DIR = "/opt/kafka-chaos/clock"
_LIBRARY, _OFFSET = "libfaketimeMT.so.1", "offset"

CLOCK_ENVIRONMENT = {
    "JAVA_HOME": CLOCK_DIR,
    "FAKETIME_TIMESTAMP_FILE": f"{CLOCK_DIR}/{_OFFSET}",
    # Seconds until a new offset is read. Reading it at every call would cost a file access each.
    "FAKETIME_CACHE_DURATION": "1",
    # A JVM waits by the monotonic clock, which a wrong wall clock does not change in reality either.
    "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    # With its default of 1, every timed wait of Java 17 ends at once: a broker was not up after 90 s.
    "FAKETIME_FORCE_MONOTONIC_FIX": "0",
}
"""Environment variables of a node with a volume for its clock, besides its own."""

_JAVA = f"""#!/bin/sh
LD_PRELOAD={CLOCK_DIR}/{_LIBRARY} exec java "$@"
"""
_SHIFTED = "2001"
_TRIAL = f"LD_PRELOAD={CLOCK_DIR}/{_LIBRARY} FAKETIME='{_SHIFTED}-06-01 00:00:00' date +%Y"


def create_log_dirs(
    client: DockerClient, cluster: str, nodes: Mapping[int, str], mib: int, toolbox: str
) -> dict[int, str]:
    """Create a volume of `mib` MiB for each of `nodes` (name by id), and the container that keeps them
    mounted.

    Returns the volumes' names by node id. All have the cluster's labels: a sweep removes them with it.

    Raises:
        ClusterError: the engine cannot create or mount them.
    """
    labels = docker_engine.labels(cluster)
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
            labels={**labels, docker_engine.LASTING_LABEL: "1"},
            network_mode="none",
            **capabilities.NONE,
            volumes={name: {"bind": f"/kept/{number}", "mode": "rw"} for number, name in names.items()},
        )
    except DockerException as error:
        raise ClusterError(
            "log dirs of a limited size are not available",
            where="cluster.disk_mib",
            expected="an engine that mounts a tmpfs as a volume",
            found=docker_engine.one_line(str(getattr(error, "explanation", None) or error)),
            next_step="leave `disk_mib` out; `kafka-chaos doctor` shows what this engine can do",
        ) from error
    return names


def create_clocks(
    client: DockerClient, cluster: str, nodes: Mapping[int, str], toolbox: str, image: str
) -> dict[int, str]:
    """Create a volume for each of `nodes` (name by id) from the toolbox image; returns the volumes' names by
    id.

    Raises:
        ClusterError: the engine refuses, or programs of `image` cannot load the library.
    """
    labels = docker_engine.labels(cluster)
    names = {number: f"{cluster}-{name}-clock" for number, name in nodes.items()}
    fill = "\n".join(
        f"cp $(find /usr/lib -name {_LIBRARY}) /to/{number}/\n"
        f"mkdir /to/{number}/bin && printf %s {shlex.quote(_JAVA)} >/to/{number}/bin/java\n"
        f"chmod 755 /to/{number} /to/{number}/bin /to/{number}/bin/java\n"
        f"echo +0 >/to/{number}/{_OFFSET}"
        for number in names
    )
    try:
        for name in names.values():
            client.volumes.create(name, driver="local", labels=labels)
        mounts = {name: f"/to/{number}" for number, name in names.items()}
        trouble = _run(client, toolbox, f"set -e\n{fill}", mounts, labels)
        mount = {next(iter(names.values())): CLOCK_DIR}
        year = trouble or _run(client, image, _TRIAL, mount, labels)
    except DockerException as error:
        raise _no_clocks(image, str(getattr(error, "explanation", None) or error)) from error
    if year != _SHIFTED:
        raise _no_clocks(image, year)
    return names


def _run(
    client: DockerClient, image: str, script: str, mounts: dict[str, str], labels: dict[str, str]
) -> str:
    volumes = {name: {"bind": folder, "mode": "rw"} for name, folder in mounts.items()}
    output = run_sidecar(
        client, image, script, labels, capabilities.NONE, network_mode="none", volumes=volumes
    )
    return output.text.strip() if output.code == 0 else f"exit code {output.code}: {output.text.strip()}"


def _no_clocks(image: str, found: str) -> ClusterError:
    return ClusterError(
        "the nodes' clocks cannot be shifted",
        where="cluster.skewable_clocks",
        expected="an image whose programs can load Debian's libfaketime (glibc, not Alpine's musl)",
        found=f"{image}: {docker_engine.one_line(found)}",
        next_step="leave `skewable_clocks` out, or use the image that `make setup` builds",
    )
