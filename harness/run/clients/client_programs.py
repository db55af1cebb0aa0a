"""Which program a client is, where it is not librdkafka in this process: readers, share groups, Java."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from harness.cluster.live import LiveCluster
from harness.cluster.managed import ManagedCluster
from harness.containers import engine
from harness.host.python_packages import confluent_kafka
from harness.model.errors import BadInput
from workloads.config.reader_spec import ReaderSpec
from workloads.config.share_spec import ShareSpec
from workloads.reader.consumer_process import ConsumerProcess
from workloads.share.member_process import LIBRDKAFKA_MEMBER

# What loads py4j, which nothing else needs, is imported in the functions.


def java_client(cluster: LiveCluster, version: str | None, unknown: BadInput) -> Path:
    """The jar of the Java client of a version (None: the cluster's own).

    Raises:
        BadInput: `unknown`, if the cluster's version is not known.
        PrerequisiteMissing: the client is not available in that version.
    """
    if version is None and isinstance(cluster, ManagedCluster):
        version = cluster.image.kafka_version
    if version is None:
        raise unknown
    from harness.java.jvm import client_jar

    return client_jar(engine.connect(), version)


def reader_clients(readers: Sequence[ReaderSpec], cluster: LiveCluster) -> dict[str, Callable[..., Any]]:
    """What makes a consumer from its settings, by the name of the reader; readers with the client of this
    process are left out.

    Raises:
        BadInput: the version of a Java client is not known.
        PrerequisiteMissing: a client of that version is not available.
    """
    found: dict[str, Callable[..., Any]] = {}
    for reader in readers:
        if reader.client == "java":
            found[reader.name] = _java(reader, cluster)
        elif reader.version is not None:
            found[reader.name] = partial(ConsumerProcess, packages=confluent_kafka(reader.version))
    return found


def _java(reader: ReaderSpec, cluster: LiveCluster) -> Callable[..., Any]:
    unknown = BadInput(
        "the version of a reader's Java client is not known",
        where=f"reader {reader.name}: version",
        expected="a version, or a cluster that kafka-chaos starts, which has the same",
        found="an existing cluster, and no version",
        next_step="set `version`",
    )
    jar = java_client(cluster, reader.version, unknown)
    from harness.java.consumer import PROGRAM, with_access

    return with_access(partial(ConsumerProcess, program=PROGRAM), jar, cluster.access.java())


def share_client(spec: ShareSpec, cluster: LiveCluster) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The command of a share group's members, and what their client needs besides.

    Raises:
        BadInput: the cluster's version, which the Java client must have, is not known.
        PrerequisiteMissing: the Java client is not available.
    """
    if spec.client == "librdkafka":
        return LIBRDKAFKA_MEMBER, {}
    unknown = BadInput(
        "the Java client cannot join a share group of this cluster",
        where=f"share group {spec.name}: client",
        expected="a version of the client, or a cluster that kafka-chaos starts, which has the same",
        found="an existing cluster, and no version",
        next_step="set `version`, or use `client: librdkafka`",
    )
    jar = java_client(cluster, spec.version, unknown)
    from harness.java.share_member import SHARE_MEMBER

    return SHARE_MEMBER, {"jar": str(jar), "access": cluster.access.java()}
