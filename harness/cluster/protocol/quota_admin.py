"""Quotas of clients over the Kafka protocol (KIP-546), and whether a broker throttles a client now.

DescribeClientQuotas 0 and AlterClientQuotas 0 are understood by brokers from 2.6 to 4.x, Produce 8 and Fetch
11 by those from 2.4. A broker answers what it holds itself, and forwards a change to the controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Literal

from kio.schema.alter_client_quotas import v0 as alter_v0
from kio.schema.describe_client_quotas import v0 as describe_v0
from kio.schema.fetch import v11 as fetch_v11
from kio.schema.produce import v8 as produce_v8
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import Records, f64, i16, i32, i32Timedelta, i64

from harness.cluster.protocol.admin import refuse
from harness.cluster.protocol.client_requests import batch
from harness.cluster.protocol.connection import CONSUMER, BrokerConnection, error_name

_NO_TOPIC = TopicName("kafka-chaos-there-is-no-such-topic")
_AT_ONCE = i32Timedelta.parse(timedelta(0))
_LEADER = i16(1)
_BYTES_PER_PARTITION = 34
"""Of a Fetch response, for a partition that the broker does not know."""


def client_quotas(connection: BrokerConnection) -> dict[str, dict[str, float]]:
    """Every quota of clients that this broker holds: values by name, by what they are for ("client-id
    <default>").

    Raises:
        ClusterError: the broker refuses to tell.
    """
    request = describe_v0.DescribeClientQuotasRequest(components=(), strict=False)
    answer = connection.ask(request, describe_v0.DescribeClientQuotasResponse)
    refuse("the quotas of clients could not be read", answer.error_code, connection.broker)
    return {
        quota_entity({part.entity_type: part.entity_name for part in entry.entity}): {
            quota.key: float(quota.value) for quota in entry.values
        }
        for entry in answer.entries or ()
    }


def quota_entity(parts: Mapping[str, str | None]) -> str:
    """What a quota is for, in words: its entities with their names (None: the default of that kind)."""
    return ", ".join(f"{kind} {name or '<default>'}" for kind, name in sorted(parts.items()))


def set_client_quota(
    connection: BrokerConnection, client: str | None, values: Mapping[str, float | None]
) -> str | None:
    """Set quotas of a client.id (None: of each that has none of its own); a value of None removes it. Returns
    the error's name and the reason that Kafka gives; None: it was done."""
    entry = alter_v0.request.EntryData(
        entity=(alter_v0.request.EntityData(entity_type="client-id", entity_name=client),),
        ops=tuple(
            alter_v0.request.OpData(key=key, value=f64(value or 0.0), remove=value is None)
            for key, value in values.items()
        ),
    )
    request = alter_v0.AlterClientQuotasRequest(entries=(entry,), validate_only=False)
    (answer,) = connection.ask(request, alter_v0.AlterClientQuotasResponse).entries
    name = error_name(answer.error_code)
    return name if name is None else f"{name}: {answer.error_message or 'no reason given'}"


def throttle_ms(connection: BrokerConnection, way: Literal["produce", "fetch"], size: int) -> int:
    """For how many milliseconds the broker throttles the connection's client after one request that sends
    (`produce`), or whose answer has (`fetch`), about this number of bytes.

    Both name a topic that does not exist: the broker counts their bytes before anything is written or read.
    """
    if way == "produce":
        data = produce_v8.request.PartitionProduceData(index=i32(0), records=Records(batch(bytes(size))))
        written = produce_v8.request.TopicProduceData(name=_NO_TOPIC, partition_data=(data,))
        send = produce_v8.ProduceRequest(acks=_LEADER, timeout=_AT_ONCE, topic_data=(written,))
        answered = connection.ask(send, produce_v8.ProduceResponse).throttle_time
    else:
        wanted = tuple(
            fetch_v11.request.FetchPartition(
                partition=i32(number), fetch_offset=i64(0), partition_max_bytes=i32(1)
            )
            for number in range(size // _BYTES_PER_PARTITION)
        )
        get = fetch_v11.FetchRequest(
            replica_id=BrokerId(CONSUMER),
            max_wait=_AT_ONCE,
            min_bytes=i32(0),
            topics=(fetch_v11.request.FetchTopic(topic=_NO_TOPIC, partitions=wanted),),
            forgotten_topics_data=(),
        )
        answered = connection.ask(get, fetch_v11.FetchResponse).throttle_time
    return round(answered / timedelta(milliseconds=1))
