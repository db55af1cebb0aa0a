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
from workloads.records.producer.outcomes import ForeignError

REFUSALS: tuple[tuple[str, str], ...] = (
    # max.block.ms passed without metadata; the record was never queued (KafkaProducer.waitOnMetadata).
    ("TimeoutException", r"^Topic \S+ not present in metadata after \d+ ms"),
    # max.block.ms passed before it could be queued (BufferPool.allocate, KafkaProducer.waitOnMetadata).
    ("TimeoutException", r"^Failed to (allocate|update metadata)"),
    # No room in buffer.memory within max.block.ms; the record was never queued (BufferPool.allocate).
    ("BufferExhaustedException", r"^Failed to allocate"),
    # Above max.request.size or buffer.memory; never queued (KafkaProducer.ensureValidRecordSize).
    ("RecordTooLargeException", r"^The message is \d+ bytes when serialized which is larger than"),
    # There were no bytes to be sent (KafkaProducer.doSend: raised before the record is appended).
    ("SerializationException", ""),
)
"""The simple class names of exceptions and patterns of their messages that tell a refusal, whose outcome is
`rejected`; that of every other exception is `indeterminate`."""


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
    refused = any(name == exception and re.search(pattern, message or "") for name, pattern in REFUSALS)
    return SendOutcome.REJECTED if refused else SendOutcome.INDETERMINATE


JVM_ENDED = "JvmEnded"
"""Our own error name for a report that never comes because the client's JVM has ended."""


@dataclass(frozen=True, slots=True)
class JavaError(ForeignError):
    """An error report of the Java client, with the calls of confluent-kafka's `KafkaError`."""

    exception: str
    message: str | None = None

    def outcome(self, acks: str) -> SendOutcome:
        return outcome_of(self.exception, self.message, acks)

    def name(self) -> str:
        return self.exception

    def str(self) -> str:
        return self.exception if self.message is None else f"{self.exception}: {self.message}"

    def code(self) -> int:
        return int(KafkaError._FATAL if self.fatal() else KafkaError.UNKNOWN)

    def fatal(self) -> bool:
        return self.exception == JVM_ENDED
