"""Makes clients of the Java client: producers and consumers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cluster.containers import docker_engine
from harness.cluster.live import LiveCluster
from harness.cluster.managed import ManagedCluster
from harness.model.errors import BadInput
from harness.run.arm_setting import ArmSetting
from harness.run.client_factory import producers
from workloads.base import ArmClients, RunningWorkload
from workloads.groups.group_offsets import GroupOffsets
from workloads.java.java_settings import java_properties, scripted_properties
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.reader_spec import ReaderSpec
from workloads.records.producer.producers import Producers
from workloads.records.reader.consumer_process import ConsumerProcess

if TYPE_CHECKING:
    from workloads.java.scripted_producers import PyScriptedProducers

# What loads py4j, which nothing else needs, is imported in the functions.


def java_producers(
    setting: ArmSetting,
    clients: ArmClients,
    running: Sequence[RunningWorkload],
) -> Producers:
    """Producers like those of librdkafka, of the Java client of the cluster's version.

    Raises:
        BadInput: the cluster's image does not name the version of the Java client.
        ClusterError: a JVM does not start.
    """
    connect = partial(_java_producer, setting.arm.producer, setting.cluster)
    return producers(setting, clients, running, connect=connect)


def _java_producer(settings: ProducerSettings, cluster: LiveCluster) -> Callable[..., Any]:
    """Creates Java producers of the cluster's version, in place of confluent-kafka's `Producer`."""
    unknown = BadInput(
        "the Java client cannot write to this cluster",
        where="workload.client",
        expected="a cluster that kafka-chaos starts, whose version is that of the client",
        found="an existing cluster",
        next_step="use `client: librdkafka`",
    )
    jar = client_jar_of(cluster, None, unknown)
    from workloads.java.java_client import JavaClient

    properties, access = java_properties(settings, cluster.bootstrap), cluster.access.java()
    return lambda *_, **__: JavaClient(jar, properties, access)


def driven_producers(
    setting: ArmSetting,
    clients: ArmClients,
    running: Sequence[RunningWorkload],
) -> PyScriptedProducers:
    """Producers that make their calls one by one, as drive steps say.

    Raises:
        BadInput: the client refuses the settings, or the cluster is not one that they can write to.
        ClusterError: a JVM does not start.
    """
    cluster = setting.cluster
    if not isinstance(cluster, ManagedCluster) or cluster.access.protocol != "PLAINTEXT":
        raise BadInput(
            "driven producers cannot write to this cluster",
            where="workload.client",
            expected="a cluster that kafka-chaos starts, without `security`",
            found="an existing cluster, or one that requires TLS or a password",
            next_step="use `client: librdkafka`",
        )
    from workloads.java.scripted_producers import PyScriptedProducers

    of_groups = (workload.commits for workload in running if isinstance(workload, GroupOffsets))
    return PyScriptedProducers(
        setting.workload_spec,
        setting.arm.producer,
        cluster=cluster,
        topic=setting.topic,
        run_id=setting.run_id,
        seed=setting.seed,
        journal=clients.sends,
        transactions=clients.transactions,
        commits=next(of_groups, clients.sinks.commits),
    )


def java_producer_properties(setting: ArmSetting) -> Mapping[str, Any]:
    """The configuration of Java producers."""
    return java_properties(setting.arm.producer, setting.cluster.bootstrap)


def driven_producer_properties(setting: ArmSetting) -> Mapping[str, Any]:
    """The configuration of Java producers that make their calls one by one."""
    return scripted_properties(setting.workload_spec.drive, setting.arm.producer, setting.cluster.bootstrap)


def java_consumer(reader: ReaderSpec, cluster: LiveCluster) -> Callable[..., Any]:
    """What makes a reader's Java consumer from its settings.

    Raises:
        BadInput: the version of the client is not known.
        PrerequisiteMissing: a client of that version is not available.
    """
    unknown = BadInput(
        "the version of a reader's Java client is not known",
        where=f"reader {reader.name}: version",
        expected="a version, or a cluster that kafka-chaos starts, which has the same",
        found="an existing cluster, and no version",
        next_step="set `version`",
    )
    jar = client_jar_of(cluster, reader.version, unknown)
    from workloads.java.consumer import PROGRAM, with_access

    return with_access(partial(ConsumerProcess, program=PROGRAM), jar, cluster.access.java())


def client_jar_of(cluster: LiveCluster, version: str | None, unknown: BadInput) -> Path:
    """The jar of the Java client of a version (None: the cluster's own).

    Raises:
        BadInput: `unknown`, if the cluster's version is not known.
        PrerequisiteMissing: the client is not available in that version.
    """
    if version is None and isinstance(cluster, ManagedCluster):
        version = cluster.image.kafka_version
    if version is None:
        raise unknown
    from workloads.java.jvm import client_jar

    return client_jar(docker_engine.connect(), version)
