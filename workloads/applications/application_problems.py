"""What is wrong with the application of an arm, and with what is beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from faults.schedules.problems import Problem
from harness.spec.cluster import ClusterSpec
from workloads.applications.application_spec import ApplicationSpec
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.reader_spec import ReaderSpec
from workloads.records.config.workload_spec import WorkloadSpec


def source_problems(
    workload: WorkloadSpec, settings: ProducerSettings, beside: bool, where: str
) -> Iterator[Problem]:
    """Why the input of an application that reads a file or an endpoint cannot be written by this workload;
    `beside`: the arm has readers or share groups."""
    for given, what in (
        (
            workload.client != "librdkafka" or workload.transactional,
            "`client` and transactions have no meaning",
        ),
        (workload.producers > 1, "there is one writer: leave `producers` out"),
        (settings != ProducerSettings(), "nothing is produced to Kafka: leave the arm's `producer` out"),
        (beside, "the records of the topic are the application's: leave `readers` and `share` out"),
    ):
        if given:
            yield Problem(where, f"with `input` {what}")


def application_problems(
    application: ApplicationSpec, readers: Sequence[ReaderSpec], cluster: ClusterSpec, *, arm: str, where: str
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
    if application.output.table == "deliveries" and readers:
        yield Problem(
            f"{where}.output.table",
            f"`deliveries` keeps what one group has committed, and arm {arm!r} has readers beside it: leave "
            "them out",
        )
    if application.group in {reader.group for reader in readers} - {None}:
        yield Problem(
            f"{where}.group",
            f"a reader of arm {arm!r} is in the group {application.group!r} too, "
            "so each would get a part of the records",
        )
