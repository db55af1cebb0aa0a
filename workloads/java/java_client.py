"""The Java client's producer with the calls of confluent-kafka's `Producer`, so that
`workloads.records.producer.producers.Producers` writes with either.

Measured: a JVM called through py4j sends and reports about 4,000 records/s on two busy cores.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException, Message
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]

from harness.model.errors import BadInput
from harness.model.secrets import format_settings
from workloads.java.java_outcomes import JVM_ENDED, JavaError, exception_name
from workloads.java.jvm import Jvm, java_map

_POLL_SECONDS = 0.01


def create_producer(packages: Any, properties: Mapping[str, str], access: Mapping[str, str]) -> Any:
    """A Java KafkaProducer of bytes, with these properties and those of `access` (TLS and SASL), which no
    message shows.

    Raises:
        BadInput: the client refuses them.
    """
    config = java_map(packages, {**properties, **access})
    serializer = packages.org.apache.kafka.common.serialization.ByteArraySerializer
    try:
        return packages.org.apache.kafka.clients.producer.KafkaProducer(config, serializer(), serializer())
    except Py4JJavaError as error:
        raise BadInput(
            "the Java client refuses the producer settings",
            where=f"producer settings: {format_settings(properties)}",
            expected="properties and values that the Java client knows and that fit together",
            found=_refusal(error),
            next_step="correct the named property; Kafka's documentation lists them (Producer Configs)",
        ) from error


def _refusal(error: Py4JJavaError) -> str:
    """Why a client was not made: the constructor wraps what names the property into a KafkaException."""
    cause = error.java_exception.getCause()
    text = error_of(error).str()
    return text if cause is None else f"{text}: {cause.getMessage()}"


@dataclass(frozen=True, slots=True)
class _Sent:
    """A send without a report. `future` is the Java object, or the error that `send` raised."""

    value: bytes
    partition: int
    future: Any
    callback: Callable[[Any, Message], None]


class JavaClient:
    """A Java producer in its own JVM. One thread uses it.

    Raises:
        BadInput: the client refuses the properties.
        ClusterError: the JVM does not start.
    """

    def __init__(self, jar: Path, properties: Mapping[str, str], access: Mapping[str, str]) -> None:
        self._jvm = Jvm(jar)
        try:
            self._producer = create_producer(self._jvm.packages, properties, access)
        except BaseException:
            self._jvm.close()
            raise
        self._record = self._jvm.packages.org.apache.kafka.clients.producer.ProducerRecord
        self._sent: dict[int, deque[_Sent]] = {}
        self._ended = False
        self._next_poll = 0.0

    def produce(
        self,
        topic: str,
        value: bytes,
        key: bytes | None,
        partition: int,
        on_delivery: Callable[[Any, Message], None],
    ) -> None:
        """Send a record to a partition (below 0: the client chooses). The client may wait for metadata or
        memory first, at most max.block.ms.

        Raises:
            KafkaException: the JVM has ended.
        """
        # A slice of records at full speed takes long here, and would delay the reports of earlier ones.
        if time.monotonic() >= self._next_poll:
            self.poll()
        future: Any
        try:
            chosen = None if partition < 0 else partition
            future = self._producer.send(self._record(topic, chosen, key, value))
        except Py4JJavaError as error:
            future = error_of(error)
        except (Py4JError, OSError) as error:
            self._ended = True
            raise KafkaException(JavaError(JVM_ENDED, str(error))) from error
        self._sent.setdefault(partition, deque()).append(_Sent(value, partition, future, on_delivery))

    def poll(self, seconds: float = 0) -> int:
        """Give the reports that have arrived to their callbacks, waiting for the first at most `seconds`;
        returns their number."""
        deadline = time.monotonic() + seconds
        while True:
            # The reports of a partition arrive in order, except that a retry delays the reports behind it.
            served = sum(self._serve(waiting) for waiting in self._sent.values())
            now = time.monotonic()
            self._next_poll, left = now + _POLL_SECONDS, deadline - now
            if served or left <= 0:
                return served
            # The caller relies on this wait even if no send is open.
            time.sleep(min(left, _POLL_SECONDS) if len(self) else left)

    def _serve(self, waiting: deque[_Sent]) -> int:
        served = 0
        while waiting:
            sent = waiting[0]
            # For confluent-kafka's message a partition or offset below 0 is none. It has no latency: the
            # client may have retried, and does not say how often.
            partition, offset, error = sent.partition, -1, None
            try:
                if isinstance(sent.future, JavaError):
                    error = sent.future
                elif self._ended:
                    error = JavaError(JVM_ENDED)
                elif not sent.future.isDone():
                    break
                else:
                    # One call for both numbers: "TOPIC-PARTITION@OFFSET", -1 if no broker named an offset.
                    topic_partition, _, number = sent.future.get().toString().rpartition("@")
                    partition = int(topic_partition.rpartition("-")[2])
                    offset = int(number)
            except Py4JJavaError as failure:
                error = error_of(failure)
            except (Py4JError, OSError):
                self._ended = True
                continue
            waiting.popleft()
            served += 1
            sent.callback(error, Message(value=sent.value, partition=partition, offset=offset))
        return served

    def flush(self, seconds: float) -> int:
        """Wait at most `seconds` for the reports of all sends; returns the number of those without one."""
        deadline = time.monotonic() + seconds
        while len(self) and (left := deadline - time.monotonic()) > 0:
            self.poll(left)
        return len(self)

    def purge(self, **_: object) -> None:
        """Give up what is not delivered: each such send fails, and its report can be polled."""
        with suppress(Py4JError, OSError):
            self._producer.close(self._jvm.packages.java.time.Duration.ZERO)

    def close(self) -> None:
        """End the client and its JVM."""
        self.purge()
        self._jvm.close()

    def __len__(self) -> int:
        return sum(map(len, self._sent.values()))


def error_of(error: Py4JJavaError) -> JavaError:
    """A Java exception as an error report."""
    outer = error.java_exception
    # A future wraps the client's own exception into another one.
    wrapped = outer.getClass().getName() == "java.util.concurrent.ExecutionException"
    cause = outer.getCause() or outer if wrapped else outer
    return JavaError(exception_name(cause.getClass().getName()), cause.getMessage())
