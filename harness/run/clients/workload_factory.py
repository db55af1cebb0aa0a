"""Creates the workload of a run: producers of librdkafka or of the Java client, scripted ones, or the
user's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from confluent_kafka import Producer

from harness.cluster.live import LiveCluster
from harness.cluster.managed import ManagedCluster
from harness.model.errors import BadInput
from harness.model.journal import RowSink
from harness.run.clients.client_programs import java_client
from workloads.config.java_settings import java_properties, scripted_properties
from workloads.config.workload_spec import ProducerSettings, WorkloadSpec
from workloads.own.own_producers import OwnProducers
from workloads.own.producer_folder import PRODUCERS_DIR, ProducerFolder
from workloads.producer.producers import Workload, transactional_id
from workloads.producer.send_journal import SendJournal

if TYPE_CHECKING:
    from harness.java.scripted_workload import PyScriptedWorkload


WorkloadBackend: TypeAlias = "Workload | PyScriptedWorkload | OwnProducers"
"""What writes in a run. `workloads.producer.producers.Workload` documents the methods of all."""


def start_workload(
    spec: WorkloadSpec,
    settings: ProducerSettings,
    *,
    cluster: LiveCluster,
    topic: str,
    partitions: int,
    run_id: int,
    seed: int,
    journal: SendJournal,
    transactions: RowSink | None,
    folder: Path,
    commits: RowSink | None = None,
) -> WorkloadBackend:
    """Create a workload; `folder` is the run's. `commits` takes what producers commit for groups.

    Raises:
        BadInput: the client refuses the settings, or the cluster's image does not name the version of the
            Java client.
        ClusterError: a JVM does not start.
    """
    if spec.client == "own":
        return OwnProducers(ProducerFolder(folder / PRODUCERS_DIR), spec.producers, journal, transactions)
    if spec.client == "driven":
        if not isinstance(cluster, ManagedCluster) or cluster.access.protocol != "PLAINTEXT":
            raise BadInput(
                "driven producers cannot write to this cluster",
                where="workload.client",
                expected="a cluster that kafka-chaos starts, without `security`",
                found="an existing cluster, or one that requires TLS or a password",
                next_step="use `client: librdkafka`",
            )
        # Imported here because it loads py4j, which nothing else needs.
        from harness.java.scripted_workload import PyScriptedWorkload

        return PyScriptedWorkload(
            spec,
            settings,
            cluster=cluster,
            topic=topic,
            run_id=run_id,
            seed=seed,
            journal=journal,
            transactions=transactions,
            commits=commits,
        )
    client: Callable[..., Any] = Producer
    if spec.client == "java":
        client = _java_client(settings, cluster)
    return Workload(
        spec,
        settings,
        bootstrap=cluster.bootstrap,
        security=cluster.access.properties,
        topic=topic,
        partitions=partitions,
        run_id=run_id,
        seed=seed,
        journal=journal,
        transactions=transactions,
        client=client,
    )


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
    # Imported here because it loads py4j, which nothing else needs.
    from harness.java.java_client import JavaClient

    properties, access = java_properties(settings, cluster.bootstrap), cluster.access.java()
    return lambda *_, **__: JavaClient(jar, properties, access)


def properties_of(spec: WorkloadSpec, settings: ProducerSettings, cluster: LiveCluster) -> dict[str, Any]:
    """The configuration of a workload's client, by the client's own names."""
    if spec.client == "java":
        return dict(java_properties(settings, cluster.bootstrap))
    if spec.client == "driven":
        return dict(scripted_properties(spec.drive, settings, cluster.bootstrap))
    named = transactional_id(0) if spec.transactions is not None else None
    return dict(settings.to_librdkafka(cluster.bootstrap, named))
