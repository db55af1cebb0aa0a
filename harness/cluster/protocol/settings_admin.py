"""Settings of topics and brokers over the Kafka protocol: read, and changed while brokers run (KIP-226,
KIP-339).

DescribeConfigs 1 and IncrementalAlterConfigs 0 are understood by brokers from 2.3 to 4.x. The settings of a
topic can be asked of any broker, each of which answers what it holds itself; those of a broker only of that
broker, which forwards a change to the controller.
"""

from __future__ import annotations

from collections.abc import Mapping

from kio.schema.describe_configs import v1 as describe_v1
from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs import v0 as alter_v0
from kio.static.primitive import i8

from harness.cluster.protocol.admin import refuse
from harness.cluster.protocol.connection import BrokerConnection, error_name
from harness.model.broker_views import SettingState

_TOPIC, _BROKER = i8(2), i8(4)
_SET, _DELETE = i8(0), i8(1)
_OF_TOPIC, _OF_BROKER, _OF_ALL_BROKERS = 1, 2, 3
"""DescribeConfigs: a value that was set for the topic; for one broker while it ran, or for all (KIP-226)."""
_SET_BY_KAFKA = "min.insync.replicas"
"""Kafka sets it for all brokers itself when eligible.leader.replicas.version is raised (KIP-966)."""


def settings(connection: BrokerConnection, topic: str | None) -> dict[str, SettingState]:
    """The settings of a topic as this broker holds them, or the broker's own (None), by name; empty if it
    does not know the topic.

    Raises:
        ClusterError: the broker refuses to tell.
    """
    answer = _describe(connection, topic)
    if answer.error_code == ErrorCode.unknown_topic_or_partition:
        return {}
    refuse("settings could not be read", answer.error_code, connection.broker)
    own = _OF_BROKER if topic is None else _OF_TOPIC
    return {
        config.name: SettingState(config.value, own=config.config_source == own, read_only=config.read_only)
        for config in answer.configs
    }


def change_settings(
    connection: BrokerConnection, topic: str | None, values: Mapping[str, str | None]
) -> str | None:
    """Set settings of a topic, or of this broker (None); a value of None deletes the setting. Returns the
    error's name and the reason that Kafka gives; None: it was done."""
    resource = alter_v0.request.AlterConfigsResource(
        resource_type=_BROKER if topic is None else _TOPIC,
        resource_name=str(connection.broker) if topic is None else topic,
        configs=tuple(
            alter_v0.request.AlterableConfig(
                name=name, config_operation=_DELETE if value is None else _SET, value=value
            )
            for name, value in values.items()
        ),
    )
    request = alter_v0.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    (answer,) = connection.ask(request, alter_v0.IncrementalAlterConfigsResponse).responses
    name = error_name(answer.error_code)
    return name if name is None else f"{name}: {answer.error_message or 'no reason given'}"


def dynamic_settings(connection: BrokerConnection) -> tuple[str, ...]:
    """The settings of this broker that were changed while it ran, for it alone or for all brokers (KIP-226):
    "name=value" each, by name. Secret values are not shown.

    Raises:
        ClusterError: the broker refuses to tell.
    """
    answer = _describe(connection, None)
    refuse("the settings of a broker could not be read", answer.error_code, connection.broker)
    lines = []
    for config in answer.configs:
        everywhere = config.config_source == _OF_ALL_BROKERS
        if config.config_source == _OF_BROKER or (everywhere and config.name != _SET_BY_KAFKA):
            value = "(secret)" if config.is_sensitive else config.value
            lines.append(f"{config.name}={value}" + (" for all brokers" if everywhere else ""))
    return tuple(sorted(lines))


def _describe(connection: BrokerConnection, topic: str | None) -> describe_v1.response.DescribeConfigsResult:
    resource = describe_v1.request.DescribeConfigsResource(
        resource_type=_BROKER if topic is None else _TOPIC,
        resource_name=str(connection.broker) if topic is None else topic,
        configuration_keys=None,
    )
    request = describe_v1.DescribeConfigsRequest(resources=(resource,))
    (answer,) = connection.ask(request, describe_v1.DescribeConfigsResponse).results
    return answer
