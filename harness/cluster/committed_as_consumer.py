"""Reads the committed offsets of a consumer group with a consumer that has its group.id and does not join it.

The admin client's own request for them (`list_consumer_group_offsets`) must not be used while coordinators
move: up to librdkafka 2.16.1 the process ends with a segmentation fault when a broker answers that it is not
the coordinator, because librdkafka then asks its own consumer group for another one, and an admin client has
none (rd_kafka_ListConsumerGroupOffsetsResponse_parse, rd_kafka_handle_OffsetFetch, rd_kafka_cgrp_op).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition


def committed_as_consumer(
    settings: Mapping[str, Any], group: str, topic: str, partitions: Iterable[int], seconds: float
) -> dict[int, int]:
    """The committed offset of each of these partitions; those without any are left out.

    Offsets of open transactions are not waited for. `settings` are a client's, by librdkafka's names.

    Raises:
        KafkaException: no coordinator answers for all of them within `seconds`.
    """
    own = {"group.id": group, "enable.auto.commit": False, "isolation.level": "read_uncommitted"}
    consumer = Consumer({**settings, **own})
    try:
        committed = consumer.committed([TopicPartition(topic, one) for one in partitions], seconds)
    finally:
        consumer.close()
    for one in committed:
        if one.error is not None:
            raise KafkaException(one.error)
    return {one.partition: one.offset for one in committed if one.offset >= 0}
