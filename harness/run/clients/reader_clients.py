"""Which program the clients of a live reader are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from harness.cluster.live import LiveCluster
from harness.cluster.managed import ManagedCluster
from harness.containers import engine
from harness.host.python_packages import confluent_kafka
from harness.model.errors import BadInput
from workloads.config.reader_spec import ReaderSpec
from workloads.reader.consumer_process import ConsumerProcess


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
    version = reader.version
    if version is None and isinstance(cluster, ManagedCluster):
        version = cluster.image.kafka_version
    if version is None:
        raise BadInput(
            "the version of a reader's Java client is not known",
            where=f"reader {reader.name}: version",
            expected="a version, or a cluster that kafka-chaos starts, which has the same",
            found="an existing cluster, and no version",
            next_step="set `version`",
        )
    # Imported here because they load py4j, which nothing else needs.
    from harness.java.consumer import PROGRAM, with_access
    from harness.java.jvm import client_jar

    return with_access(
        partial(ConsumerProcess, program=PROGRAM),
        client_jar(engine.connect(), version),
        cluster.access.java(),
    )
