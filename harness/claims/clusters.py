"""The clusters that claims share, and how their experiments are written."""

from __future__ import annotations

from typing import Any

import yaml

from harness.spec.cluster import ClusterSpec, Metadata
from harness.spec.experiment import Experiment

COMMON = ClusterSpec(
    racks=True,
    properties={
        # As shipped: steps between a cut and a kill take a while, and the ISR must be full that long.
        "replica.lag.time.max.ms": "30000",
        # Who leads is what the experiment does, and nothing else.
        "auto.leader.rebalance.enable": "false",
        # How often the controller looks for partitions that an unclean election would help; 5 minutes.
        "unclean.leader.election.interval.ms": "1000",
        # Checkpoints and retention soon enough to be waited for.
        "replica.high.watermark.checkpoint.interval.ms": "500",
        "log.retention.check.interval.ms": "500",
        "log.initial.task.delay.ms": "500",
        "log.cleaner.backoff.ms": "200",
    },
)
"""Three brokers and a controller, profile `fast` with Kafka's own lag, a rack each; it serves most claims."""
LAG = COMMON.model_copy(
    update={
        "properties": {
            **COMMON.properties,
            "replica.lag.time.max.ms": "8000",
            # So small that a slow link is felt before that time is over.
            "replica.fetch.max.bytes": "262144",
            "replica.fetch.response.max.bytes": "262144",
        }
    }
)
"""The same with a lag that is over soon, for claims on who leaves the ISR."""
FOUR = COMMON.model_copy(update={"brokers": 4})
"""As the common cluster, with a fourth broker."""
FIVE_CONTROLLERS = COMMON.model_copy(update={"controllers": 5})
"""As the common cluster, with five controllers."""
NO_ELR = COMMON.model_copy(update={"features": {"eligible.leader.replicas.version": 0}})
"""As the common cluster, without eligible leader replicas (KIP-966)."""

MANY = COMMON.model_copy(
    update={
        "properties": {**COMMON.properties, "log.index.size.max.bytes": "8192"},
        # Each partition is several files that are synced one by one; a disk takes a minute for thousands.
        "disk_mib": 1024,
    }
)
"""As the common cluster, for thousands of partitions, with log dirs in memory."""

ZOOKEEPER = ClusterSpec(
    metadata=Metadata.ZOOKEEPER,
    version="3.9.2",
    properties={name: value for name, value in COMMON.properties.items() if "election.interval" not in name},
)
"""As the common cluster, with ZooKeeper, whose controllers elect uncleanly at once."""
TWO_OF_OLD = ClusterSpec(
    metadata=Metadata.ZOOKEEPER,
    version="2.8.2",
    brokers=2,
    properties={
        "replica.lag.time.max.ms": "60000",
        "auto.leader.rebalance.enable": "false",
        "replica.high.watermark.checkpoint.interval.ms": "500",
    },
)
"""Two brokers that still write message format 0.10.2 where a topic asks for it; leader epochs came with 0.11
(KIP-101)."""
PATIENT_LEADER = TWO_OF_OLD.model_copy(
    update={
        "properties": {
            **TWO_OF_OLD.properties,
            # There must be time for a cut and a kill before the next one.
            "replica.high.watermark.checkpoint.interval.ms": "10000",
            # A thread for each topic (but in 1 % of runs): one that waits for a leader that is cut off, with
            # a fetch for a topic with leader epochs, would not truncate one without.
            "num.replica.fetchers": "100",
        },
        "broker_properties": {1: {"zookeeper.session.timeout.ms": "36000"}},
    }
)
"""The same; broker 1 counts as alive for 36 s after it was last heard of."""


def experiment(text: str, cluster: ClusterSpec = COMMON) -> Experiment:
    """An experiment from the YAML of an experiment file without its cluster. Left out too: one partition on
    brokers 1, 2, 3, of which 1 leads first, one in-sync replica enough, one producer."""
    data: dict[str, Any] = yaml.safe_load(text)
    data.setdefault("topic", {})
    data["topic"].setdefault("assignment", [[1, 2, 3]])
    data["topic"].setdefault("config", {"min.insync.replicas": 1})
    data["cluster"] = cluster.model_dump(mode="json")
    return Experiment.model_validate(data)
