"""The clusters that claims share, and how their experiments are written."""

from __future__ import annotations

from typing import Any

import yaml

from harness.spec.cluster import ClusterSpec, Metadata
from harness.spec.experiment import Experiment

COMMON = ClusterSpec(
    racks=True,
    properties={
        # Kafka's default: the ISR must stay full during the steps between a cut and a kill.
        "replica.lag.time.max.ms": "30000",
        # Only the experiment moves leadership.
        "auto.leader.rebalance.enable": "false",
        # How often the controller looks for partitions that need an unclean election; the default is 5
        # minutes.
        "unclean.leader.election.interval.ms": "1000",
        # Frequent checkpoints and retention checks, so that steps can wait for them.
        "replica.high.watermark.checkpoint.interval.ms": "500",
        "log.retention.check.interval.ms": "500",
        "log.initial.task.delay.ms": "500",
        "log.cleaner.backoff.ms": "200",
    },
)
"""Three brokers in a rack each and a controller, profile `fast` with Kafka's default lag; used by most
claims."""


GROUPS = ClusterSpec(
    brokers=1,
    # Members of the consumer protocol learn sooner of a rebalance; the default is 5 s.
    properties={
        "group.consumer.min.heartbeat.interval.ms": "1000",
        "group.consumer.heartbeat.interval.ms": "1000",
    },
)
"""One broker and a controller, for claims on consumers of which no broker fails."""


SHARE = ClusterSpec(brokers=1, properties={"group.share.min.record.lock.duration.ms": "2000"})
"""One broker and a controller, for claims on share groups: locks may be as short as 2 s."""


def with_properties(base: ClusterSpec, properties: dict[str, str], **settings: Any) -> ClusterSpec:
    """A cluster as another one, with these broker properties and settings."""
    return base.model_copy(update={"properties": base.properties | properties, **settings})


LAG = with_properties(
    COMMON,
    {
        "replica.lag.time.max.ms": "8000",
        # Small fetches, so that a slow link has an effect before that time is over.
        "replica.fetch.max.bytes": "262144",
        "replica.fetch.response.max.bytes": "262144",
    },
)
"""The same with a short lag, for claims on which follower leaves the ISR."""
FOUR = COMMON.model_copy(update={"brokers": 4})
"""As the common cluster, with a fourth broker."""
FIVE_CONTROLLERS = COMMON.model_copy(update={"controllers": 5})
"""As the common cluster, with five controllers."""
NO_ELR = COMMON.model_copy(update={"features": {"eligible.leader.replicas.version": 0}})
"""As the common cluster, without eligible leader replicas (KIP-966)."""

MANY = with_properties(
    COMMON,
    {"log.index.size.max.bytes": "8192"},
    # Each partition has several files that are synced one by one: on a disk thousands take a minute.
    disk_mib=1024,
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
"""Two brokers that still write message format 0.10.2 if a topic's setting says so; leader epochs came with
0.11 (KIP-101)."""
PATIENT_LEADER = with_properties(
    TWO_OF_OLD,
    {
        # Time for a cut and a kill before the next checkpoint.
        "replica.high.watermark.checkpoint.interval.ms": "10000",
        # One thread per topic (in 99 % of runs): a thread whose fetch for the topic with leader epochs
        # waits for a leader that is cut off would not truncate the other topic.
        "num.replica.fetchers": "100",
    },
    broker_properties={1: {"zookeeper.session.timeout.ms": "36000"}},
)
"""The same; broker 1 counts as alive for 36 s after its last heartbeat."""


ONE_BROKER = ClusterSpec(
    brokers=1,
    controllers=1,
    combined=True,
    # How often the coordinator looks for transactions that have timed out; the default is 10 s.
    properties={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"},
)
"""One broker, which is the controller too, for claims about applications."""


def experiment(text: str, cluster: ClusterSpec = COMMON, **values: object) -> Experiment:
    """An experiment from the YAML of an experiment file without its cluster; with `values`, the text is a
    template for `str.format`. Defaults: one partition on brokers 1, 2, 3, of which 1 leads first,
    min.insync.replicas=1, one producer."""
    data: dict[str, Any] = yaml.safe_load(text.format(**values) if values else text)
    data.setdefault("topic", {})
    data["topic"].setdefault("assignment", [[1, 2, 3]])
    data["topic"].setdefault("config", {"min.insync.replicas": 1})
    data["cluster"] = cluster.model_dump(mode="json")
    return Experiment.model_validate(data)
