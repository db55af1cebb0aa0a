"""Why a cluster cannot have the user's own programs as an experiment asks for them."""

from __future__ import annotations

from collections.abc import Iterator

from faults.schedules.problems import Problem
from harness.spec.cluster import ClusterSpec
from workloads.records.config.own_producer_spec import OwnProducerSpec


def own_problems(spec: OwnProducerSpec, cluster: ClusterSpec, where: str) -> Iterator[Problem]:
    """Of programs in containers; `where` is the key of the spec in the file."""
    if spec.image is None:
        return
    if cluster.existing is not None:
        yield Problem(f"{where}.image", "a container needs the network of a cluster that kafka-chaos starts")
    if cluster.security is not None:
        yield Problem(f"{where}.image", "a container has no certificates of a cluster with `security`")
