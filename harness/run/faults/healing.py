"""Heals faults that an ended process left open, from the records that it wrote before it injected them, and
checks that healed faults have left nothing behind (`harness.cluster.traces`)."""

from __future__ import annotations

from dataclasses import dataclass

from docker import DockerClient

import faults  # noqa: F401 - makes every fault known
from faults.shared.fault_spec import KINDS, Injection, InjectionContext
from harness.cluster import running_cluster, state_records
from harness.cluster.cluster_with_application import ClusterWithApplication
from harness.cluster.containers import docker_engine
from harness.cluster.live import LiveCluster
from harness.cluster.traces import traces
from harness.model.errors import ClusterError, KafkaChaosError, first_line
from harness.model.host import processes
from harness.model.host.orphans import end_orphans
from harness.model.progress import report_progress


@dataclass(frozen=True, slots=True)
class HealedCluster:
    """The result of healing one cluster: a sentence for each healed fault, failures, and remaining traces.

    `gone`: its containers do not exist any more, and its records were deleted.
    """

    name: str
    gone: bool = False
    healed: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    traces: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        return not self.failures and not self.traces


def heal_recorded(
    client: DockerClient | None, *, cluster: str | None = None, everything: bool = False
) -> list[HealedCluster]:
    """Heal every open fault of the recorded clusters of this machine whose owner process has ended; with
    `everything` of all recorded clusters, or only of the one called `cluster`. Does nothing where no fault is
    open. Without a Docker `client`, only clusters that we did not start are healed.

    Raises:
        ClusterError: there is no record of `cluster`, or a record cannot be read.
    """
    recorded = list(state_records.recorded_clusters())
    if cluster is not None and cluster not in [record.name for record in recorded]:
        raise ClusterError(
            "there is no record of this cluster",
            where=cluster,
            expected="the name of a cluster that a harness on this machine has started",
            found=", ".join(record.name for record in recorded) or "none is recorded",
            next_step="leave the name out to heal all whose harness has ended",
        )
    done = []
    for record in recorded:
        if cluster not in (None, record.name):
            continue
        if cluster is None and not everything and not processes.owner_has_ended(record.owner):
            continue
        if client is None and record.spec.existing is None:
            done.append(HealedCluster(record.name, failures=("there is no Docker engine to heal it with",)))
            continue
        live = running_cluster.attach(client, record)
        if live is None:
            state_records.forget(record.name)
            done.append(HealedCluster(record.name, gone=True))
            continue
        if client is not None and record.spec.existing is None:
            for left in docker_engine.remove_applications(client, record.name):
                report_progress(left)
        try:
            done.append(heal_cluster(live))
        finally:
            live.end_shells()
    return done


def heal_cluster(cluster: LiveCluster) -> HealedCluster:
    """Undo all recorded faults of a cluster, the last first; then check that all are gone without a trace."""
    healed: list[str] = []
    failures: list[str] = []
    undone: list[tuple[state_records.OpenFaultRecord, Injection, InjectionContext]] = []
    # Applications end with their run, so what an ended harness has left of them is ended first.
    without_application = ClusterWithApplication(cluster, None)
    end_orphans(cluster.name)
    for record in state_records.open_faults(cluster.name):
        report_progress(f"{cluster.name} · undoing {record.name}")
        context = InjectionContext(
            without_application, record.topic, record.session_seconds, record.tag, beside=record.beside
        )
        try:
            injection = injection_of(record)
            injection.undo(context)
            undone.append((record, injection, context))
        except KafkaChaosError as error:
            failures.append(f"{record.name} could not be undone: {error}")
    for record, injection, context in undone:
        report_progress(f"{cluster.name} · waiting for {injection.target} after {record.name}")
        try:
            evidence = injection.healed(context)
        except KafkaChaosError as error:
            failures.append(f"{record.name} was undone, but {error}")
            continue
        state_records.close_fault(cluster.name, record.tag)
        healed.append(f"{record.name}: {evidence.what}")
    failures += cluster.delete_run_resources()
    left = tuple(traces(cluster, cluster.nodes_with_containers))
    if cluster.spec.existing is not None and not failures:
        state_records.forget(cluster.name)
    return HealedCluster(cluster.name, False, tuple(healed), tuple(failures), left)


def injection_of(record: state_records.OpenFaultRecord) -> Injection:
    """The injection that a record describes.

    Raises:
        ClusterError: this version knows no such fault, or its record has other fields.
    """
    spec = KINDS.get(record.kind)
    try:
        if spec is None:
            raise ValueError(f"no fault is called {record.kind!r}")
        return spec.injection_from(record.injection)
    except ValueError as error:
        raise ClusterError(
            "the record of an open fault does not fit this version",
            where=record.name,
            found=first_line(error),
            next_step="heal it with the version that injected it, or `kafka-chaos clean --all`",
        ) from error


def summary_lines(done: list[HealedCluster]) -> list[str]:
    """The results as lines of text."""
    lines = []
    for cluster in done:
        if cluster.gone:
            lines.append(f"{cluster.name}: its containers are gone, and its faults with them")
            continue
        lines += [f"{cluster.name}: healed {what}" for what in cluster.healed]
        lines += [f"{cluster.name}: {what}" for what in (*cluster.failures, *cluster.traces)]
        if cluster.clean:
            lines.append(f"{cluster.name}: clean" + ("" if cluster.healed else ", nothing was open"))
    return lines or ["nothing to heal: no harness that has ended left a cluster on this machine"]
