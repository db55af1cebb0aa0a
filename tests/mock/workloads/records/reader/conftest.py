"""Readers on a topic of librdkafka's mock cluster, and what is written to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.live_readers import PARTITIONS, RUN, LiveReaders
from workloads.records.clients import client_logger
from workloads.records.config.reader_spec import ReaderSpec
from workloads.records.record.identity import ValueBuilder, encode_key


@pytest.fixture
def write(mock_bootstrap: str, mock_topic: str) -> Callable[[int], None]:
    """`write(count)` appends `count` records to each partition; producer = partition, seq = offset."""
    producer = Producer({"bootstrap.servers": mock_bootstrap, "linger.ms": 0}, logger=client_logger())
    builds = [ValueBuilder(RUN, number, 100, 1) for number in range(PARTITIONS)]
    ends = [0] * PARTITIONS

    def append(count: int) -> None:
        for number in range(PARTITIONS):
            for seq in range(ends[number], ends[number] + count):
                producer.produce(mock_topic, builds[number](seq), encode_key(seq), number)
            ends[number] += count
        assert producer.flush(30) == 0

    return append


@pytest.fixture
def case(tmp_path: Path, mock_bootstrap: str, mock_topic: str) -> Iterator[Callable[..., LiveReaders]]:
    made: list[LiveReaders] = []

    def of(*specs: ReaderSpec) -> LiveReaders:
        made.append(LiveReaders(tmp_path, mock_bootstrap, mock_topic, *specs))
        return made[-1]

    yield of
    for one in made:
        one.close()
