"""A second cluster, which has the output of an application that copies from one cluster to another."""

from __future__ import annotations

from pydantic import Field

from harness.model.config_value import Setting
from harness.model.frozen import Frozen
from harness.spec.cluster import ClusterSpec, Metadata


class OutputCluster(Frozen):
    """A cluster of one broker, of the same Kafka version as the experiment's, for the output of an
    application. Each run has one of its own; no fault acts on it."""

    properties: dict[str, Setting] = Field(
        default_factory=dict, description="broker properties, by Kafka's names"
    )


def output_cluster_spec(main: ClusterSpec, second: OutputCluster) -> ClusterSpec:
    """The second cluster of an experiment on the cluster `main`, which kafka-chaos starts."""
    return ClusterSpec(
        brokers=1,
        combined=main.metadata is Metadata.KRAFT,
        metadata=main.metadata,
        version=main.version,
        image=main.image,
        profile=main.profile,
        properties=second.properties,
    )
