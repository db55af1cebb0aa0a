"""Creates the workload of a run: librdkafka in this process, or Java clients, in containers or scripted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from harness.cluster.live import LiveCluster
from harness.cluster.managed import ManagedCluster
from harness.java.verifiable_producer import tools_bootstrap
from harness.java.verifiable_workload import JavaWorkload
from harness.model.errors import BadInput
from harness.model.journal import RowSink
from workloads.config.java_settings import java_properties, scripted_properties
from workloads.config.spec import ProducerSettings, WorkloadSpec
from workloads.producer.producers import Workload, transactional_id
from workloads.producer.send_journal import SendJournal

if TYPE_CHECKING:
    from harness.java.scripted_workload import PyScriptedWorkload


WorkloadBackend: TypeAlias = "Workload | JavaWorkload | PyScriptedWorkload"
"""What writes in a run. `workloads.producer.producers.Workload` documents the methods of all three."""


def start_workload(
    spec: WorkloadSpec,
    settings: ProducerSettings,
    *,
    cluster: LiveCluster,
    topic: str,
    partitions: int,
    run_id: int,
    seed: int,
    folder: Path,
    journal: SendJournal | None,
    transactions: RowSink | None,
) -> WorkloadBackend:
    """Create a workload. `journal` is None for the Java client, which writes its own journal into `folder`.

    Raises:
        BadInput: the client refuses the settings.
    """
    if journal is None:
        if not isinstance(cluster, ManagedCluster):
            raise BadInput(
                "the Java client cannot write to this cluster",
                where="workload.client",
                expected="a cluster that kafka-chaos starts, whose image contains the client",
                found="an existing cluster",
                next_step="use `client: librdkafka`",
            )
        return JavaWorkload(spec, settings, cluster=cluster, topic=topic, folder=folder)
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
        )
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
    )


def properties_of(spec: WorkloadSpec, settings: ProducerSettings, cluster: LiveCluster) -> dict[str, Any]:
    """The configuration of a workload's client, by the client's own names."""
    if spec.client == "java":
        assert isinstance(cluster, ManagedCluster)
        return dict(java_properties(settings, tools_bootstrap(cluster)))
    if spec.client == "driven":
        return dict(scripted_properties(spec.drive, settings, cluster.bootstrap))
    named = transactional_id(0) if spec.transactions is not None else None
    return dict(settings.to_librdkafka(cluster.bootstrap, named))
