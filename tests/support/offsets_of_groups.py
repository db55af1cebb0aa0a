"""Stands in for confluent-kafka's Consumer where it is asked for what a group has committed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError, TopicPartition


class OffsetsOfGroups:
    """Called like the class Consumer, it is the consumer of that group.

    `told` gives the offsets by partition for a group and a topic (-1001: none), or the error of a partition.
    """

    def __init__(self, told: Callable[[str, str], Mapping[int, int | KafkaError]]) -> None:
        self._told, self._group = told, ""
        self.open = 0

    def __call__(self, settings: Mapping[str, Any]) -> OffsetsOfGroups:
        self._group = settings["group.id"]
        self.open += 1
        return self

    def committed(self, places: Sequence[TopicPartition], _seconds: float) -> list[Any]:
        return [self._answer(place) for place in places]

    def _answer(self, place: TopicPartition) -> Any:
        told = self._told(self._group, place.topic).get(place.partition, -1001)
        failed = isinstance(told, KafkaError)
        return SimpleNamespace(
            topic=place.topic,
            partition=place.partition,
            offset=-1001 if failed else told,
            error=told if failed else None,
        )

    def close(self) -> None:
        self.open -= 1
