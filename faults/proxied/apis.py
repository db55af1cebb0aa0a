"""What is known of Kafka's APIs beside their names: which versions of Kafka speak them, which name topics.

Source: the definitions in kafka-clients (`common/message/*.json`) of 2.8.2, 3.9.2, 4.0.0, 4.1.1, 4.3.1 and
4.4.0; for the first version of an API between those, its KIP.
"""

from __future__ import annotations

from harness.model.errors import did_you_mean
from harness.model.kafka_protocol import API_KEYS, ERROR_CODES, HEADERS_ONLY, NEWER_THAN_KIO

_SINCE = {
    (3, 0): "DescribeTransactions ListTransactions AllocateProducerIds",
    (3, 7): "ConsumerGroupHeartbeat ConsumerGroupDescribe ControllerRegistration GetTelemetrySubscriptions "
    "PushTelemetry AssignReplicasToDirs ListConfigResources",
    (3, 8): "DescribeTopicPartitions",
    (3, 9): "AddRaftVoter RemoveRaftVoter UpdateRaftVoter",
    (4, 1): "ShareGroupHeartbeat ShareGroupDescribe ShareFetch ShareAcknowledge InitializeShareGroupState "
    "ReadShareGroupState WriteShareGroupState DeleteShareGroupState ReadShareGroupStateSummary "
    "StreamsGroupHeartbeat StreamsGroupDescribe DescribeShareGroupOffsets AlterShareGroupOffsets "
    "DeleteShareGroupOffsets",
}
_KRAFT = """
Vote BeginQuorumEpoch EndQuorumEpoch DescribeQuorum FetchSnapshot BrokerRegistration BrokerHeartbeat
UnregisterBroker ControllerRegistration AssignReplicasToDirs AddRaftVoter RemoveRaftVoter UpdateRaftVoter
"""
_TOPICS = """
Produce Fetch ListOffsets Metadata OffsetCommit OffsetFetch CreateTopics DeleteTopics DeleteRecords
OffsetForLeaderEpoch AddPartitionsToTxn WriteTxnMarkers TxnOffsetCommit AlterReplicaLogDirs DescribeLogDirs
CreatePartitions ElectLeaders AlterPartitionReassignments ListPartitionReassignments OffsetDelete Vote
BeginQuorumEpoch EndQuorumEpoch DescribeQuorum AlterPartition FetchSnapshot DescribeProducers
ConsumerGroupHeartbeat AssignReplicasToDirs DescribeTopicPartitions ShareGroupHeartbeat ShareFetch
ShareAcknowledge InitializeShareGroupState ReadShareGroupState WriteShareGroupState DeleteShareGroupState
ReadShareGroupStateSummary StreamsGroupHeartbeat DescribeShareGroupOffsets AlterShareGroupOffsets
DeleteShareGroupOffsets
"""

FIRST = {name: version for version, names in _SINCE.items() for name in names.split()}
"""The first version of Kafka that speaks an API, of those that 2.8 did not speak."""
KRAFT_ONLY = frozenset(_KRAFT.split())
"""APIs that clusters with ZooKeeper do not speak."""
ZOOKEEPER_ONLY = HEADERS_ONLY
"""APIs that KRaft clusters do not speak; Kafka 4.0 removed them (KIP-833)."""
NAMING_TOPICS = frozenset(_TOPICS.split())
"""APIs whose requests name topics."""


def refusal(api: str, version: tuple[int, ...], metadata: str) -> str | None:
    """Why a broker of this version (empty: not known) with `metadata` (`kraft` or `zookeeper`) does not speak
    an API; None: it does."""
    if api in (KRAFT_ONLY if metadata == "zookeeper" else ZOOKEEPER_ONLY):
        return f"a cluster with `metadata: {metadata}` does not speak {api}"
    first = FIRST.get(api)
    if first is not None and version and version < first:
        found, wanted = (".".join(map(str, numbers)) for numbers in (version, first))
        return f"Kafka {found} does not speak {api}, {wanted} is the first"
    return None


def unreadable(api: str, version: tuple[int, ...]) -> str | None:
    """Why proxies cannot read every body of an API on this version of Kafka (empty: not known); None: they
    can."""
    since, newest = NEWER_THAN_KIO.get(api, ((), 0))
    if not since or not version or version < since:
        return None
    found = ".".join(map(str, version))
    return (
        f"proxies cannot read version {newest} of {api}, which Kafka {found} has, so no topic or error of it"
    )


def checked_api(name: str) -> str:
    """The name itself.

    Raises:
        ValueError: Kafka has no API of this name; names the nearest one.
    """
    if name not in API_KEYS:
        hint = did_you_mean(name, API_KEYS, "names are those of Kafka's protocol, such as Produce or EndTxn")
        raise ValueError(f"Kafka has no API {name!r}: {hint}")
    return name


def checked_error(name: str) -> str:
    """The name itself, of an error of Kafka's protocol.

    Raises:
        ValueError: there is no such error, or it means success.
    """
    if name not in ERROR_CODES:
        hint = did_you_mean(name, ERROR_CODES, "Kafka's documentation lists them (Protocol, Error Codes)")
        raise ValueError(f"Kafka has no error {name!r}: {hint}")
    return name
