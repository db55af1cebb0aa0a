"""Quotas of clients and rules of access: what is asked of a broker, and what its answers mean."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest
from kio.schema.alter_client_quotas.v0 import response as altered
from kio.schema.create_acls.v1 import response as created
from kio.schema.delete_acls.v1 import response as deleted
from kio.schema.describe_acls.v1 import response as rules_now
from kio.schema.describe_client_quotas.v0 import response as quotas_now
from kio.schema.errors import ErrorCode
from kio.schema.produce.v8 import response as produced
from kio.schema.types import TopicName
from kio.static.primitive import f64, i8, i32, i32Timedelta, i64

from harness.cluster.protocol.acl_admin import add_rules, refusal, remove_rules, rules
from harness.cluster.protocol.connection import BrokerConnection
from harness.cluster.protocol.quota_admin import client_quotas, set_client_quota, throttle_ms
from harness.model.broker_views import AccessRule
from harness.model.errors import ClusterError
from tests.support.fake_broker import FakeBroker

pytestmark = pytest.mark.pure

NOW = i32Timedelta.parse(timedelta())
DENY = AccessRule("deny", "User:a", "write", "topic", "t")


def connected(answer: Any) -> tuple[BrokerConnection, FakeBroker]:
    broker = FakeBroker(answer)
    return cast(BrokerConnection, broker), broker


def test_quotas_by_what_they_are_for() -> None:
    def entry(value: float, **entity: str | None) -> Any:
        return quotas_now.EntryData(
            entity=tuple(
                quotas_now.EntityData(entity_type=kind.replace("_", "-"), entity_name=name)
                for kind, name in entity.items()
            ),
            values=(quotas_now.ValueData(key="producer_byte_rate", value=f64(value)),),
        )

    connection, _ = connected(
        quotas_now.DescribeClientQuotasResponse(
            throttle_time=NOW,
            error_code=ErrorCode.none,
            error_message=None,
            entries=(entry(5.0, client_id=None), entry(7.0, user="alice", client_id="app")),
        )
    )
    assert client_quotas(connection) == {
        "client-id <default>": {"producer_byte_rate": 5.0},
        "client-id app, user alice": {"producer_byte_rate": 7.0},
    }


def test_a_quota_is_set_or_removed() -> None:
    answer = altered.EntryData(error_code=ErrorCode.invalid_request, error_message="no", entity=())
    connection, broker = connected(altered.AlterClientQuotasResponse(throttle_time=NOW, entries=(answer,)))
    assert set_client_quota(connection, None, {"a": 5.0, "b": None}) == "INVALID_REQUEST: no"
    (entry,) = broker.asked[0].entries
    assert [(one.entity_type, one.entity_name) for one in entry.entity] == [("client-id", None)]
    assert [(one.key, one.value, one.remove) for one in entry.ops] == [("a", 5.0, False), ("b", 0.0, True)]


def test_a_probe_of_a_quota_is_as_large_as_asked_and_names_no_topic_of_anybody() -> None:
    throttled = i32Timedelta.parse(timedelta(milliseconds=250))
    connection, broker = connected(produced.ProduceResponse(responses=(), throttle_time=throttled))
    assert throttle_ms(connection, "produce", 5000) == 250
    (topic,) = broker.asked[0].topic_data
    (data,) = topic.partition_data
    assert len(data.records) >= 5000
    assert topic.name == "kafka-chaos-there-is-no-such-topic"
    assert throttle_ms(connection, "fetch", 3400) == 250
    assert len(broker.asked[1].topics[0].partitions) == 100


def described(error: ErrorCode, *acls: Any) -> Any:
    resource = rules_now.DescribeAclsResource(
        resource_type=i8(2), resource_name="t", pattern_type=i8(4), acls=acls
    )
    return rules_now.DescribeAclsResponse(
        throttle_time=NOW, error_code=error, error_message=None, resources=(resource,)
    )


def test_rules_in_words_and_a_cluster_without_an_authorizer() -> None:
    rule = rules_now.AclDescription(principal="User:a", host="*", operation=i8(8), permission_type=i8(3))
    connection, _ = connected(described(ErrorCode.none, rule))
    found = rules(connection)
    assert found == (AccessRule("allow", "User:a", "describe", "topic", "t*"),)
    assert str(found[0]) == "allow User:a describe on topic t*"
    assert rules(connected(described(ErrorCode.security_disabled))[0]) is None
    with pytest.raises(ClusterError, match="CLUSTER_AUTHORIZATION_FAILED"):
        rules(connected(described(ErrorCode.cluster_authorization_failed))[0])


def test_rules_are_added_and_removed_as_they_are() -> None:
    result = created.AclCreationResult(error_code=ErrorCode.none, error_message=None)
    connection, broker = connected(created.CreateAclsResponse(throttle_time=NOW, results=(result,)))
    assert add_rules(connection, (DENY,)) is None
    (one,) = broker.asked[0].creations
    asked = (
        one.resource_type,
        one.resource_name,
        one.resource_pattern_type,
        one.operation,
        one.permission_type,
    )
    assert asked == (2, "t", 3, 4, 2)
    refused = deleted.DeleteAclsFilterResult(
        error_code=ErrorCode.security_disabled, error_message="none", matching_acls=()
    )
    connection, broker = connected(deleted.DeleteAclsResponse(throttle_time=NOW, filter_results=(refused,)))
    assert remove_rules(connection, (DENY,)) == "SECURITY_DISABLED: none"
    (one,) = broker.asked[0].filters
    assert (one.resource_name_filter, one.principal_filter, one.permission_type) == ("t", "User:a", 2)


def test_a_send_without_records_shows_whether_one_may_write() -> None:
    part = produced.PartitionProduceResponse(
        index=i32(0), error_code=ErrorCode.topic_authorization_failed, base_offset=i64(-1),
        log_append_time=None, record_errors=(),
    )  # fmt: skip
    answer = produced.ProduceResponse(
        responses=(produced.TopicProduceResponse(name=TopicName("t"), partition_responses=(part,)),),
        throttle_time=NOW,
    )
    connection, broker = connected(answer)
    assert refusal(connection, DENY) == "TOPIC_AUTHORIZATION_FAILED"
    assert broker.asked[0].topic_data[0].partition_data[0].records == b""
