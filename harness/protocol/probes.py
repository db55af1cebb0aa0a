"""Requests to one named broker that a client library would send to the leader: an old consumer's fetch, a
produce request, and a request for the partition's end offset.

Only the leader answers Fetch 10 (before KIP-392), Produce 8 and ListOffsets 5; for the debugging replica id
any replica answers ListOffsets. Errors have Kafka's names. Every function raises OSError if the broker does
not answer.
"""

from __future__ import annotations

import struct
import time
from datetime import timedelta

from crc32c import crc32c
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v10 import request as fetch_request
from kio.schema.fetch.v10 import response as fetch_response
from kio.schema.list_offsets.v5 import request as offsets_request
from kio.schema.list_offsets.v5 import response as offsets_response
from kio.schema.produce.v8 import request as produce_request
from kio.schema.produce.v8 import response as produce_response
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import Records, i8, i16, i32, i32Timedelta, i64

from harness.protocol.connection import CONSUMER, LATEST, BrokerConnection, error_name
from workloads.log_format.varint import write_varint

_AT_ONCE = i32Timedelta.parse(timedelta(0))
_APPEND_WITHIN = i32Timedelta.parse(timedelta(seconds=5))
_BYTES = 1024 * 1024
_ALL = i16(-1)
_VALUE = b"kafka-chaos: a record that only a leader may take"


def fetch_v10_error(connection: BrokerConnection, topic: str, partition: int) -> str | None:
    """The error of a fetch from offset 0 by the protocol from before Kafka 2.3; None: it returned data."""
    request = fetch_request.FetchRequest(
        max_wait=_AT_ONCE,
        min_bytes=i32(0),
        max_bytes=i32(_BYTES),
        topics=(
            fetch_request.FetchTopic(
                topic=TopicName(topic),
                partitions=(
                    fetch_request.FetchPartition(
                        partition=i32(partition), fetch_offset=i64(0), partition_max_bytes=i32(_BYTES)
                    ),
                ),
            ),
        ),
        forgotten_topics_data=(),
    )
    answer: fetch_response.FetchResponse = connection.ask(request, fetch_response.FetchResponse)
    codes = [answer.error_code, *(part.error_code for one in answer.responses for part in one.partitions)]
    return next((error_name(code) for code in codes if code != ErrorCode.none), None)


def end_offset(
    connection: BrokerConnection, topic: str, partition: int, replica_id: int = CONSUMER
) -> tuple[str | None, int]:
    """(error, offset) of the partition's end as this broker reports it to a consumer."""
    request = offsets_request.ListOffsetsRequest(
        replica_id=BrokerId(replica_id),
        isolation_level=i8(0),
        topics=(
            offsets_request.ListOffsetsTopic(
                name=TopicName(topic),
                partitions=(
                    offsets_request.ListOffsetsPartition(
                        partition_index=i32(partition), timestamp=i64(LATEST)
                    ),
                ),
            ),
        ),
    )
    answer: offsets_response.ListOffsetsResponse = connection.ask(
        request, offsets_response.ListOffsetsResponse
    )
    (part,) = (one for topics in answer.topics for one in topics.partitions)
    return error_name(part.error_code), int(part.offset)


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
    answer: produce_response.ProduceResponse = connection.ask(request, produce_response.ProduceResponse)
    (part,) = (one for topics in answer.responses for one in topics.partition_responses)
    return error_name(part.error_code), int(part.base_offset)


def batch(value: bytes) -> bytes:
    """A record batch of format v2 with one record: no key, no producer id, no compression (KIP-98)."""
    # attributes, timestamp delta, offset delta, key length (-1: none), value length, value, headers
    body = (
        b"\x00"
        + write_varint(0)
        + write_varint(0)
        + write_varint(-1)
        + write_varint(len(value))
        + value
        + write_varint(0)
    )
    record = write_varint(len(body)) + body
    now = int(time.time() * 1000)
    counted = struct.pack(">hiqqqhii", 0, 0, now, now, -1, -1, -1, 1) + record
    covered = struct.pack(">ibI", -1, 2, crc32c(counted)) + counted
    return struct.pack(">qi", 0, len(covered)) + covered
