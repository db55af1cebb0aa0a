"""Checks before a run whether kernel, engine and cluster support what an experiment needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from docker import DockerClient
from pydantic import ValidationError

from faults.shared.fault_spec import FaultSpec
from harness.cluster.containers import docker_engine, images
from harness.cluster.external_brokers import advertised_addresses, client_security_of
from harness.model.errors import BadInput, words_of
from harness.model.progress import report_progress
from harness.run.preflight import kernel_probes
from harness.run.preflight.kernel_probes import Capability
from harness.spec.cluster import ClusterSpec, ExternalClusterSpec, Profile
from harness.spec.experiment import Experiment
from harness.spec.fault_index import fault_specs, located_faults, with_faults, without_faults
from harness.spec.version_problems import versions_named


def probe_for(client: DockerClient, experiments: Sequence[Experiment]) -> tuple[Capability, ...]:
    """Probe the capabilities of kernel and engine now; empty if no fault of the experiments needs any."""
    needed = any(
        located_fault.fault.required()
        for experiment in experiments
        for located_fault in located_faults(experiment)
    )
    return kernel_probes.probe(client, images.toolbox(client)) if needed else ()


def prepare_versions(experiments: Sequence[Experiment]) -> None:
    """Pull or build the images of the versions that nodes get during the experiments, if they are missing:
    during a run that would disturb it.

    Raises:
        PrerequisiteMissing: no engine, or no image of a version.
    """
    for version in dict.fromkeys(named for given in experiments for named in versions_named(given.steps)):
        images.resolve(docker_engine.connect(), version)


def without_impossible_faults(
    experiment: Experiment, found: Sequence[Capability]
) -> tuple[Experiment, tuple[str, ...]]:
    """The experiment without the faults that are impossible here, and a sentence about each. Those that the
    proxies can cause in the kernel's place are left to these, which is reported.

    Raises:
        BadInput: a fault is impossible and may not be skipped; names its path and what is missing.
    """
    experiment = with_proxies_for_kernel(experiment, found)
    reasons = [
        (located_fault, "; ".join(unmet_needs(located_fault.fault.required(), found)))
        for located_fault in located_faults(experiment)
    ]
    cannot = [(located, reason) for located, reason in reasons if reason]
    for located, reason in cannot:
        if located.if_impossible != "skip":
            raise BadInput(
                f"the fault {located.fault.name()!r} is not possible on this machine",
                where=f"{experiment.name}: {located.where}",
                expected=f"a kernel and an engine with {', '.join(located.fault.required())}",
                found=reason,
                next_step="leave it out, or write `if_impossible: skip` beside it; "
                "`kafka-chaos faults` lists what is possible here",
            )
    if not cannot:
        return experiment, ()
    skipped = tuple(
        f"{located.where}: {located.fault.name()} was skipped ({reason})" for located, reason in cannot
    )
    return without_faults(experiment, {located.where for located, _ in cannot}), skipped


def with_proxies_for_kernel(experiment: Experiment, found: Sequence[Capability]) -> Experiment:
    """The experiment with `by: proxy` in every fault that needs what this kernel lacks, and that the proxies
    can cause too. On existing clusters it stays as it is."""
    if experiment.cluster.existing is not None:
        return experiment
    changed: dict[str, FaultSpec] = {}
    for where, fault, _ in located_faults(experiment):
        missing = unmet_needs(fault.required(), found)
        if missing and (instead := fault.by_proxy()) is not None:
            changed[where] = instead
            report_progress(f"{where}: {fault.name()} is caused by the proxies ({'; '.join(missing)})")
    return with_faults(experiment, changed) if changed else experiment


def unmet_needs(needs: Iterable[str], found: Sequence[Capability]) -> list[str]:
    """The needs that are not met, each with the reason; what was not probed counts as met."""
    works = {capability.name: capability for capability in found}
    return [f"{name}: {works[name].found}" for name in needs if name in works and works[name].works is False]


def on_external_cluster(
    experiments: Sequence[Experiment],
    bootstrap_servers: str,
    client_config: str | None,
    containers: str | None,
) -> list[Experiment]:
    """The experiments with this cluster in place of their own; its brokers are counted now.

    Raises:
        BadInput: not an address, or an experiment needs more than the cluster has.
        ClusterError: the cluster does not answer.
    """
    spec = external_cluster_spec(bootstrap_servers, client_config, containers)
    return [_on_cluster(experiment, spec) for experiment in experiments]


def on_connected_cluster(experiment: Experiment, broker_ids: Iterable[int]) -> Experiment:
    """The experiment with the broker ids of the existing cluster that it is connected to; of a cluster that
    kafka-chaos has started, the experiment as it is.

    Raises:
        BadInput: a target or an assignment names a broker that the cluster does not have.
    """
    existing = experiment.cluster.existing
    if existing is None or existing.broker_ids is not None:
        return experiment
    known = existing.model_copy(update={"broker_ids": tuple(broker_ids)})
    return _on_cluster(experiment, experiment.cluster.model_copy(update={"existing": known}))


def _on_cluster(experiment: Experiment, spec: ClusterSpec) -> Experiment:
    """The experiment with an existing cluster in place of its own."""
    assert spec.existing is not None
    try:
        data = experiment.model_dump(by_alias=True)
        cluster = spec.model_dump(exclude_unset=True) | {"proxy": experiment.cluster.proxy}
        return Experiment.model_validate({**data, "cluster": cluster})
    except ValidationError as error:
        brokers = ", ".join(map(str, spec.existing.broker_ids or ()))
        raise BadInput(
            "the experiment does not fit this cluster",
            where=f"{experiment.name} on {spec.existing.bootstrap_servers}",
            expected=f"what a cluster of {spec.brokers} broker(s) ({brokers}) can have",
            found=words_of(error),
            next_step="change a copy of the experiment: `kafka-chaos schema` prints every key",
        ) from error


def external_cluster_spec(
    bootstrap_servers: str, client_config: str | None, containers: str | None = None
) -> ClusterSpec:
    """An existing cluster; its brokers are counted now.

    Raises:
        BadInput: not an address, or a client configuration that cannot be used.
        ClusterError: the cluster does not answer.
    """
    try:
        existing = ExternalClusterSpec(
            bootstrap_servers=bootstrap_servers, client_config=client_config, containers=containers
        )
    except ValidationError as error:
        raise BadInput(
            "--bootstrap-servers cannot be used",
            expected="host:port, with commas between several",
            found=words_of(error),
        ) from error
    ids = tuple(sorted(advertised_addresses(existing, client_security_of(existing).login)))
    known = existing.model_copy(update={"broker_ids": ids})
    return ClusterSpec(existing=known, brokers=len(ids), profile=Profile.KAFKA)


def check_external_limits(experiment: Experiment, *, owned: bool) -> None:
    """Refuse what is impossible on an existing cluster. `owned`: --i-own-these-containers was given.

    Raises:
        BadInput: a fault needs containers and none were named, or is impossible on existing clusters;
            containers were named without --i-own-these-containers; or the Java client is requested.
    """
    existing = experiment.cluster.existing
    if existing is None:
        return
    if existing.containers is not None and not owned:
        raise BadInput(
            "faults would hit containers that kafka-chaos did not start",
            where=f"label {existing.containers}",
            expected="--i-own-these-containers",
            found="no confirmation that faults may hit them",
            next_step="`kafka-chaos run` has it, for containers of yours; leave the label out to spare them",
        )
    offered = ("requests",) if existing.containers is None else ("requests", "containers")
    allowed = {name for name, spec in fault_specs().items() if spec.external in offered}
    for where, fault, _ in located_faults(experiment):
        if fault.name() not in allowed:
            raise BadInput(
                f"the fault {fault.name()!r} is not available on a cluster that kafka-chaos did not start",
                where=f"{experiment.name}: {where}",
                expected=f"one of {', '.join(sorted(allowed))}",
                found=fault.name(),
                next_step="use `command`, or name the containers: docs/how-to/own-cluster.md",
            )
    if any(experiment.workload_of(arm).client == "java" for arm in experiment.arms):
        raise BadInput(
            "the Java client writes only to clusters that kafka-chaos starts",
            where=f"{experiment.name}: workload.client",
            expected="librdkafka",
            found="java",
            next_step="leave `client` out",
        )
