"""The clusters that bugs share."""

from __future__ import annotations

from harness.bugs.expectations import REQUEST_LOGGER
from harness.claims.clusters import COMMON, with_properties
from harness.spec.cluster import ClusterSpec, Metadata

TRANSACTIONS = ClusterSpec(
    brokers=2,
    loggers=REQUEST_LOGGER,
    properties={
        # Only the experiment moves leadership.
        "auto.leader.rebalance.enable": "false",
        # How often the coordinator looks for transactions that have timed out; the default is 10 s.
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    },
)
"""Two brokers and a controller with default settings for transactions; brokers print the requests that they
have answered."""
PATIENT = with_properties(
    TRANSACTIONS, {"broker.session.timeout.ms": "30000", "replica.lag.time.max.ms": "60000"}
)
"""The same, but a broker that is slow, or cut off for some seconds, stays in every ISR and keeps leading."""
FIRST_TRANSACTIONS = TRANSACTIONS.model_copy(update={"features": {"transaction.version": 0}})
"""The same cluster with transactions as before KIP-890."""
BEFORE_KRAFT_ONLY = TRANSACTIONS.model_copy(update={"version": "3.9.2"})
"""The same on Kafka 3.9, which has only those transactions."""
UNVERIFIED = with_properties(BEFORE_KRAFT_ONLY, {"transaction.partition.verification.enable": "false"})
"""The same, but leaders do not ask the coordinator whether a transaction is open (KIP-890, part 1)."""
PRINTING = COMMON.model_copy(update={"racks": False, "loggers": REQUEST_LOGGER})
"""Three brokers and a controller, which print the requests that they have answered."""
OLD_METADATA = PRINTING.model_copy(update={"metadata_version": "3.4-IV0"})
"""The same with the metadata of Kafka 3.4."""
BEFORE_ELIGIBLE = PRINTING.model_copy(update={"metadata_version": "3.9-IV0"})
"""The same with the metadata of Kafka 3.9, from before the eligible leader replicas (KIP-966)."""
OLD_PROTOCOL = ClusterSpec(
    metadata=Metadata.ZOOKEEPER,
    version="2.8.2",
    brokers=2,
    properties={
        "auto.leader.rebalance.enable": "false",
        "inter.broker.protocol.version": "1.1",
        "log.message.format.version": "1.1",
    },
)
"""Two brokers that use the inter-broker protocol of Kafka 1.1."""
OWN_PROTOCOL = OLD_PROTOCOL.model_copy(update={"properties": {"auto.leader.rebalance.enable": "false"}})
"""Two brokers of Kafka 2.8 with their own protocol version."""
ONE_COORDINATOR = ClusterSpec(
    properties={
        # One broker coordinates every group, and another one after it.
        "offsets.topic.num.partitions": "1",
        # A commit waits until the network is healed; the default is 5 s.
        "offsets.commit.timeout.ms": "20000",
        # A broker that is back fetches as soon as it can; the default is to try again after 1 s.
        "replica.fetch.backoff.ms": "100",
        "auto.leader.rebalance.enable": "false",
    }
)
"""Three brokers and a controller, with one partition of `__consumer_offsets`."""
EXPIRING = ClusterSpec(
    brokers=1,
    properties={"offsets.topic.num.partitions": "1", "offsets.retention.check.interval.ms": "1000"},
)
"""One broker, which looks for expired offsets every second."""
SHORT_SESSIONS = ClusterSpec(
    brokers=1,
    properties={
        # A killed member's partition goes to its successor sooner; the default is 45 s.
        "group.consumer.min.session.timeout.ms": "6000",
        "group.consumer.session.timeout.ms": "6000",
        "group.consumer.min.heartbeat.interval.ms": "1000",
        "group.consumer.heartbeat.interval.ms": "1000",
    },
)
"""One broker, whose consumer groups notice soon that a member was killed (KIP-848)."""
SHARE_GROUPS = ClusterSpec(brokers=1, properties={"group.share.min.record.lock.duration.ms": "1000"})
"""One broker, for share groups with short locks."""
SHARE_GROUPS_PREVIEW = SHARE_GROUPS.model_copy(update={"version": "4.1.1", "features": {"share.version": 1}})
"""The same on Kafka 4.1, where share groups are a preview."""
