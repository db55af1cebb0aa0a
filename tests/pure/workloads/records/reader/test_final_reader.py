"""What the final read has read does not depend on how its consumers close."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from workloads.records import clients
from workloads.records.reader import final_reader

pytestmark = pytest.mark.pure


def test_a_consumer_that_does_not_close_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    class Consumer:
        def __init__(self, _config: dict[str, Any], **_: Any) -> None: ...

        def get_watermark_offsets(self, place: TopicPartition, timeout: float) -> tuple[int, int]:
            assert timeout > 0
            if place.partition == 1:
                raise KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN))
            return 0, 7

        def close(self) -> None:
            released.wait()

    monkeypatch.setattr(final_reader, "Consumer", Consumer)
    monkeypatch.setattr(clients, "CLOSE_SECONDS", 0.1)
    try:
        assert final_reader.last_stable("a:1", "t", [0, 1]) == {0: 7, 1: -1}
    finally:
        released.set()
