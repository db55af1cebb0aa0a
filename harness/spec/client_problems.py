"""What is wrong with the readers and the application of an experiment, before a cluster starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from faults.schedules.problems import Problem
from harness.spec.application import ApplicationSpec
from harness.spec.cluster import ClusterSpec, Metadata
from workloads.config.reader_spec import ReaderSpec


def reader_problems(readers: Sequence[ReaderSpec], cluster: ClusterSpec, where: str) -> Iterator[Problem]:
    """Readers that the cluster does not support, and names that are used twice; `where` is their key in the
    file."""
    taken: set[str] = set()
    for number, reader in enumerate(readers):
        twice = taken.intersection(reader.member_names)
        if twice:
            yield Problem(f"{where}[{number}].name", f"two readers are named {min(twice)!r}")
        taken.update(reader.member_names)
        if reader.protocol == "consumer" and not cluster.has_consumer_protocol:
            mode = " with ZooKeeper" if cluster.metadata is Metadata.ZOOKEEPER else ""
            yield Problem(
                f"{where}[{number}].protocol",
                f"Kafka {cluster.version}{mode} has no consumer group protocol, 4.0 was the first "
                "(KIP-848): set `version` below `cluster`, or `protocol: classic`",
            )
        if reader.rack is None:
            continue
        if not cluster.racks:
            yield Problem(
                f"{where}[{number}].rack",
                "the cluster has no racks: set `racks: true` below `cluster`, or leave rack out",
            )
        elif reader.rack not in cluster.rack_names:
            yield Problem(
                f"{where}[{number}].rack",
                f"there is no rack {reader.rack!r}: the racks are {', '.join(cluster.rack_names)}",
            )


def application_problems(
    application: ApplicationSpec,
    readers: Sequence[ReaderSpec],
    cluster: ClusterSpec,
    *,
    arm: str,
    where: str,
) -> Iterator[Problem]:
    """Why the cluster cannot have this application beside these readers of an arm; `where` is its key in the
    file."""
    if cluster.security is not None:
        yield Problem(where, "an application cannot be tested on a cluster with `security` yet")
    if cluster.existing is not None and application.in_container:
        yield Problem(f"{where}.run", "a container needs the network of a cluster that kafka-chaos starts")
    if cluster.existing is not None and application.output.cluster is not None:
        yield Problem(f"{where}.output.cluster", "a second cluster needs a first one that kafka-chaos starts")
    replicas = application.output.of_topic.replication_factor
    if replicas is not None and replicas > cluster.brokers:
        yield Problem(
            f"{where}.output.topic.replication_factor",
            f"it is {replicas}, but the cluster has {cluster.brokers} broker(s)",
        )
    if application.group in {reader.group for reader in readers} - {None}:
        yield Problem(
            f"{where}.group",
            f"a reader of arm {arm!r} is in the group {application.group!r} too, "
            "so each would get a part of the records",
        )
