"""Maps what the Java client reported to the outcome of a send.

Java's producer retries by itself and does not report how often, so an error hardly ever proves that nothing
was written. The exceptions to this are refusals by the client itself, before the record is in its queue. The
message of the exception identifies them, since Kafka uses the same classes for answers of brokers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from confluent_kafka import KafkaError

from harness.model.journal import SendOutcome


@dataclass(frozen=True, slots=True)
class JavaRow:
    """One row: an exception's simple class name and a pattern of its message, which tell a refusal."""

    exception: str
    message: str
    reason: str
    source: str


_CLIENT = "KafkaProducer.doSend: raised before the record is appended to the accumulator"

TABLE: tuple[JavaRow, ...] = (
    JavaRow(
        "TimeoutException",
        r"^Topic \S+ not present in metadata after \d+ ms",
        "max.block.ms passed without metadata; the record was never queued",
        "KafkaProducer.waitOnMetadata",
    ),
    JavaRow(
        "TimeoutException",
        r"^Failed to (allocate|update metadata)",
        "max.block.ms passed before the record could be queued",
        "BufferPool.allocate, KafkaProducer.waitOnMetadata",
    ),
    JavaRow(
        "BufferExhaustedException",
        r"^Failed to allocate",
        "no room in buffer.memory within max.block.ms; the record was never queued",
        "BufferPool.allocate",
    ),
    JavaRow(
        "RecordTooLargeException",
        r"^The message is \d+ bytes when serialized which is larger than",
        "above max.request.size or buffer.memory; the record was never queued",
        "KafkaProducer.ensureValidRecordSize",
    ),
    JavaRow("SerializationException", "", "there were no bytes to be sent", _CLIENT),
)
"""These are `rejected`; every other exception is `indeterminate`."""


def exception_name(text: str) -> str:
    """The simple name in "class org.apache.kafka.common.errors.TimeoutException"."""
    name = text.rpartition(".")[2].rpartition(" ")[2] or "Exception"
    return name.encode("ascii", "replace").decode()


def outcome_of(exception: str | None, message: str | None, acks: str) -> SendOutcome:
    """Outcome of one report of the Java client.

    Args:
        exception: the exception's simple class name; None for a success report.
        message: the exception's message.
        acks: "0", "1" or "all".
    """
    if exception is None:
        return SendOutcome.UNCONFIRMED if acks == "0" else SendOutcome.ACKED
    refused = any(row.exception == exception and re.search(row.message, message or "") for row in TABLE)
    return SendOutcome.REJECTED if refused else SendOutcome.INDETERMINATE


JVM_ENDED = "JvmEnded"
"""Our own error name for a report that never comes because the client's JVM has ended."""


@dataclass(frozen=True, slots=True)
class JavaError:
    """An error report of the Java client, with the calls of confluent-kafka's `KafkaError`."""

    exception: str
    message: str | None = None

    def name(self) -> str:
        return self.exception

    def str(self) -> str:
        return self.exception if self.message is None else f"{self.exception}: {self.message}"

    def code(self) -> int:
        return int(KafkaError._FATAL if self.fatal() else KafkaError.UNKNOWN)

    def fatal(self) -> bool:
        return self.exception == JVM_ENDED
