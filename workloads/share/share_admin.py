"""Requests about share groups (KIP-932) to their coordinator, which is the group's coordinator.

DescribeShareGroupOffsets 1 has the lag (Kafka 4.2); a broker that knows version 0 alone (4.1) closes the
connection, and is then asked with that. Every function raises OSError when the broker does not answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from kio.schema.alter_share_group_offsets import v0 as alter_v0
from kio.schema.describe_share_group_offsets import v0 as starts_v0
from kio.schema.describe_share_group_offsets import v1 as starts_v1
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i32, i64

from harness.cluster.protocol.admin import errors_by_partition
from harness.cluster.protocol.connection import BrokerConnection, error_name


@dataclass(frozen=True, slots=True)
class ShareStart:
    """Where a share group begins in a partition. `lag`: records that are not finished (None: the broker does
    not report it); `start`: None: it has not begun, or there is an error."""

    partition: int
    error: str | None = None
    start: int | None = None
    lag: int | None = None


def share_starts(
    connection: BrokerConnection, group: str, topic: str, partitions: Iterable[int]
) -> tuple[ShareStart, ...]:
    """Where the group begins in these partitions, as its coordinator answers."""
    wanted = tuple(partitions)
    try:
        return _starts(connection, group, topic, wanted, starts_v1)
    except OSError:
        return _starts(connection, group, topic, wanted, starts_v0)


def _starts(
    connection: BrokerConnection, group: str, topic: str, partitions: tuple[int, ...], schema: ModuleType
) -> tuple[ShareStart, ...]:
    topics = schema.request.DescribeShareGroupOffsetsRequestTopic(
        topic_name=TopicName(topic), partitions=tuple(map(i32, partitions))
    )
    groups = schema.request.DescribeShareGroupOffsetsRequestGroup(group_id=GroupId(group), topics=(topics,))
    request = schema.DescribeShareGroupOffsetsRequest(groups=(groups,))
    answer: Any = connection.ask(request, schema.DescribeShareGroupOffsetsResponse)
    (described,) = answer.groups
    refusal = error_name(described.error_code)
    if refusal is not None:
        return tuple(ShareStart(number, refusal) for number in partitions)
    parts = {int(part.partition_index): part for entry in described.topics for part in entry.partitions}
    return tuple(_start(number, parts.get(number)) for number in partitions)


def _start(number: int, part: Any) -> ShareStart:
    if part is None:
        return ShareStart(number)
    error, start, lag = error_name(part.error_code), int(part.start_offset), int(getattr(part, "lag", -1))
    if error is not None or start < 0:
        return ShareStart(number, error)
    return ShareStart(number, None, start, lag if lag >= 0 else None)


def move_share_starts(
    connection: BrokerConnection, group: str, topic: str, starts: Mapping[int, int]
) -> dict[int, str | None]:
    """Move the start offsets of a group that has no members; the error's name by partition (None: moved)."""
    moves = tuple(
        alter_v0.request.AlterShareGroupOffsetsRequestPartition(
            partition_index=i32(number), start_offset=i64(offset)
        )
        for number, offset in starts.items()
    )
    of_topic = alter_v0.request.AlterShareGroupOffsetsRequestTopic(
        topic_name=TopicName(topic), partitions=moves
    )
    request = alter_v0.AlterShareGroupOffsetsRequest(group_id=GroupId(group), topics=(of_topic,))
    answer = connection.ask(request, alter_v0.AlterShareGroupOffsetsResponse)
    errors = {
        int(part.partition_index): part.error_code
        for response in answer.responses
        for part in response.partitions
    }
    return errors_by_partition(starts, answer.error_code, errors)
