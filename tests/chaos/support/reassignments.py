"""Which partitions are being reassigned, as one named broker reports it (KIP-455)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from kio.schema.list_partition_reassignments.v0 import request as list_request
from kio.schema.list_partition_reassignments.v0 import response as list_response
from kio.schema.types import TopicName
from kio.static.primitive import i32, i32Timedelta

from harness.cluster.protocol.connection import BrokerConnection

_DONE_WITHIN = i32Timedelta.parse(timedelta(seconds=5))


def ongoing_reassignments(
    connection: BrokerConnection, topic: str, partitions: Iterable[int]
) -> dict[int, tuple[int, ...]]:
    """Partitions that are being reassigned, with their current replicas, both old and new ones."""
    request = list_request.ListPartitionReassignmentsRequest(
        timeout=_DONE_WITHIN,
        topics=(
            list_request.ListPartitionReassignmentsTopics(
                name=TopicName(topic), partition_indexes=tuple(i32(number) for number in partitions)
            ),
        ),
    )
    answer = connection.ask(request, list_response.ListPartitionReassignmentsResponse)
    return {
        int(part.partition_index): tuple(int(node) for node in part.replicas)
        for one in answer.topics
        for part in one.partitions
    }
