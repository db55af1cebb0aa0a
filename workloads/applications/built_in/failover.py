"""A consumer group that fails over to the mirror of its topic, by offsets that MirrorMaker 2 translates.

A process has MirrorMaker 2, which mirrors the input, and a consumer, which writes what it reads to a file
of the folder of the output, one line of Base64 per record, and commits. `reads` has a number for each start
of the process: the consumer reads this number of records of the input, and no more. At the start after these
it reads the mirror instead, from

translated  the offsets that RemoteClusterUtils reads from MirrorMaker's checkpoints (KIP-382)
synced      the offsets that MirrorMaker has committed for the group on the other cluster (KIP-545)
same        the offsets that the group has committed for the input, as if they were those of the mirror
"""

from __future__ import annotations

import argparse
import base64
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition

from workloads.applications.built_in.connect_settings import (
    SAME,
    SYNCED,
    Clusters,
    aliases,
    failover_settings,
    mirror_of,
)
from workloads.applications.built_in.jvm import (
    FAILED,
    LOG_TO_STDERR,
    RUNNING,
    java_map,
    start_jvm,
    task_states,
)
from workloads.applications.built_in.lifecycle import ready, say, stop_event

_T = TypeVar("_T")
_POLL_SECONDS = 0.1
_LOOK_SECONDS = 0.5
_SECONDS = 30.0
_BATCH = 100
_CONNECTORS = ("MirrorSourceConnector", "MirrorCheckpointConnector")


class Reader:
    """The consumer: reads `topic` of one cluster in the group, `most` records (None: all).

    Raises KafkaException if brokers refuse or do not answer.
    """

    def __init__(self, bootstrap: str, topic: str, group: str, file: BinaryIO, most: int | None) -> None:
        self._topic, self._file, self._left = topic, file, most
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
            }
        )

    def partitions(self) -> list[int]:
        """The partitions of the topic; none if it does not exist yet."""
        topic = self._consumer.list_topics(self._topic, timeout=_SECONDS).topics[self._topic]
        return [] if topic.error is not None else sorted(topic.partitions)

    def committed(self) -> dict[int, int]:
        """What the group has committed for the topic, by partition."""
        partitions = [TopicPartition(self._topic, number) for number in self.partitions()]
        offsets = patiently(lambda: self._consumer.committed(partitions, _SECONDS)) if partitions else []
        return {partition.partition: partition.offset for partition in offsets if partition.offset >= 0}

    def begin(self, offsets: dict[int, int]) -> None:
        """Read from these offsets on; partitions without one from their beginning, which the group commits,
        so that MirrorMaker knows of it from its start."""
        partitions = [
            TopicPartition(self._topic, number, offsets.get(number, OFFSET_BEGINNING))
            for number in self.partitions()
        ]
        if not offsets:
            start = [TopicPartition(self._topic, partition.partition, 0) for partition in partitions]
            patiently(lambda: self._consumer.commit(offsets=start, asynchronous=False))
        self._consumer.assign(partitions)

    def step(self) -> None:
        """Read some records, write them, and commit."""
        if self._left == 0:
            self._consumer.pause(self._consumer.assignment())
        most = _BATCH if self._left is None else min(_BATCH, self._left)
        messages = [
            message for message in self._consumer.consume(max(most, 1), _POLL_SECONDS) if not message.error()
        ]
        if not messages:
            return
        lines = (base64.b64encode(message.value() or b"") + b"\n" for message in messages)
        self._file.write(b"".join(lines))
        self._file.flush()
        patiently(lambda: self._consumer.commit(offsets=_after(messages), asynchronous=False))
        if self._left is not None:
            self._left -= len(messages)

    def close(self) -> None:
        self._consumer.close()


def patiently(ask: Callable[[], _T]) -> _T:
    """The answer to a question about a group, also if it has no coordinator at first.

    Raises KafkaException if it has none for `_SECONDS`.
    """
    deadline = time.monotonic() + _SECONDS
    while True:
        try:
            return ask()
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(_LOOK_SECONDS)


def _after(messages: list[Message]) -> list[TopicPartition]:
    last = {
        (str(message.topic()), int(message.partition() or 0)): int(message.offset() or 0)
        for message in messages
    }
    return [TopicPartition(topic, partition, offset + 1) for (topic, partition), offset in last.items()]


def start_number(state: Path) -> int:
    """Count the starts with this state folder; the first is 1."""
    file = state / "starts"
    number = int(file.read_text()) + 1 if file.exists() else 1
    file.write_text(str(number))
    return number


def main(options: argparse.Namespace) -> int:
    stopping = stop_event()
    number = start_number(options.state)
    clusters = Clusters.of(options.bootstrap, options.output_bootstrap)
    gateway = start_jvm(options.jars, ("-Xmx384m", *LOG_TO_STDERR))
    Path(options.output).mkdir(parents=True, exist_ok=True)
    with (Path(options.output) / "lines.txt").open("ab") as file:
        if number <= len(options.reads):
            reader = Reader(clusters.source, options.input, options.group, file, options.reads[number - 1])
            reader.begin(reader.committed())
        else:
            reader = Reader(clusters.target, mirror_of(options.input), options.group, file, None)
            offsets = _failed_over(options, gateway, clusters, reader)
            say(f"failed over to {mirror_of(options.input)}, offsets {offsets}")
            reader.begin(offsets)
        try:
            return _run(options, gateway, clusters, reader, stopping)
        except KafkaException as error:
            say(f"the consumer has failed: {error}")
            return 3


def _failed_over(options: Any, gateway: Any, clusters: Clusters, mirror: Reader) -> dict[int, int]:
    """The offsets from which the consumer continues in the mirror, by partition."""
    if options.offsets == SYNCED:
        return mirror.committed()
    if options.offsets == SAME:
        source = Reader(clusters.source, options.input, options.group, None, 0)  # type: ignore[arg-type]
        with closing(source):
            return source.committed()
    jvm = gateway.jvm
    translated = jvm.org.apache.kafka.connect.mirror.RemoteClusterUtils.translateOffsets(
        java_map(gateway, {"bootstrap.servers": clusters.target}),
        aliases(options.input)[0],
        options.group,
        jvm.java.time.Duration.ofSeconds(int(_SECONDS)),
    )
    topic = mirror_of(options.input)
    return {
        partition.partition(): metadata.offset()
        for partition, metadata in translated.items()
        if partition.topic() == topic
    }


def _run(options: Any, gateway: Any, clusters: Clusters, reader: Reader, stopping: Any) -> int:
    settings = failover_settings(
        clusters=clusters, topic=options.input, group=options.group, commit_ms=options.commit_interval_ms
    )
    mirror = gateway.jvm.org.apache.kafka.connect.mirror
    maker = mirror.MirrorMaker(java_map(gateway, {**settings, **options.settings}))
    maker.start()
    flow = mirror.SourceAndTarget(*aliases(options.input))
    announced, looked = False, 0.0
    while not stopping.is_set():
        reader.step()
        if time.monotonic() - looked < _LOOK_SECONDS:
            continue
        looked = time.monotonic()
        states = [task_states(maker, flow, connector) for connector in _CONNECTORS]
        if any(FAILED in state for state in states):
            say("a connector or its task has failed")
            return 3
        if not announced and all(state and set(state) == {RUNNING} for state in states):
            announced = True
            ready()
    reader.close()
    maker.stop()
    gateway.shutdown()
    return 0
