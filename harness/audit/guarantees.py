"""What single settings promise about records, each with its source. What is not here promises nothing."""

from __future__ import annotations

from dataclasses import dataclass

from harness.audit.rule import BROKER_DOCS, CONSUMER_DOCS, JAVA_DOCS, RDK_DOCS, TOPIC_DOCS


@dataclass(frozen=True, slots=True)
class GuaranteeRule:
    """What a setting says; `by_value` is more exact for values in lower case."""

    says: str
    source: str
    by_value: dict[str, str]


def _one(says: str, source: str, **by_value: str) -> GuaranteeRule:
    return GuaranteeRule(says, source, by_value)


_ACKS = {
    "0": "nobody confirms anything: a success report is the client's own word",
    "1": "the leader has it in its log; its followers may not",
    "all": "every replica that was in the ISR has it, and these are at least min.insync.replicas",
}

PROMISES: dict[str, GuaranteeRule] = {
    "acks": GuaranteeRule(
        "who must have a record before it is acknowledged",
        f"{JAVA_DOCS}, acks",
        {
            **_ACKS,
            "-1": _ACKS["all"],
        },
    ),
    "enable.idempotence": _one(
        "whether what is sent again is written once, and in order",
        f"{JAVA_DOCS}, enable.idempotence (KIP-98)",
        true="what one producer itself sends again is written once, and in order, while it lives",
        false="what is sent again may be written again, and out of order",
    ),
    "max.in.flight.requests.per.connection": _one(
        "how many requests may be under way at once; above 1 without idempotence they may change places",
        f"{JAVA_DOCS}, max.in.flight.requests.per.connection",
    ),
    "retries": _one(
        "how often a failed request is sent again; delivery.timeout.ms ends it earlier",
        f"{JAVA_DOCS}, retries",
    ),
    "delivery.timeout.ms": _one(
        "after so many ms a send has a report; if it is a failure the record may be in the log all the same",
        f"{JAVA_DOCS}, delivery.timeout.ms (KIP-91); {RDK_DOCS}, message.timeout.ms",
    ),
    "request.timeout.ms": _one(
        "Java: how long an answer is waited for before a request is sent again. librdkafka: how long the "
        "broker waits for the ISR; its own wait is socket.timeout.ms",
        f"{JAVA_DOCS}, request.timeout.ms; {RDK_DOCS}, request.timeout.ms",
    ),
    "socket.timeout.ms": _one(
        "how long an answer is waited for before a request is sent again", f"{RDK_DOCS}, socket.timeout.ms"
    ),
    "linger.ms": _one("how long a record waits for others in its batch", f"{JAVA_DOCS}, linger.ms"),
    "max.block.ms": _one(
        "how long send() may block; then it throws, and the record is not in the log",
        f"{JAVA_DOCS}, max.block.ms",
    ),
    "transactional.id": _one(
        "transactions: all of one is given to read_committed readers, or none; an older producer of the same "
        "id is fenced",
        f"{JAVA_DOCS}, transactional.id (KIP-98)",
    ),
    "transaction.timeout.ms": _one(
        "a transaction that is open so long is aborted by its coordinator",
        f"{JAVA_DOCS}, transaction.timeout.ms",
    ),
    "enable.gapless.guarantee": _one(
        "a failed batch ends the producer, so that none is missing before one that is there",
        f"{RDK_DOCS}, enable.gapless.guarantee",
    ),
    "min.insync.replicas": _one(
        "with acks=all nothing is acknowledged while the ISR is smaller; with acks=1 it says nothing",
        f"{TOPIC_DOCS}, min.insync.replicas",
    ),
    "unclean.leader.election.enable": _one(
        "whether a replica outside the ISR may lead",
        f"{TOPIC_DOCS}, unclean.leader.election.enable (KIP-106)",
        true="a replica outside the ISR may lead: availability before acknowledged records",
        false="only a replica of the ISR may lead: acknowledged records before availability",
    ),
    "replication.factor": _one("how many brokers hold a partition", "Kafka documentation, Replication"),
    "default.replication.factor": _one(
        "how many brokers hold a partition of a topic that is made without saying so",
        f"{BROKER_DOCS}, default.replication.factor",
    ),
    "retention.ms": _one("records older than this may be deleted", f"{TOPIC_DOCS}, retention.ms"),
    "retention.bytes": _one(
        "the oldest records go when a partition is larger than this", f"{TOPIC_DOCS}, retention.bytes"
    ),
    "cleanup.policy": _one(
        "what may remove records",
        f"{TOPIC_DOCS}, cleanup.policy",
        delete="records go by age and size (retention.ms, retention.bytes)",
        compact="of each key the newest record stays; older ones go",
    ),
    "flush.messages": _one(
        "after so many records a log is forced to disk; replication, not this, is what keeps records",
        f"{TOPIC_DOCS}, flush.messages",
    ),
    "replica.lag.time.max.ms": _one(
        "a follower that has not caught up for so long leaves the ISR",
        f"{BROKER_DOCS}, replica.lag.time.max.ms",
    ),
    "offsets.topic.replication.factor": _one(
        "how many brokers hold the offsets of consumer groups",
        f"{BROKER_DOCS}, offsets.topic.replication.factor",
    ),
    "auto.create.topics.enable": _one(
        "whether a name that somebody asks for becomes a topic, with the brokers' defaults",
        f"{BROKER_DOCS}, auto.create.topics.enable",
    ),
    "group.id": _one("members of one group share partitions and offsets", f"{CONSUMER_DOCS}, group.id"),
    "group.instance.id": _one(
        "a member that comes back within session.timeout.ms keeps its partitions",
        f"{CONSUMER_DOCS}, group.instance.id (KIP-345)",
    ),
    "auto.offset.reset": _one(
        "where a group without a committed offset begins",
        f"{CONSUMER_DOCS}, auto.offset.reset",
        earliest="a group without a committed offset begins at the first record there is",
        latest="a group without a committed offset begins at the end: earlier records are never given",
        none="a group without a committed offset gets an error",
    ),
    "enable.auto.commit": _one(
        "who commits offsets",
        f"{CONSUMER_DOCS}, enable.auto.commit",
        true="the client commits by itself every auto.commit.interval.ms",
        false="the application commits: what it has not committed is given again",
    ),
    "enable.auto.offset.store": _one(
        "whether handing a record out stores its offset for the next commit",
        f"{RDK_DOCS}, enable.auto.offset.store",
    ),
    "isolation.level": _one(
        "whether records of aborted and open transactions are given",
        f"{CONSUMER_DOCS}, isolation.level (KIP-98)",
        read_committed="records of committed transactions only, up to the first one that is open",
        read_uncommitted="all records, those of aborted transactions too",
    ),
    "session.timeout.ms": _one(
        "a member that is not heard of for so long loses its partitions",
        f"{CONSUMER_DOCS}, session.timeout.ms",
    ),
    "max.poll.interval.ms": _one(
        "a member that does not poll for so long loses its partitions, and may go on processing what another "
        "one now gets",
        f"{CONSUMER_DOCS}, max.poll.interval.ms (KIP-62)",
    ),
}
