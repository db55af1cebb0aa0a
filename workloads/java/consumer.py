"""The Java client's consumer with those calls of confluent-kafka's `Consumer` that live readers make, and the
program of its process: `python -m workloads.java.consumer`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]

from workloads.java.java_client import error_of
from workloads.java.jvm import Jvm, each_of, java_duration, java_list, java_map
from workloads.records.reader.consumer_process import serve

PROGRAM = ("-m", "workloads.java.consumer")
"""Arguments of Python, for `ConsumerProcess`."""
_JAR, _ACCESS, _ON_COMMIT, _STATISTICS = "jar", "access", "on_commit", "stats_cb"
_TIMESTAMP_TYPES = {"NoTimestampType": 0, "CreateTime": 1, "LogAppendTime": 2}
_END_SECONDS = 0.25
"""The time between two questions whether the end of a partition is reached."""

Callback = Callable[[Any, list[TopicPartition]], None]


def with_access(make: Callable[..., Any], jar: Path, access: Mapping[str, str]) -> Callable[..., Any]:
    """`make`, for consumers with the client of this jar and these properties for TLS and SASL."""

    def made(config: Mapping[str, Any], **named: Any) -> Any:
        return make({**config, _JAR: str(jar), _ACCESS: dict(access)}, **named)

    return made


class JavaConsumer:
    """A KafkaConsumer in a JVM of its own. `config` has its properties, the path of its `jar`, and under
    `access` the properties for TLS and SASL. It does not report its commits.

    Raises:
        KafkaException: the client refuses the properties.
        ClusterError: the JVM does not start.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        ours = (_JAR, _ACCESS, _ON_COMMIT, _STATISTICS)
        properties = {name: value for name, value in config.items() if name not in ours} | config[_ACCESS]
        self._jvm = Jvm(Path(config[_JAR]))
        self._jvm.accept_callbacks()
        self._packages = self._jvm.packages
        self._ends: dict[tuple[str, int], int] = {}
        self._looked = 0.0
        self._callbacks: dict[str, Callback] = {}
        bytes_of = self._packages.org.apache.kafka.common.serialization.ByteArrayDeserializer
        try:
            with _as_kafka_errors():
                self._consumer = self._packages.org.apache.kafka.clients.consumer.KafkaConsumer(
                    java_map(self._packages, properties), bytes_of(), bytes_of()
                )
        except KafkaException:
            self._jvm.close()
            raise

    def subscribe(self, topics: Sequence[str], **callbacks: Callback) -> None:
        """Subscribe; callbacks get this consumer and the partitions, from another thread while the call of
        the consumer that makes them waits."""
        self._callbacks = callbacks
        names = java_list(self._packages, *topics)
        with _as_kafka_errors():
            self._consumer.subscribe(names, self)

    def consume(self, _: int, seconds: float) -> list[Message]:
        """The records of one poll; without any, the ends of partitions that were reached. How many there are
        at most is max.poll.records."""
        with _as_kafka_errors():
            records = self._consumer.poll(java_duration(self._packages, seconds))
            messages = [_message(record) for record in each_of(records)]
            return messages or self._reached()

    def memberid(self) -> str:
        """Unknown: only the thread that polls may ask the client for it."""
        return ""

    def get_watermark_offsets(self, topic_partition: TopicPartition, timeout: float) -> tuple[int, int]:
        """Begin and end of what the consumer may read of a partition."""
        with _as_kafka_errors():
            wait = java_duration(self._packages, timeout)
            partition = self._packages.org.apache.kafka.common.TopicPartition(
                topic_partition.topic, topic_partition.partition
            )
            partitions = java_list(self._packages, partition)
            return (
                int(self._consumer.beginningOffsets(partitions, wait).get(partition)),
                int(self._consumer.endOffsets(partitions, wait).get(partition)),
            )

    def close(self) -> None:
        """Close the consumer, which makes its last commit, and end the JVM."""
        try:
            with _as_kafka_errors():
                self._consumer.close()
        finally:
            self._jvm.close()

    def _reached(self) -> list[Message]:
        """What confluent-kafka's consumer gives at the end of each partition, once for each end."""
        if time.monotonic() - self._looked < _END_SECONDS:
            return []
        self._looked = time.monotonic()
        assigned = self._consumer.assignment()
        ends = self._consumer.endOffsets(assigned)
        messages = []
        for partition in each_of(assigned):
            where = str(partition.topic()), int(partition.partition())
            end, position = int(ends.get(partition)), int(self._consumer.position(partition))
            if position >= end and self._ends.get(where) != end:
                self._ends[where] = end
                error = KafkaError(KafkaError._PARTITION_EOF)
                messages.append(Message(topic=where[0], partition=where[1], offset=end, error=error))
        return messages

    # As the rebalance listener: Java calls these, in a thread of its own.
    class Java:
        implements = ("org.apache.kafka.clients.consumer.ConsumerRebalanceListener",)

    def onPartitionsAssigned(self, partitions: Any) -> None:
        self._rebalanced("on_assign", partitions)

    def onPartitionsRevoked(self, partitions: Any) -> None:
        self._rebalanced("on_revoke", partitions)

    def onPartitionsLost(self, partitions: Any) -> None:
        self._rebalanced("on_lost", partitions)

    def _rebalanced(self, event: str, partitions: Any) -> None:
        changed = [
            TopicPartition(str(partition.topic()), int(partition.partition()))
            for partition in each_of(partitions)
        ]
        for partition in changed:
            self._ends.pop((partition.topic, partition.partition), None)
        if (call := self._callbacks.get(event)) is not None and (changed or event == "on_assign"):
            call(self, changed)


def _message(record: Any) -> Message:
    key, value = record.key(), record.value()
    epoch = record.leaderEpoch()
    # The class does not accept None for a number that a message lacks.
    more: dict[str, Any] = {"leader_epoch": int(epoch.get())} if epoch.isPresent() else {}
    return Message(
        topic=str(record.topic()),
        partition=int(record.partition()),
        offset=int(record.offset()),
        key=None if key is None else bytes(key),
        value=None if value is None else bytes(value),
        headers=[(str(header.key()), bytes(header.value())) for header in each_of(record.headers())],
        timestamp=(_TIMESTAMP_TYPES[record.timestampType().toString()], int(record.timestamp())),
        **more,
    )


@contextmanager
def _as_kafka_errors() -> Iterator[None]:
    try:
        yield
    except Py4JJavaError as error:
        report = error_of(error)
        cause = error.java_exception.getCause()
        more = "" if cause is None else f" ({cause.getMessage()})"
        raise KafkaException(KafkaError(KafkaError._FAIL, f"{report.str()}{more}")) from error
    except (Py4JError, OSError) as error:
        raise KafkaException(KafkaError(KafkaError._FAIL, f"the JVM has ended: {error}")) from error


if __name__ == "__main__":
    serve(JavaConsumer)
