"""Maps what the client reported to the outcome of a send.

`rejected` must mean that the record was certainly never written, so it is used in two cases only: the client
refused the record before queueing it, or a broker refused the one and only attempt with an error that the
protocol defines as not appended. Everything else that is not a success is indeterminate.

librdkafka needs care here. With retries=0 it still resends a batch, uncounted, after errors that it takes
to mean "not written" and that need new metadata (NOT_LEADER_FOR_PARTITION among them: see
`rd_kafka_handle_Produce_error`; findings/retries-0-sends-again.sh). Under acks=all that first attempt may
have been appended (KAFKA-13574). A resend waits at least for its back-off, so `single_attempt` is proved by
retries=0 **and** a report sooner than that back-off: see
`workloads.records.config.producer_settings.ProducerSettings.single_attempt_ns`.

Error names are librdkafka's, as `KafkaError.name()` gives them; names that start
with "_" are the client's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from harness.model.journal import SendOutcome

NO_REPORT = "_NO_REPORT"
"""Our own error name for a send whose report never arrived."""
ANY = "*"
FENCED = frozenset({"_FENCED", "ProducerFencedException", "InvalidProducerEpochException"})
"""Errors of calls about transactions which say that another producer has taken the transactional.id; the
_FENCED of librdkafka stands for PRODUCER_FENCED and INVALID_PRODUCER_EPOCH (`rd_kafka_txn_normalize_err`)."""


class ForeignError(ABC):
    """An error report of another client, which knows itself what it says of the send."""

    __slots__ = ()

    @abstractmethod
    def outcome(self, acks: str) -> SendOutcome:
        """The outcome of the send, by `acks` ("0", "1" or "all")."""


class OutcomeCondition(StrEnum):
    """A condition, besides the error name, under which a row of the table applies."""

    ACKS_0 = "acks=0"
    ACKS_SOME = "acks=1 or acks=all"
    NOT_QUEUED = "refused by produce() before it was queued"
    ONE_ATTEMPT = "proved to be the only attempt"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """One row: `error` (None: success, `ANY`: any error) and `when` lead to `outcome`; `why` has a source."""

    error: str | None
    when: OutcomeCondition
    outcome: SendOutcome
    why: str


_PROTOCOL = "Kafka protocol guide, error codes; ReplicaManager.appendToLocalLog"
_VALIDATION = "Kafka's LogValidator and UnifiedLog.append: the batch is checked before it is written"


def _refused(error: str, reason: str, source: str = _PROTOCOL) -> OutcomeRow:
    why = f"{reason} ({source})"
    return OutcomeRow(error, OutcomeCondition.ONE_ATTEMPT, SendOutcome.REJECTED, why)


def _unclear(error: str, why: str) -> OutcomeRow:
    return OutcomeRow(error, OutcomeCondition.ALWAYS, SendOutcome.INDETERMINATE, why)


TABLE: tuple[OutcomeRow, ...] = (
    OutcomeRow(
        None,
        OutcomeCondition.ACKS_0,
        SendOutcome.UNCONFIRMED,
        "no broker answers under acks=0: the report only says that the client wrote to its socket, and has "
        "no offset (Kafka producer configuration, acks)",
    ),
    OutcomeRow(
        None,
        OutcomeCondition.ACKS_SOME,
        SendOutcome.ACKED,
        "the leader answered that it appended the record, and under acks=all that the whole ISR has it "
        "(Kafka producer configuration, acks)",
    ),
    OutcomeRow(
        ANY,
        OutcomeCondition.NOT_QUEUED,
        SendOutcome.REJECTED,
        "produce() raised: the record is not enqueued and no report follows (librdkafka, rd_kafka_producev)",
    ),
    _refused("MSG_SIZE_TOO_LARGE", "above max.message.bytes; checked before appending", _VALIDATION),
    _refused("RECORD_LIST_TOO_LARGE", "above segment.bytes; checked before appending", _VALIDATION),
    _refused("INVALID_MSG", "the batch's CRC or size did not check; nothing of it is appended", _VALIDATION),
    _refused("INVALID_MSG_SIZE", "the batch's size did not check; nothing of it is appended", _VALIDATION),
    _refused("INVALID_RECORD", "a record failed validation; the whole batch is refused", "KIP-467"),
    _refused("INVALID_TIMESTAMP", "the timestamp is out of range; the whole batch is refused", "KIP-467"),
    _refused("UNSUPPORTED_FOR_MESSAGE_FORMAT", "the log's format cannot hold the batch", _VALIDATION),
    _refused("UNSUPPORTED_COMPRESSION_TYPE", "the broker does not take this compression", "KIP-110"),
    _refused("TOPIC_AUTHORIZATION_FAILED", "authorization is checked before the log is touched"),
    _refused("CLUSTER_AUTHORIZATION_FAILED", "authorization is checked before the log is touched"),
    _refused("TOPIC_EXCEPTION", "writing to this topic is not allowed or its name is invalid"),
    _refused("INVALID_REQUIRED_ACKS", "acks is checked before the log is touched"),
    _refused("POLICY_VIOLATION", "the request broke a policy of the broker and was not carried out"),
    _refused("NOT_ENOUGH_REPLICAS", "the ISR is checked before appending", "Partition.appendRecordsToLeader"),
    _unclear("NOT_ENOUGH_REPLICAS_AFTER_APPEND", "appended, then the ISR was too small (protocol guide)"),
    _unclear("NOT_LEADER_FOR_PARTITION", "may be appended before leadership moved (KAFKA-13574)"),
    _unclear("REQUEST_TIMED_OUT", "appended on the leader; the ISR did not have it in time (DelayedProduce)"),
    _unclear("KAFKA_STORAGE_ERROR", "the disk failed, maybe after a part of the batch was written (KIP-112)"),
    # librdkafka sends again, or marks these possibly persisted (rd_kafka_handle_Produce_error).
    _unclear("UNKNOWN_TOPIC_OR_PART", "sent again uncounted; an earlier attempt may have been appended"),
    _unclear("OUT_OF_ORDER_SEQUENCE_NUMBER", "an attempt before it may have been appended (KIP-98)"),
    _unclear("DUPLICATE_SEQUENCE_NUMBER", "an earlier attempt was appended, at an unknown offset (KIP-98)"),
    _unclear("UNKNOWN_PRODUCER_ID", "the producer's state was lost, maybe after an append (KIP-360)"),
    _unclear("INVALID_PRODUCER_EPOCH", "the producer was fenced, maybe after an append (KIP-360, KIP-588)"),
    _unclear("_MSG_TIMED_OUT", "never sent, or sent without an answer (librdkafka, INTRODUCTION.md)"),
    _unclear("_TIMED_OUT", "no answer in time; the request may have been carried out (rdkafka.h)"),
    _unclear("_TRANSPORT", "the connection broke; the request may have been carried out (rdkafka.h)"),
    _unclear("_PURGE_INFLIGHT", "purged while a request was in flight (librdkafka, rd_kafka_purge)"),
    _unclear("_PURGE_QUEUE", "purged from the queue, maybe after an attempt had failed (rd_kafka_purge)"),
    _unclear("_INVALID_DIFFERENT_RECORD", "the client's word on other records of a refused batch (KIP-467)"),
    _unclear("_FATAL", "a fatal error of the client, with the record queued or in flight (rdkafka.h)"),
    _unclear(NO_REPORT, "no report arrived before the journal was closed (kafka-chaos's own name)"),
    _unclear(ANY, "not known to mean that nothing was written (every other error report)"),
)
"""The first row that matches decides; the last row matches everything."""


@lru_cache(maxsize=1024)
def explain(error: str | None, acks: str, *, single_attempt: bool = False, queued: bool = True) -> OutcomeRow:
    """The row of the table that decides the outcome of one report.

    Args:
        error: the client's error name; None for a success report.
        acks: "0", "1" or "all".
        single_attempt: whether it is proved that the record was sent at most once.
        queued: False when produce() itself refused the record.
    """
    holds = {
        OutcomeCondition.ALWAYS: True,
        OutcomeCondition.ACKS_0: acks == "0",
        OutcomeCondition.ACKS_SOME: acks != "0",
        OutcomeCondition.NOT_QUEUED: not queued,
        # Under acks=0 no broker answers, so an error cannot be one's answer to this very record.
        OutcomeCondition.ONE_ATTEMPT: single_attempt and acks != "0",
    }
    for row in TABLE:
        fits = row.error == error or (row.error == ANY and error is not None)
        if fits and holds[row.when]:
            return row
    raise ValueError(f"no row for error {error!r} under acks={acks!r}")


def classify(
    error: str | None, acks: str, *, single_attempt: bool = False, queued: bool = True
) -> SendOutcome:
    """Outcome of one report; arguments as for `explain`."""
    return explain(error, acks, single_attempt=single_attempt, queued=queued).outcome
