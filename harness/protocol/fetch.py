"""Fetches from one named broker, whether it is the leader of the partition or a follower.

Fetch 11 is answered by followers too, up to their own high watermark (KIP-392); Fetch 10 (before Kafka 2.3)
and OffsetForLeaderEpoch 3 (KIP-320) by the leader alone. All are understood by brokers from 2.8 to 4.x.

Errors have Kafka's names (`NOT_LEADER_OR_FOLLOWER`). Every function raises OSError when the broker
does not answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from kio.schema.errors import ErrorCode
from kio.schema.fetch import v10, v11
from kio.schema.offset_for_leader_epoch.v3 import request as epoch_request
from kio.schema.offset_for_leader_epoch.v3 import response as epoch_response
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i32, i32Timedelta, i64

from harness.protocol.connection import CONSUMER, BrokerConnection, error_name

_AT_ONCE = i32Timedelta.parse(timedelta(0))
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
    `FetchParams`).
    """
    # The classes of both versions have the same fields, as far as they are used here.
    schema: Any = v10 if version == 10 else v11
    request = schema.request.FetchRequest(
        replica_id=BrokerId(replica_id),
        max_wait=_AT_ONCE,
        min_bytes=i32(0),
        max_bytes=i32(max_bytes),
        topics=(
            schema.request.FetchTopic(
                topic=TopicName(topic),
                partitions=(
                    schema.request.FetchPartition(
                        partition=i32(partition), fetch_offset=i64(offset), partition_max_bytes=i32(max_bytes)
                    ),
                ),
            ),
        ),
        forgotten_topics_data=(),
    )
    answer = connection.ask(request, schema.response.FetchResponse)
    if answer.error_code != ErrorCode.none:
        return FetchAnswer(answer.error_code.name.upper(), -1, -1, -1, b"")
    (part,) = (one for topics in answer.responses for one in topics.partitions)
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
    epoch.
    """
    request = epoch_request.OffsetForLeaderEpochRequest(
        replica_id=BrokerId(CONSUMER),
        topics=(
            epoch_request.OffsetForLeaderTopic(
                topic=TopicName(topic),
                partitions=(
                    epoch_request.OffsetForLeaderPartition(partition=i32(partition), leader_epoch=i32(epoch)),
                ),
            ),
        ),
    )
    answer = connection.ask(request, epoch_response.OffsetForLeaderEpochResponse)
    (part,) = (one for topics in answer.topics for one in topics.partitions)
    if part.error_code != ErrorCode.none or part.end_offset < 0:
        return None
    return int(part.leader_epoch), int(part.end_offset)
