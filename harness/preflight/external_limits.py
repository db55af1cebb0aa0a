"""Checks what an experiment needs against what an existing cluster allows, before anything is touched."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from harness.cluster.external import advertised_addresses, client_security_of
from harness.model.errors import BadInput, words_of
from harness.spec.cluster import ClusterSpec, ExternalClusterSpec, Profile
from harness.spec.experiment import Experiment
from harness.spec.fault_index import fault_specs, located_faults


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
    found = []
    for experiment in experiments:
        try:
            data = experiment.model_dump(by_alias=True)
            found.append(Experiment.model_validate({**data, "cluster": spec.model_dump(exclude_unset=True)}))
        except ValidationError as error:
            raise BadInput(
                "the experiment does not fit this cluster",
                where=f"{experiment.name} on {bootstrap_servers}",
                expected=f"what a cluster of {spec.brokers} broker(s) can have",
                found=words_of(error),
                next_step="change a copy of the experiment: `kafka-chaos schema` prints every key",
            ) from error
    return found


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
    brokers = len(advertised_addresses(existing, client_security_of(existing).login))
    return ClusterSpec(existing=existing, brokers=brokers, profile=Profile.KAFKA)


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
