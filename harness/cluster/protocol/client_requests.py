"""Requests about partitions and the offsets of groups, as clients send them, to one named broker, the leader
or not.

Fetch 11 is answered by followers too, up to their own high watermark (KIP-392). Only the leader answers Fetch
10 (before Kafka 2.3), OffsetForLeaderEpoch 3 (KIP-320), Produce 8 and ListOffsets 5; for the debugging
replica id any replica answers ListOffsets. OffsetFetch 5 gives what is committed, also while a transaction
with newer offsets is open (`require_stable`, KIP-447, came with version 7). All are understood by brokers
from 2.8 to 4.x, except OffsetFetch 8, which asks for many groups at once (KIP-709, Kafka 3.0).

Errors have Kafka's names (`NOT_LEADER_OR_FOLLOWER`). Every function raises OSError when the broker does not
answer.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from io import BytesIO
from typing import Any, Literal

from crc32c import crc32c
from kio.schema.errors import ErrorCode
from kio.schema.fetch import v10, v11
from kio.schema.offset_fetch import v5 as offsets_v5
from kio.schema.offset_fetch import v8 as offsets_v8
from kio.schema.offset_for_leader_epoch import v3 as epochs_v3
from kio.schema.produce import v8 as produce_v8
from kio.schema.types import BrokerId, GroupId, TopicName
from kio.serial.writers import write_signed_varint
from kio.static.primitive import Records, i16, i32, i32Timedelta, i64

from harness.cluster.protocol.connection import CONSUMER, LATEST, BrokerConnection, by_topic, error_name

_AT_ONCE = i32Timedelta.parse(timedelta(0))
_APPEND_WITHIN = i32Timedelta.parse(timedelta(seconds=5))
_ALL = i16(-1)
_VALUE = b"kafka-chaos: a record that only a leader may take"
_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FetchAnswer:
    """One broker's answer about one partition.

    `high_watermark` is the broker's own: a follower learns the leader's one fetch later. `data` has record
    batches as they are in the log, from the one with the requested offset; the last one may be truncated.
    `error` is None if there was none.
    """

    error: str | None
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    data: bytes


def fetch(
    connection: BrokerConnection,
    topic: str,
    partition: int,
    offset: int,
    *,
    max_bytes: int = _BYTES,
    replica_id: int = CONSUMER,
    version: Literal[10, 11] = 11,
) -> FetchAnswer:
    """Fetch from one broker like a consumer, without waiting for more records (KIP-227: no session). With
    DEBUGGING_REPLICA it fetches from any replica, up to its log end offset (Kafka's `FetchIsolation`,
    `FetchParams`)."""
    # The classes of both versions have the same fields, as far as they are used here.
    schema: Any = v10 if version == 10 else v11
    wanted = schema.request.FetchPartition(
        partition=i32(partition), fetch_offset=i64(offset), partition_max_bytes=i32(max_bytes)
    )
    request = schema.request.FetchRequest(
        replica_id=BrokerId(replica_id),
        max_wait=_AT_ONCE,
        min_bytes=i32(0),
        max_bytes=i32(max_bytes),
        topics=(schema.request.FetchTopic(topic=TopicName(topic), partitions=(wanted,)),),
        forgotten_topics_data=(),
    )
    answer = connection.ask(request, schema.response.FetchResponse)
    if answer.error_code != ErrorCode.none:
        return FetchAnswer(answer.error_code.name.upper(), -1, -1, -1, b"")
    (part,) = (of_partition for topics in answer.responses for of_partition in topics.partitions)
    return FetchAnswer(
        error=error_name(part.error_code),
        high_watermark=int(part.high_watermark),
        last_stable_offset=int(part.last_stable_offset),
        log_start_offset=int(part.log_start_offset),
        data=bytes(part.records or b""),
    )


def epoch_end(connection: BrokerConnection, topic: str, partition: int, epoch: int) -> tuple[int, int] | None:
    """The end of a leader epoch in this broker's log (KIP-101): the largest epoch up to it that wrote
    records, and the offset after its last record. None: this broker is not the leader, or does not know the
    epoch."""
    wanted = epochs_v3.request.OffsetForLeaderPartition(partition=i32(partition), leader_epoch=i32(epoch))
    of_topic = epochs_v3.request.OffsetForLeaderTopic(topic=TopicName(topic), partitions=(wanted,))
    request = epochs_v3.OffsetForLeaderEpochRequest(replica_id=BrokerId(CONSUMER), topics=(of_topic,))
    answer = connection.ask(request, epochs_v3.OffsetForLeaderEpochResponse)
    (part,) = (of_partition for topics in answer.topics for of_partition in topics.partitions)
    if part.error_code != ErrorCode.none or part.end_offset < 0:
        return None
    return int(part.leader_epoch), int(part.end_offset)


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
    records = produce_v8.request.PartitionProduceData(index=i32(partition), records=Records(batch(_VALUE)))
    of_topic = produce_v8.request.TopicProduceData(name=TopicName(topic), partition_data=(records,))
    request = produce_v8.ProduceRequest(acks=_ALL, timeout=_APPEND_WITHIN, topic_data=(of_topic,))
    answer = connection.ask(request, produce_v8.ProduceResponse)
    (part,) = (of_partition for topics in answer.responses for of_partition in topics.partition_responses)
    return error_name(part.error_code), int(part.base_offset)


def batch(value: bytes) -> bytes:
    """A record batch of format v2 with one record: no key, no producer id, no compression (KIP-98)."""
    # attributes, then: timestamp delta, offset delta, key length (-1: none), value length; value, headers
    fields = map(_varint, (0, 0, -1, len(value)))
    body = b"\x00" + b"".join(fields) + value + _varint(0)
    record = _varint(len(body)) + body
    now = int(time.time() * 1000)
    counted = struct.pack(">hiqqqhii", 0, 0, now, now, -1, -1, -1, 1) + record
    covered = struct.pack(">ibI", -1, 2, crc32c(counted)) + counted
    return struct.pack(">qi", 0, len(covered)) + covered


def _varint(number: int) -> bytes:
    written = BytesIO()
    write_signed_varint(written, number)
    return written.getvalue()


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """`offset` None: the group has none (or there is an `error`, with Kafka's name)."""

    offset: int | None
    leader_epoch: int | None = None
    error: str | None = None


def fetch_offsets(
    connection: BrokerConnection, group: str, partitions: Iterable[tuple[str, int]]
) -> dict[tuple[str, int], CommittedOffset]:
    """The committed offset of each (topic, partition) that was asked for."""
    wanted = by_topic(partitions)
    topics = tuple(
        offsets_v5.request.OffsetFetchRequestTopic(
            name=TopicName(topic), partition_indexes=tuple(map(i32, numbers))
        )
        for topic, numbers in wanted.items()
    )
    request = offsets_v5.OffsetFetchRequest(group_id=GroupId(group), topics=topics)
    answer = connection.ask(request, offsets_v5.OffsetFetchResponse)
    whole = error_name(answer.error_code)
    if whole is not None:
        refused = CommittedOffset(None, error=whole)
        return {(topic, number): refused for topic, numbers in wanted.items() for number in numbers}
    return {
        (topic.name, int(part.partition_index)): _committed(part)
        for topic in answer.topics
        for part in topic.partitions
    }


def fetch_offsets_of_groups(
    connection: BrokerConnection, topic: str, partitions: Mapping[str, int], *, stable: bool
) -> dict[str, CommittedOffset]:
    """The committed offset of each group in its own partition of the topic; `stable` is `require_stable`."""
    groups = []
    for name, partition in partitions.items():
        topics = offsets_v8.request.OffsetFetchRequestTopics(
            name=TopicName(topic), partition_indexes=(i32(partition),)
        )
        groups.append(offsets_v8.request.OffsetFetchRequestGroup(group_id=GroupId(name), topics=(topics,)))
    request = offsets_v8.OffsetFetchRequest(groups=tuple(groups), require_stable=stable)
    answer = connection.ask(request, offsets_v8.OffsetFetchResponse)
    committed = {}
    for group in answer.groups:
        whole = error_name(group.error_code)
        parts = [part for result in group.topics for part in result.partitions]
        unknown = CommittedOffset(None, error=whole or "UNKNOWN_SERVER_ERROR")
        committed[str(group.group_id)] = _committed(parts[0]) if whole is None and parts else unknown
    return committed


def _committed(
    part: offsets_v5.response.OffsetFetchResponsePartition
    | offsets_v8.response.OffsetFetchResponsePartitions,
) -> CommittedOffset:
    return CommittedOffset(
        int(part.committed_offset) if part.committed_offset >= 0 else None,
        int(part.committed_leader_epoch) if part.committed_leader_epoch >= 0 else None,
        error_name(part.error_code),
    )
