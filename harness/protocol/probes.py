"""Requests to one named broker that a client library would send to the leader: a produce request, and a
request for the partition's end offset.

Only the leader answers Produce 8 and ListOffsets 5; for the debugging replica id any replica answers
ListOffsets. Errors have Kafka's names. Every function raises OSError if the broker does not answer.
"""

from __future__ import annotations

import struct
import time
from datetime import timedelta

from crc32c import crc32c
from kio.schema.produce.v8 import request as produce_request
from kio.schema.produce.v8 import response as produce_response
from kio.schema.types import TopicName
from kio.static.primitive import Records, i16, i32, i32Timedelta

from harness.protocol.connection import CONSUMER, LATEST, BrokerConnection, error_name
from workloads.log_format.varint import write_varint

_APPEND_WITHIN = i32Timedelta.parse(timedelta(seconds=5))
_ALL = i16(-1)
_VALUE = b"kafka-chaos: a record that only a leader may take"


def end_offset(
    connection: BrokerConnection, topic: str, partition: int, replica_id: int = CONSUMER
) -> tuple[str | None, int]:
    """(error, offset) of the partition's end as this broker reports it to a consumer."""
    answers = connection.list_offsets([(topic, partition)], timestamp=LATEST, replica_id=replica_id)
    return answers[topic, partition]


def produce(connection: BrokerConnection, topic: str, partition: int) -> tuple[str | None, int]:
    """Send one record with acks=all to this broker; returns (error, offset).

    The record does not belong to a run: if it is accepted, the final read finds a record that no producer
    sent.
    """
    records = Records(batch(_VALUE))
    request = produce_request.ProduceRequest(
        acks=_ALL,
        timeout=_APPEND_WITHIN,
        topic_data=(
            produce_request.TopicProduceData(
                name=TopicName(topic),
                partition_data=(produce_request.PartitionProduceData(index=i32(partition), records=records),),
            ),
        ),
    )
    answer = connection.ask(request, produce_response.ProduceResponse)
    (part,) = (one for topics in answer.responses for one in topics.partition_responses)
    return error_name(part.error_code), int(part.base_offset)


def batch(value: bytes) -> bytes:
    """A record batch of format v2 with one record: no key, no producer id, no compression (KIP-98)."""
    # attributes, then: timestamp delta, offset delta, key length (-1: none), value length; value, headers
    fields = map(write_varint, (0, 0, -1, len(value)))
    body = b"\x00" + b"".join(fields) + value + write_varint(0)
    record = write_varint(len(body)) + body
    now = int(time.time() * 1000)
    counted = struct.pack(">hiqqqhii", 0, 0, now, now, -1, -1, -1, 1) + record
    covered = struct.pack(">ibI", -1, 2, crc32c(counted)) + counted
    return struct.pack(">qi", 0, len(covered)) + covered
