"""The promises of single settings about records, each with its source; other settings promise nothing."""

from __future__ import annotations

from dataclasses import dataclass

from harness.audit.rule import BROKER_DOCS, CONSUMER_DOCS, JAVA_DOCS, RDK_DOCS, TOPIC_DOCS


@dataclass(frozen=True, slots=True)
class GuaranteeRule:
    """A setting's promise; `by_value` has more exact ones for values in lower case."""

    says: str
    source: str
    by_value: dict[str, str]


def _one(says: str, source: str, **by_value: str) -> GuaranteeRule:
    return GuaranteeRule(says, source, by_value)


_ACKS = {
    "0": "no broker confirms anything: the client itself reports success",
    "1": "the leader has the record in its log; followers may not have it yet",
    "all": "every replica in the ISR has the record, and the ISR has at least min.insync.replicas members",
}

PROMISES: dict[str, GuaranteeRule] = {
    "acks": GuaranteeRule(
        "which replicas must have a record before it is acknowledged",
        f"{JAVA_DOCS}, acks",
        {
            **_ACKS,
            "-1": _ACKS["all"],
        },
    ),
    "enable.idempotence": _one(
        "whether retries write a record only once, and in order",
        f"{JAVA_DOCS}, enable.idempotence (KIP-98)",
        true="retries of one producer instance write a record only once, and in order",
        false="retries may write a record twice, and out of order",
    ),
    "max.in.flight.requests.per.connection": _one(
        "number of unanswered requests at a time; above 1 without idempotence retries may reorder them",
        f"{JAVA_DOCS}, max.in.flight.requests.per.connection",
    ),
    "retries": _one(
        "how often a failed request is sent again; delivery.timeout.ms ends the retries earlier",
        f"{JAVA_DOCS}, retries",
    ),
    "delivery.timeout.ms": _one(
        "a send is reported within this time; after a reported failure the record may still be in the log",
        f"{JAVA_DOCS}, delivery.timeout.ms (KIP-91); {RDK_DOCS}, message.timeout.ms",
    ),
    "request.timeout.ms": _one(
        "Java: how long the client waits for an answer before it sends a request again. librdkafka: how long "
        "the broker waits for the ISR; the client itself waits for socket.timeout.ms",
        f"{JAVA_DOCS}, request.timeout.ms; {RDK_DOCS}, request.timeout.ms",
    ),
    "socket.timeout.ms": _one(
        "how long the client waits for an answer before it sends a request again",
        f"{RDK_DOCS}, socket.timeout.ms",
    ),
    "linger.ms": _one("how long a batch waits for more records", f"{JAVA_DOCS}, linger.ms"),
    "max.block.ms": _one(
        "how long send() may block; then it throws, and the record is not in the log",
        f"{JAVA_DOCS}, max.block.ms",
    ),
    "transactional.id": _one(
        "transactions: read_committed readers get all records of one, or none; an older producer with the "
        "same id is fenced",
        f"{JAVA_DOCS}, transactional.id (KIP-98)",
    ),
    "transaction.timeout.ms": _one(
        "the coordinator aborts a transaction that is open for longer",
        f"{JAVA_DOCS}, transaction.timeout.ms",
    ),
    "enable.gapless.guarantee": _one(
        "a failed batch stops the producer, so that the log has no gap before a later record",
        f"{RDK_DOCS}, enable.gapless.guarantee",
    ),
    "min.insync.replicas": _one(
        "with acks=all nothing is acknowledged while the ISR is smaller; it does not apply to acks=1",
        f"{TOPIC_DOCS}, min.insync.replicas",
    ),
    "unclean.leader.election.enable": _one(
        "whether a replica outside the ISR may become leader",
        f"{TOPIC_DOCS}, unclean.leader.election.enable (KIP-106)",
        true="a replica outside the ISR may become leader: availability before durability",
        false="only a replica in the ISR may become leader: durability before availability",
    ),
    "replication.factor": _one("number of replicas of a partition", "Kafka documentation, Replication"),
    "default.replication.factor": _one(
        "number of replicas of a topic that is created without a replication factor",
        f"{BROKER_DOCS}, default.replication.factor",
    ),
    "retention.ms": _one("records older than this may be deleted", f"{TOPIC_DOCS}, retention.ms"),
    "retention.bytes": _one(
        "the oldest records may be deleted when a partition is larger than this",
        f"{TOPIC_DOCS}, retention.bytes",
    ),
    "cleanup.policy": _one(
        "how records are removed",
        f"{TOPIC_DOCS}, cleanup.policy",
        delete="records are deleted by age and size (retention.ms, retention.bytes)",
        compact="the newest record of each key is kept; older ones are removed",
    ),
    "flush.messages": _one(
        "number of records after which a log is flushed to disk; durability comes from replication instead",
        f"{TOPIC_DOCS}, flush.messages",
    ),
    "replica.lag.time.max.ms": _one(
        "a follower that has not caught up for this time leaves the ISR",
        f"{BROKER_DOCS}, replica.lag.time.max.ms",
    ),
    "offsets.topic.replication.factor": _one(
        "number of replicas of the offsets of consumer groups",
        f"{BROKER_DOCS}, offsets.topic.replication.factor",
    ),
    "auto.create.topics.enable": _one(
        "whether a request for an unknown topic creates it, with the brokers' defaults",
        f"{BROKER_DOCS}, auto.create.topics.enable",
    ),
    "group.id": _one("members of one group share partitions and offsets", f"{CONSUMER_DOCS}, group.id"),
    "group.instance.id": _one(
        "a member that comes back within session.timeout.ms keeps its partitions",
        f"{CONSUMER_DOCS}, group.instance.id (KIP-345)",
    ),
    "auto.offset.reset": _one(
        "where a group without a committed offset starts",
        f"{CONSUMER_DOCS}, auto.offset.reset",
        earliest="a group without a committed offset starts at the first record",
        latest="a group without a committed offset starts at the end and never gets earlier records",
        none="a group without a committed offset gets an error",
    ),
    "enable.auto.commit": _one(
        "who commits offsets",
        f"{CONSUMER_DOCS}, enable.auto.commit",
        true="the client commits by itself every auto.commit.interval.ms",
        false="the application commits: records that it has not committed are delivered again",
    ),
    "enable.auto.offset.store": _one(
        "whether delivering a record stores its offset for the next commit",
        f"{RDK_DOCS}, enable.auto.offset.store",
    ),
    "isolation.level": _one(
        "whether records of aborted and open transactions are delivered",
        f"{CONSUMER_DOCS}, isolation.level (KIP-98)",
        read_committed="records of committed transactions only, up to the first open one",
        read_uncommitted="all records, including those of aborted transactions",
    ),
    "session.timeout.ms": _one(
        "a member without heartbeats for this time loses its partitions",
        f"{CONSUMER_DOCS}, session.timeout.ms",
    ),
    "max.poll.interval.ms": _one(
        "a member that does not poll for this time loses its partitions, and may still process records that "
        "another member now gets",
        f"{CONSUMER_DOCS}, max.poll.interval.ms (KIP-62)",
    ),
}
