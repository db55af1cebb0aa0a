"""Committed offsets of consumer groups, as one named broker answers them.

OffsetFetch version 5 is understood by brokers from 2.8 to 4.x. It gives what is committed, also while a
transaction with newer offsets is open (`require_stable`, KIP-447, came with version 7). Version 8 asks for
many groups at once (KIP-709, Kafka 3.0).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kio.schema.offset_fetch.v5 import request as fetch_request
from kio.schema.offset_fetch.v5 import response as fetch_response
from kio.schema.offset_fetch.v8 import request as groups_request
from kio.schema.offset_fetch.v8 import response as groups_response
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i32

from harness.protocol.connection import BrokerConnection, by_topic, error_name


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """`offset` None: the group has none (or there is an `error`, with Kafka's name)."""

    offset: int | None
    leader_epoch: int | None = None
    error: str | None = None


def fetch_offsets(
    connection: BrokerConnection, group: str, partitions: Iterable[tuple[str, int]]
) -> dict[tuple[str, int], CommittedOffset]:
    """The committed offset of each (topic, partition) that was asked for.

    Raises:
        OSError: the broker does not answer.
    """
    wanted = by_topic(partitions)
    request = fetch_request.OffsetFetchRequest(
        group_id=GroupId(group),
        topics=tuple(
            fetch_request.OffsetFetchRequestTopic(
                name=TopicName(topic), partition_indexes=tuple(i32(number) for number in numbers)
            )
            for topic, numbers in wanted.items()
        ),
    )
    answer = connection.ask(request, fetch_response.OffsetFetchResponse)
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
    """The committed offset of each group in its own partition of the topic; `stable` is `require_stable`.

    Raises:
        OSError: the broker does not answer.
    """
    request = groups_request.OffsetFetchRequest(
        groups=tuple(
            groups_request.OffsetFetchRequestGroup(
                group_id=GroupId(group),
                topics=(
                    groups_request.OffsetFetchRequestTopics(
                        name=TopicName(topic), partition_indexes=(i32(partition),)
                    ),
                ),
            )
            for group, partition in partitions.items()
        ),
        require_stable=stable,
    )
    answer = connection.ask(request, groups_response.OffsetFetchResponse)
    found = {}
    for group in answer.groups:
        whole = error_name(group.error_code)
        parts = [part for one in group.topics for part in one.partitions]
        if whole is not None or not parts:
            found[str(group.group_id)] = CommittedOffset(None, error=whole or "UNKNOWN_SERVER_ERROR")
            continue
        found[str(group.group_id)] = _committed(parts[0])
    return found


def _committed(
    part: fetch_response.OffsetFetchResponsePartition | groups_response.OffsetFetchResponsePartitions,
) -> CommittedOffset:
    return CommittedOffset(
        int(part.committed_offset) if part.committed_offset >= 0 else None,
        int(part.committed_leader_epoch) if part.committed_leader_epoch >= 0 else None,
        error_name(part.error_code),
    )
