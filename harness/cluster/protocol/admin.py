"""Administrative requests over the Kafka protocol: coordinators, elections, moves of replicas, partitions,
features. Those about settings are in `harness.cluster.protocol.settings_admin`, about quotas in
`harness.cluster.protocol.quota_admin`.

Versions used (FindCoordinator 3, ElectLeaders 2, AlterPartitionReassignments 0, ListPartitionReassignments 0,
CreatePartitions 0, ApiVersions 3) are understood by brokers from 2.8 to 4.x, UpdateFeatures 1 by those from
3.3.
Under KRaft a broker forwards elections, reassignments and features to the active controller (KIP-590), so any
broker can be asked; without a controller it does not answer.

Errors have Kafka's names (`ELECTION_NOT_NEEDED`). Every function raises OSError when the broker does
not answer.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

from kio.schema.alter_partition_reassignments import v0 as alter_v0
from kio.schema.api_versions import v3 as versions_v3
from kio.schema.create_partitions import v0 as partitions_v0
from kio.schema.elect_leaders import v2 as elect_v2
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator import v3 as coordinator_v3
from kio.schema.find_coordinator import v6 as coordinator_v6
from kio.schema.list_partition_reassignments import v0 as moves_v0
from kio.schema.metadata import v10 as metadata_v10
from kio.schema.types import BrokerId, TopicName
from kio.schema.update_features import v1 as features_v1
from kio.static.primitive import i8, i16, i32, i32Timedelta

from harness.cluster.protocol.connection import CLIENT_ID, BrokerConnection, error_name
from harness.model.broker_views import FeatureLevels
from harness.model.errors import ClusterError

ANSWER_SECONDS = 6.0
"""How long to wait for one broker's answer to a request that it forwards to the controller."""
_DONE_WITHIN = i32Timedelta.parse(timedelta(seconds=5))
_PREFERRED, _UNCLEAN = i8(0), i8(1)
_GROUP, _TRANSACTION, _SHARE = i8(0), i8(1), i8(2)
_UPGRADE, _SAFE_DOWNGRADE = i8(1), i8(2)

_T = TypeVar("_T")


def topic_id_of(connection: BrokerConnection, topic: str) -> UUID | str:
    """The id of a topic (KIP-516), or the error's name; topics of clusters with ZooKeeper have none before
    Kafka 2.8, which is then UNKNOWN_TOPIC_ID."""
    named = metadata_v10.request.MetadataRequestTopic(topic_id=None, name=TopicName(topic))
    request = metadata_v10.MetadataRequest(
        topics=(named,),
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )
    (entry,) = connection.ask(request, metadata_v10.MetadataResponse).topics
    return error_name(entry.error_code) or entry.topic_id or "UNKNOWN_TOPIC_ID"


def coordinator(connection: BrokerConnection, key: str, *, transactional: bool) -> int | str:
    """Id of the broker that coordinates a group or a transactional id, or the error's name.

    The first request of a kind makes the brokers create `__consumer_offsets` or `__transaction_state`;
    meanwhile the answer is COORDINATOR_NOT_AVAILABLE.
    """
    request = coordinator_v3.FindCoordinatorRequest(
        key=key, key_type=_TRANSACTION if transactional else _GROUP
    )
    answer = connection.ask(request, coordinator_v3.FindCoordinatorResponse)
    return error_name(answer.error_code) or int(answer.node_id)


def share_coordinator(connection: BrokerConnection, group: str, topic: str, partition: int) -> int | str:
    """Id of the broker that stores the state of a share group in a partition (`__share_group_state`), or the
    error's name (FindCoordinator 6, KIP-932)."""
    id_or_error = topic_id_of(connection, topic)
    if isinstance(id_or_error, str):
        return id_or_error
    topic_id = base64.urlsafe_b64encode(id_or_error.bytes).decode().rstrip("=")
    key = f"{group}:{topic_id}:{partition}"
    asked = coordinator_v6.FindCoordinatorRequest(key_type=_SHARE, coordinator_keys=(key,))
    (answer,) = connection.ask(asked, coordinator_v6.FindCoordinatorResponse).coordinators
    return error_name(answer.error_code) or int(answer.node_id)


def elect(
    connection: BrokerConnection, topic: str, partitions: Iterable[int], *, unclean: bool
) -> dict[int, str | None]:
    """Trigger elections of leaders (KIP-460); returns the error's name by partition (None: elected).

    Preferred: the first of the replicas, if it is in the ISR. Unclean: any living replica, if none in the ISR
    is alive.
    """
    wanted = tuple(partitions)
    of_topic = elect_v2.request.TopicPartitions(topic=TopicName(topic), partitions=tuple(map(i32, wanted)))
    request = elect_v2.ElectLeadersRequest(
        election_type=_UNCLEAN if unclean else _PREFERRED, topic_partitions=(of_topic,), timeout=_DONE_WITHIN
    )
    answer = connection.ask(request, elect_v2.ElectLeadersResponse)
    errors = {
        int(part.partition_id): part.error_code
        for result in answer.replica_election_results
        for part in result.partition_result
    }
    return errors_by_partition(wanted, answer.error_code, errors)


def reassign(
    connection: BrokerConnection, topic: str, replicas: Mapping[int, tuple[int, ...] | None]
) -> dict[int, str | None]:
    """Assign other replicas to partitions, the preferred leader first (KIP-455); None cancels a reassignment.

    Returns the error's name by partition (None: accepted). The replicas move after this call.
    """
    moves = tuple(
        alter_v0.request.ReassignablePartition(
            partition_index=i32(number), replicas=None if nodes is None else tuple(map(BrokerId, nodes))
        )
        for number, nodes in replicas.items()
    )
    of_topic = alter_v0.request.ReassignableTopic(name=TopicName(topic), partitions=moves)
    request = alter_v0.AlterPartitionReassignmentsRequest(timeout=_DONE_WITHIN, topics=(of_topic,))
    answer = connection.ask(request, alter_v0.AlterPartitionReassignmentsResponse)
    errors = {
        int(part.partition_index): part.error_code
        for result in answer.responses
        for part in result.partitions
    }
    return errors_by_partition(replicas, answer.error_code, errors)


def create_partitions(connection: BrokerConnection, topic: str, count: int) -> str | None:
    """Add partitions to a topic until it has this number (KIP-195). Returns the error's name and the reason
    that Kafka gives; None: it was done."""
    wanted = partitions_v0.request.CreatePartitionsTopic(
        name=TopicName(topic), count=i32(count), assignments=None
    )
    request = partitions_v0.CreatePartitionsRequest(
        topics=(wanted,), timeout=_DONE_WITHIN, validate_only=False
    )
    (answer,) = connection.ask(request, partitions_v0.CreatePartitionsResponse).results
    name = error_name(answer.error_code)
    return name if name is None else f"{name}: {answer.error_message or 'no reason given'}"


def reassignments(connection: BrokerConnection) -> tuple[str, ...]:
    """Every partition whose replicas are moving (KIP-455), in words.

    Raises:
        ClusterError: the controller refuses to tell.
    """
    request = moves_v0.ListPartitionReassignmentsRequest(timeout=_DONE_WITHIN, topics=None)
    answer = connection.ask(request, moves_v0.ListPartitionReassignmentsResponse)
    refuse("the reassignments could not be listed", answer.error_code, connection.broker)
    return tuple(
        f"{topic.name}-{part.partition_index}, adding {list(map(int, part.adding_replicas))}, "
        f"removing {list(map(int, part.removing_replicas))}"
        for topic in answer.topics
        for part in topic.partitions
    )


def features(connection: BrokerConnection) -> FeatureLevels:
    """The features that this broker's version supports, and those that are finalised, as it knows them."""
    request = versions_v3.ApiVersionsRequest(client_software_name=CLIENT_ID, client_software_version="1")
    answer = connection.ask(request, versions_v3.ApiVersionsResponse)
    return FeatureLevels(
        {feature.name: int(feature.max_version) for feature in answer.supported_features},
        {feature.name: int(feature.max_version_level) for feature in answer.finalized_features},
    )


def set_features(connection: BrokerConnection, levels: Mapping[str, int]) -> dict[str, str]:
    """Upgrade or downgrade a KRaft cluster's features to levels (KIP-584, KIP-778); returns the reason of
    each refusal by feature (empty: all set)."""
    refused = {}
    for feature, level in levels.items():
        up = _update(connection, feature, level, _UPGRADE)
        down = _update(connection, feature, level, _SAFE_DOWNGRADE) if up is not None else None
        if up is not None and down is not None:
            refused[feature] = down
    return refused


def _update(connection: BrokerConnection, feature: str, level: int, way: i8) -> str | None:
    update = features_v1.request.FeatureUpdateKey(
        feature=feature, max_version_level=i16(level), upgrade_type=way
    )
    request = features_v1.UpdateFeaturesRequest(feature_updates=(update,))
    answer = connection.ask(request, features_v1.UpdateFeaturesResponse)
    answers: list[Any] = [answer, *answer.results]
    for result in answers:
        if result.error_code != ErrorCode.none:
            return f"{result.error_code.name.upper()}: {result.error_message or 'no reason given'}"
    return None


def refuse(problem: str, code: ErrorCode, broker: int) -> None:
    """Raise a ClusterError if a broker has answered with an error."""
    if code != ErrorCode.none:
        raise ClusterError(
            problem,
            where=f"broker {broker}",
            found=str(error_name(code)),
            next_step="has the clients' user the right to describe the cluster's configuration?",
        )


def first_answer(
    connections: Iterable[BrokerConnection], question: Callable[[BrokerConnection], _T], what: str
) -> _T:
    """The answer of the first broker that answers `question`; closes every connection.

    Raises:
        ClusterError: no broker answers; `what` describes the question in the message.
    """
    silent: list[str] = []
    for connection in connections:
        try:
            with connection:
                return question(connection)
        except OSError as error:
            silent.append(str(error))
    raise ClusterError(
        f"no broker answered: {what}",
        expected=f"an answer from one of the brokers within {ANSWER_SECONDS:g} s",
        found="; ".join(silent),
        next_step="is a majority of the controllers up, and one broker that can reach them?",
    )


def errors_by_partition(
    partitions: Iterable[int], top_level: ErrorCode, errors: Mapping[int, ErrorCode]
) -> dict[int, str | None]:
    """Errors by partition: that of the whole request for each; a partition without an answer was not
    processed."""
    if top_level != ErrorCode.none:
        return dict.fromkeys(partitions, error_name(top_level))
    return {number: error_name(errors.get(number, ErrorCode.unknown_server_error)) for number in partitions}
