"""What a consumer has told: at once records, ends of partitions and errors; and its statistics."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError

RESET_ERRORS = frozenset({KafkaError._AUTO_OFFSET_RESET, KafkaError._LOG_TRUNCATION})
"""With auto.offset.reset=error: the log does not hold the offset to read from."""


@dataclass(slots=True)
class Batch:
    """By partition, `positions` are where to read on, and `resets` the offsets that the log does not hold
    (None: not known). After a `fatal` error the client reads nothing more; `error` is the last of the
    others, in words."""

    positions: dict[int, int]
    records: list[Any] = field(default_factory=list)
    resets: dict[int, int | None] = field(default_factory=dict)
    fatal: KafkaError | None = None
    error: str | None = None


def sort_batch(messages: Iterable[Any], positions: Mapping[int, int]) -> Batch:
    """The messages by what they are; `positions` are those before them."""
    batch = Batch(dict(positions))
    for message in messages:
        fault = message.error()
        number = message.partition()
        if fault is None:
            batch.records.append(message)
            batch.positions[number] = message.offset() + 1
        elif fault.code() == KafkaError._PARTITION_EOF:
            # Counts control batches at the end, which give no record.
            batch.positions[number] = max(batch.positions.get(number, 0), message.offset() or 0)
        elif fault.code() in RESET_ERRORS:
            batch.resets[number] = message.offset()
        elif fault.code() == KafkaError._FATAL or fault.fatal():
            batch.fatal = fault
        else:
            batch.error = f"{fault.name()}: {fault.str()}"
    return batch


def followers_fetched_from(text: str, topic: str) -> set[int]:
    """The brokers other than the leaders from which partitions of the topic are fetched (KIP-392), by
    librdkafka's statistics (JSON): a partition's `broker` is the one that is fetched from."""
    partitions = json.loads(text).get("topics", {}).get(topic, {}).get("partitions", {})
    return {
        state["broker"]
        for number, state in partitions.items()
        if int(number) >= 0 and 0 <= state["broker"] != state["leader"] and state["rxmsgs"]
    }
