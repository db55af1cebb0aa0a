"""Makes the clients of a run: the workload (producers of librdkafka or of the Java client, scripted ones, or
the user's), and what readers and share groups run where it is not librdkafka in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from confluent_kafka import Producer

from harness.cluster.live import LiveCluster
from harness.cluster.managed import ManagedCluster
from harness.containers import engine
from harness.host.fetched import confluent_kafka
from harness.model.errors import BadInput
from harness.model.journal import RowSink
from harness.run.arm_setting import ArmSetting
from workloads.config.java_settings import java_properties
from workloads.config.reader_spec import ReaderSpec
from workloads.config.share_spec import ShareSpec
from workloads.config.workload_spec import ProducerSettings
from workloads.own.own_producers import OwnProducers
from workloads.own.producer_folder import PRODUCERS_DIR, ProducerFolder
from workloads.producer.polls import Receiver
from workloads.producer.producers import Workload
from workloads.producer.send_journal import SendJournal
from workloads.reader.consumer_process import ConsumerProcess
from workloads.share.member_process import LIBRDKAFKA_MEMBER

if TYPE_CHECKING:
    from harness.java.scripted_workload import PyScriptedWorkload

# What loads py4j, which nothing else needs, is imported in the functions.

WorkloadBackend: TypeAlias = "Workload | PyScriptedWorkload | OwnProducers"
"""What writes in a run. `workloads.producer.producers.Workload` documents the methods of all."""


def start_workload(
    setting: ArmSetting,
    journal: SendJournal,
    transactions: RowSink | None,
    commits: RowSink,
    polled: Mapping[int, Receiver] | None = None,
) -> WorkloadBackend:
    """Create an arm's workload. `commits` takes what producers commit for groups; `polled`, by the number of
    a producer, is the reader from which its transactions take records.

    Raises:
        BadInput: the client refuses the settings, or the cluster's image does not name the version of the
            Java client.
        ClusterError: a JVM does not start.
    """
    spec, settings, cluster = setting.workload_spec, setting.arm.producer, setting.cluster
    if spec.client == "own":
        folder = ProducerFolder(setting.folder / PRODUCERS_DIR)
        return OwnProducers(folder, spec.producers, journal, transactions)
    if spec.client == "driven":
        if not isinstance(cluster, ManagedCluster) or cluster.access.protocol != "PLAINTEXT":
            raise BadInput(
                "driven producers cannot write to this cluster",
                where="workload.client",
                expected="a cluster that kafka-chaos starts, without `security`",
                found="an existing cluster, or one that requires TLS or a password",
                next_step="use `client: librdkafka`",
            )
        from harness.java.scripted_workload import PyScriptedWorkload

        return PyScriptedWorkload(
            spec,
            settings,
            cluster=cluster,
            topic=setting.topic,
            run_id=setting.run_id,
            seed=setting.seed,
            journal=journal,
            transactions=transactions,
            commits=commits,
        )
    return Workload(
        spec,
        settings,
        bootstrap=cluster.bootstrap,
        security=cluster.access.properties,
        topic=setting.topic,
        partitions=1 if setting.source is not None else setting.partitions,
        run_id=setting.run_id,
        seed=setting.seed,
        journal=journal,
        transactions=transactions,
        client=_client_of(setting),
        polled=polled,
    )


def _client_of(setting: ArmSetting) -> Callable[..., Any]:
    """What makes a producer's client, in place of confluent-kafka's `Producer` or that itself."""
    if (source := setting.source) is not None:
        return lambda *_, **__: source
    if setting.workload_spec.client == "java":
        return _java_client(setting.arm.producer, setting.cluster)
    return Producer


def _java_client(settings: ProducerSettings, cluster: LiveCluster) -> Callable[..., Any]:
    """Creates Java producers of the cluster's version, in place of confluent-kafka's `Producer`."""
    unknown = BadInput(
        "the Java client cannot write to this cluster",
        where="workload.client",
        expected="a cluster that kafka-chaos starts, whose version is that of the client",
        found="an existing cluster",
        next_step="use `client: librdkafka`",
    )
    jar = java_client(cluster, None, unknown)
    from harness.java.java_client import JavaClient

    properties, access = java_properties(settings, cluster.bootstrap), cluster.access.java()
    return lambda *_, **__: JavaClient(jar, properties, access)


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
    """What makes a consumer from its settings, by the name of each reader that has not this process's client.

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
