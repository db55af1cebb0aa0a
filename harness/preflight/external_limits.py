"""What an experiment cannot have on a cluster that is not ours; told before anything is touched."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from harness.cluster.external import advertised_addresses, client_security_of
from harness.model.errors import BadInput, words_of
from harness.spec.cluster import ClusterSpec, Profile
from harness.spec.experiment import Experiment
from harness.spec.external_cluster import CONTAINER_FAULTS, PROTOCOL_FAULTS, ExternalClusterSpec
from harness.spec.fault_index import placed_faults


def on_external_cluster(
    experiments: Sequence[Experiment],
    bootstrap_servers: str,
    client_config: str | None,
    containers: str | None,
) -> list[Experiment]:
    """The experiments on that cluster, whose brokers are counted now.

    Raises:
        BadInput: no such address, or an experiment asks for more than there is.
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
    spec = ClusterSpec(existing=existing, brokers=brokers, profile=Profile.KAFKA)
    found = []
    for experiment in experiments:
        try:
            data = experiment.model_dump(by_alias=True)
            found.append(Experiment.model_validate({**data, "cluster": spec.model_dump(exclude_unset=True)}))
        except ValidationError as error:
            raise BadInput(
                "the experiment does not fit this cluster",
                where=f"{experiment.name} on {bootstrap_servers}",
                expected=f"what a cluster of {brokers} broker(s) can have",
                found=words_of(error),
                next_step="change a copy of the experiment: `kafka-chaos schema` tells what it may hold",
            ) from error
    return found


def check_external_limits(experiment: Experiment, *, owned: bool) -> None:
    """Refuse what cannot be done on a cluster that is not ours.

    Raises:
        BadInput: a fault needs containers that were not named, or one beyond them; containers were named and
            nobody said that they may be hurt; or the Java client is asked for.
    """
    existing = experiment.cluster.existing
    if existing is None:
        return
    if existing.containers is not None and not owned:
        raise BadInput(
            "faults would hit containers that are not ours",
            where=f"label {existing.containers}",
            expected="--i-own-these-containers",
            found="nobody said that they may be hurt",
            next_step="say so if it is so; leave the label out to hit none",
        )
    allowed = PROTOCOL_FAULTS | (CONTAINER_FAULTS if existing.containers is not None else frozenset())
    for place, fault, _ in placed_faults(experiment):
        if fault.name() not in allowed:
            raise BadInput(
                f"the fault {fault.name()!r} cannot be had on a cluster that is not ours",
                where=f"{experiment.name}: {place}",
                expected=f"one of {', '.join(sorted(allowed))}",
                found=fault.name(),
                next_step="say how with `command`, or name the containers: docs/how-to/own-cluster.md",
            )
    if any(experiment.workload_of(arm).client == "java" for arm in experiment.arms):
        raise BadInput(
            "the Java client writes to clusters of ours only",
            where=f"{experiment.name}: workload.client",
            expected="librdkafka",
            found="java",
            next_step="leave `client` out",
        )
