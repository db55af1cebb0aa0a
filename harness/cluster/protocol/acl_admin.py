"""Rules of access over the Kafka protocol (KIP-4, KIP-290), and whether a broker refuses a client.

CreateAcls, DeleteAcls and DescribeAcls 1 are understood by brokers from 2.0 to 4.x. A broker answers the
rules that its own authorizer has, and forwards a change to the controller.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from kio.schema.create_acls import v1 as create_v1
from kio.schema.delete_acls import v1 as delete_v1
from kio.schema.describe_acls import v1 as describe_v1
from kio.schema.errors import ErrorCode
from kio.schema.heartbeat import v1 as heartbeat_v1
from kio.schema.produce import v8 as produce_v8
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import Records, i8, i16, i32, i32Timedelta

from harness.cluster.protocol.admin import refuse
from harness.cluster.protocol.client_requests import fetch
from harness.cluster.protocol.connection import BrokerConnection, error_name
from harness.model.broker_views import AccessRule

_ANY, _LITERAL = i8(1), i8(3)
_RESOURCES = {"topic": i8(2), "group": i8(3)}
_OPERATIONS = {"all": i8(2), "read": i8(3), "write": i8(4)}
_PERMISSIONS = {"deny": i8(2), "allow": i8(3)}
_RESOURCE_NAMES = dict(enumerate(("topic", "group", "cluster", "transactional id", "token", "user"), start=2))
_OPERATIONS_FROM_2 = (
    "all read write create delete alter describe cluster-action describe-configs alter-configs "
    "idempotent-write create-tokens describe-tokens two-phase-commit"
)
_OPERATION_NAMES = dict(enumerate(_OPERATIONS_FROM_2.split(), start=2))
"""Kafka's names of ResourceType and AclOperation by their numbers in the protocol."""
_LEADER = i16(1)
_AT_ONCE = i32Timedelta.parse(timedelta(0))


def rules(connection: BrokerConnection) -> tuple[AccessRule, ...] | None:
    """Every rule that this broker's authorizer has; None: it has no authorizer.

    Raises:
        ClusterError: the broker refuses to tell.
    """
    request = describe_v1.DescribeAclsRequest(
        resource_type_filter=_ANY,
        resource_name_filter=None,
        pattern_type_filter=_ANY,
        principal_filter=None,
        host_filter=None,
        operation=_ANY,
        permission_type=_ANY,
    )
    answer = connection.ask(request, describe_v1.DescribeAclsResponse)
    if answer.error_code == ErrorCode.security_disabled:
        return None
    refuse("the rules of access could not be read", answer.error_code, connection.broker)
    return tuple(
        AccessRule(
            permission="deny" if rule.permission_type == _PERMISSIONS["deny"] else "allow",
            principal=rule.principal,
            operation=_OPERATION_NAMES.get(rule.operation, str(rule.operation)),
            resource=_RESOURCE_NAMES.get(resource.resource_type, str(resource.resource_type)),
            name=resource.resource_name
            if resource.pattern_type == _LITERAL
            else f"{resource.resource_name}*",
            host=rule.host,
        )
        for resource in answer.resources
        for rule in resource.acls
    )


def add_rules(connection: BrokerConnection, wanted: tuple[AccessRule, ...]) -> str | None:
    """Add rules for topics and groups of exactly these names. Returns the error's name and the reason that
    Kafka gives; None: it was done."""
    request = create_v1.CreateAclsRequest(
        creations=tuple(
            create_v1.request.AclCreation(
                resource_type=_RESOURCES[rule.resource],
                resource_name=rule.name,
                resource_pattern_type=_LITERAL,
                principal=rule.principal,
                host=rule.host,
                operation=_OPERATIONS[rule.operation],
                permission_type=_PERMISSIONS[rule.permission],
            )
            for rule in wanted
        )
    )
    return _first_failure(connection.ask(request, create_v1.CreateAclsResponse).results)


def remove_rules(connection: BrokerConnection, wanted: tuple[AccessRule, ...]) -> str | None:
    """Remove these rules; those that are not there are no failure. Returns as `add_rules`."""
    request = delete_v1.DeleteAclsRequest(
        filters=tuple(
            delete_v1.request.DeleteAclsFilter(
                resource_type_filter=_RESOURCES[rule.resource],
                resource_name_filter=rule.name,
                pattern_type_filter=_LITERAL,
                principal_filter=rule.principal,
                host_filter=rule.host,
                operation=_OPERATIONS[rule.operation],
                permission_type=_PERMISSIONS[rule.permission],
            )
            for rule in wanted
        )
    )
    return _first_failure(connection.ask(request, delete_v1.DeleteAclsResponse).filter_results)


def refusal(connection: BrokerConnection, rule: AccessRule) -> str | None:
    """The error's name with which this broker answers the connection's user who does what the rule is about;
    None: no error. Nothing is written, read or changed: the send has no records, the heartbeat is of nobody.
    """
    if rule.resource == "group":
        beat = heartbeat_v1.HeartbeatRequest(group_id=GroupId(rule.name), generation_id=i32(-1), member_id="")
        return error_name(connection.ask(beat, heartbeat_v1.HeartbeatResponse).error_code)
    if rule.operation == "read":
        return fetch(connection, rule.name, 0, 0, max_bytes=1).error
    data = produce_v8.request.PartitionProduceData(index=i32(0), records=Records(b""))
    of_topic = produce_v8.request.TopicProduceData(name=TopicName(rule.name), partition_data=(data,))
    request = produce_v8.ProduceRequest(acks=_LEADER, timeout=_AT_ONCE, topic_data=(of_topic,))
    answer = connection.ask(request, produce_v8.ProduceResponse)
    (part,) = (of_partition for topics in answer.responses for of_partition in topics.partition_responses)
    return error_name(part.error_code)


def _first_failure(results: Iterable[Any]) -> str | None:
    """The first error among the results of a request, with the reason that Kafka gives."""
    names = ((error_name(result.error_code), result.error_message) for result in results)
    return next((f"{name}: {reason or 'no reason given'}" for name, reason in names if name), None)
