"""What was changed in a running broker, and which partitions move, in Kafka's answers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest
from kio.schema.describe_configs.v1.response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs.v0.response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from kio.schema.list_partition_reassignments.v0.response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i32, i32Timedelta

from harness.cluster.protocol.admin import reassignments
from harness.cluster.protocol.connection import BrokerConnection
from harness.cluster.protocol.settings_admin import change_settings, dynamic_settings
from harness.cluster.protocol.settings_admin import settings as now
from harness.model.broker_views import SettingState
from harness.model.errors import ClusterError
from tests.support.fake_broker import FakeBroker

pytestmark = pytest.mark.pure

NOW = i32Timedelta.parse(timedelta())
TOPIC, BROKER, ALL_BROKERS, FILE, DEFAULT = 1, 2, 3, 4, 5
"""The sources of a setting in Kafka's protocol."""


def setting(name: str, value: str | None, source: int, *, secret: bool = False) -> Any:
    return DescribeConfigsResourceResult(
        name=name, value=value, read_only=False, config_source=i8(source), is_sensitive=secret, synonyms=()
    )


def settings(*some: Any, error: ErrorCode = ErrorCode.none) -> DescribeConfigsResponse:
    result = DescribeConfigsResult(
        error_code=error, error_message=None, resource_type=i8(4), resource_name="2", configs=some
    )
    return DescribeConfigsResponse(throttle_time=NOW, results=(result,))


def moves(*topics: Any, error: ErrorCode = ErrorCode.none) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(
        throttle_time=NOW, error_code=error, error_message=None, topics=topics
    )


def test_only_what_was_set_while_the_broker_ran() -> None:
    broker = FakeBroker(
        settings(
            setting("log.cleaner.threads", "2", BROKER),
            setting("follower.replication.throttled.rate", "1000", ALL_BROKERS),
            setting("ssl.keystore.password", None, BROKER, secret=True),
            setting("min.insync.replicas", "2", ALL_BROKERS),
            setting("num.io.threads", "8", DEFAULT),
            setting("log.dirs", "/var", FILE),
        )
    )
    assert dynamic_settings(cast(BrokerConnection, broker)) == (
        "follower.replication.throttled.rate=1000 for all brokers",
        "log.cleaner.threads=2",
        "ssl.keystore.password=(secret)",
    )
    (resource,) = broker.asked[0].resources
    assert (resource.resource_type, resource.resource_name, resource.configuration_keys) == (4, "2", None)


def test_min_insync_replicas_of_one_broker_was_not_set_by_kafka() -> None:
    broker = FakeBroker(settings(setting("min.insync.replicas", "2", BROKER)))
    assert dynamic_settings(cast(BrokerConnection, broker)) == ("min.insync.replicas=2",)


def test_partitions_that_move() -> None:
    part = OngoingPartitionReassignment(
        partition_index=i32(0),
        replicas=(BrokerId(1), BrokerId(3)),
        adding_replicas=(BrokerId(3),),
        removing_replicas=(BrokerId(1),),
    )
    broker = FakeBroker(moves(OngoingTopicReassignment(name=TopicName("t"), partitions=(part,))))
    assert reassignments(cast(BrokerConnection, broker)) == ("t-0, adding [3], removing [1]",)
    assert reassignments(cast(BrokerConnection, FakeBroker(moves()))) == ()


def test_a_refusal_is_an_error() -> None:
    refused = ErrorCode.cluster_authorization_failed
    with pytest.raises(ClusterError, match="CLUSTER_AUTHORIZATION_FAILED"):
        dynamic_settings(cast(BrokerConnection, FakeBroker(settings(error=refused))))
    with pytest.raises(ClusterError, match="CLUSTER_AUTHORIZATION_FAILED"):
        reassignments(cast(BrokerConnection, FakeBroker(moves(error=refused))))


def test_settings_of_a_topic_and_of_a_broker_say_whose_they_are() -> None:
    broker = FakeBroker(
        settings(setting("retention.ms", "5", TOPIC), setting("min.insync.replicas", "2", ALL_BROKERS))
    )
    assert now(cast(BrokerConnection, broker), "t") == {
        "retention.ms": SettingState("5", own=True, read_only=False),
        "min.insync.replicas": SettingState("2", own=False, read_only=False),
    }
    (resource,) = broker.asked[0].resources
    assert (resource.resource_type, resource.resource_name) == (2, "t")
    assert (
        now(cast(BrokerConnection, FakeBroker(settings(error=ErrorCode.unknown_topic_or_partition))), "t")
        == {}
    )
    own = FakeBroker(settings(setting("num.io.threads", "4", BROKER)))
    assert now(cast(BrokerConnection, own), None)["num.io.threads"].own


@pytest.mark.parametrize(
    ("error", "message", "answer"),
    [(ErrorCode.none, None, None), (ErrorCode.invalid_config, "bad", "INVALID_CONFIG: bad")],
)
def test_a_change_of_settings(error: ErrorCode, message: str | None, answer: str | None) -> None:
    response = AlterConfigsResourceResponse(
        error_code=error, error_message=message, resource_type=i8(4), resource_name="2"
    )
    broker = FakeBroker(IncrementalAlterConfigsResponse(throttle_time=NOW, responses=(response,)))
    assert change_settings(cast(BrokerConnection, broker), None, {"a": "1", "b": None}) == answer
    (resource,) = broker.asked[0].resources
    assert (resource.resource_type, resource.resource_name) == (4, "2")
    assert [(one.name, one.config_operation, one.value) for one in resource.configs] == [
        ("a", 0, "1"),
        ("b", 1, None),
    ]
