"""What faults check of a cluster and topic before they start."""

from __future__ import annotations

from faults.targets.target_context import ClusterShape
from harness.model.node_layout import FIRST_ZOOKEEPER_ID
from harness.spec.cluster import ClusterSpec, Metadata
from harness.spec.topic import TopicSpec


def shape_of(cluster: ClusterSpec, topic: TopicSpec) -> ClusterShape:
    """The shape of a cluster and topic, without an application and without brokers' own ids."""
    zookeeper = cluster.metadata is Metadata.ZOOKEEPER
    return ClusterShape(
        brokers=cluster.brokers,
        controllers=cluster.controllers,
        combined=cluster.combined or zookeeper,
        zookeepers=(FIRST_ZOOKEEPER_ID,) if zookeeper else (),
        partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        disk_mib=cluster.disk_mib,
        skewable=cluster.skewable_clocks,
        acls=cluster.existing is not None or (cluster.security is not None and cluster.security.acls),
    )
