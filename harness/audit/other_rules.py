"""Rules about topics, brokers and consumers, and about their effect on a producer's promise."""

from __future__ import annotations

from harness.audit.effective_settings import ASSIGNORS, EffectiveSettings, is_plain
from harness.audit.known_settings import SERVER_KINDS, ClientLibrary
from harness.audit.rule import (
    BROKER_DOCS,
    CONSUMER_DOCS,
    RDK_DOCS,
    TOPIC_DOCS,
    TRANSACTIONS,
    UNCLEAN,
    AuditRule,
    RuleProof,
    contradiction,
    refused,
    risk,
)
from harness.model.result import FindingClass

_COPIES = ("min.insync.replicas", "replication.factor", "default.replication.factor")
_COOPERATIVE = "cooperative-sticky"
_MECHANISMS = ("GSSAPI", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_LATEST = ("latest", "largest", "end")


def _storing(subject: EffectiveSettings) -> bool:
    """Whether the configuration has settings of topics or brokers."""
    return not subject.kinds.isdisjoint(SERVER_KINDS) or "min.insync.replicas" in subject.written


def _acks_all(subject: EffectiveSettings) -> bool:
    return subject.producing and subject.acks == "all"


def _copies(subject: EffectiveSettings) -> int | None:
    """The number of replicas, if it is configured; -1 means the brokers' default."""
    for name in ("replication.factor", "default.replication.factor"):
        if name in subject.written and (copies := subject.number(name, -1)) != -1:
            return copies
    return None


def _least(subject: EffectiveSettings) -> int:
    return subject.number("min.insync.replicas") or 1


def _asks_for_all(subject: EffectiveSettings) -> bool:
    """Whether acks=all needs every replica, of several; more than there are means all since Kafka 3.7."""
    copies, least = _copies(subject) or 0, _least(subject)
    return copies > 1 and (least == copies or (least > copies and subject.kafka >= (3, 7)))


def _other_mechanism(subject: EffectiveSettings) -> bool:
    """Whether SASL is used with a mechanism that librdkafka does not know, or that is in another case. The
    Java client may have mechanisms of its own."""
    name = subject.value("sasl.mechanism") or ""
    unknown = name not in _MECHANISMS and (
        subject.client is ClientLibrary.LIBRDKAFKA or name.upper() in _MECHANISMS
    )
    return unknown and is_plain(name) and subject.has("security.protocol", "sasl_plaintext", "sasl_ssl")


RULES: tuple[AuditRule, ...] = (
    contradiction(
        "acks-all-alone",
        ("acks", "min.insync.replicas"),
        lambda s: _acks_all(s) and _storing(s) and _least(s) == 1,
        "acks=all with min.insync.replicas=1: when all followers have left the ISR, the leader acknowledges "
        "alone, as with acks=1",
        "set min.insync.replicas=2 with replication.factor=3",
        f"{TOPIC_DOCS}, min.insync.replicas",
        FindingClass.LOST,
        RuleProof("last-replica", ("min.insync.replicas=1", "min.insync.replicas=2")),
    ),
    contradiction(
        "minisr-above-copies",
        _COPIES,
        lambda s: (copies := _copies(s)) is not None and _least(s) > copies,
        "min.insync.replicas={min.insync.replicas} is greater than the number of replicas: with acks=all no "
        "send can ever succeed (NOT_ENOUGH_REPLICAS)",
        "set replication.factor=3 and min.insync.replicas=2",
        f"{TOPIC_DOCS}, min.insync.replicas",
        before="3.7",
    ),
    risk(
        "minisr-capped",
        _COPIES,
        lambda s: _copies(s) == 1 and _least(s) > 1,
        "min.insync.replicas={min.insync.replicas} has no effect with one replica: a leader asks for at most "
        "as many replicas as the partition has, and acknowledges acks=all alone",
        "set replication.factor=3 and min.insync.replicas=2",
        "KIP-966, KAFKA-21110",
        FindingClass.LOST,
        since="3.7",
    ),
    risk(
        "minisr-all-copies",
        _COPIES,
        _asks_for_all,
        "min.insync.replicas={min.insync.replicas} asks for all replicas: while one broker is down, even for "
        "a restart, writing with acks=all is impossible",
        "set replication.factor one above min.insync.replicas",
        f"{TOPIC_DOCS}, min.insync.replicas",
    ),
    risk(
        "one-copy",
        ("replication.factor", "default.replication.factor"),
        lambda s: _copies(s) == 1,
        "one replica: while its broker is down nothing can be written or read, and there is no second copy",
        "set replication.factor=3",
        "Kafka documentation, Replication",
        FindingClass.LOST,
    ),
    contradiction(
        "unclean-with-acks-all",
        ("unclean.leader.election.enable", "acks"),
        lambda s: s.says("unclean.leader.election.enable", "true") and _acks_all(s),
        "unclean.leader.election.enable=true: a replica outside the ISR may be elected, and records that "
        "were acknowledged with acks=all are truncated",
        "set unclean.leader.election.enable=false",
        f"{TOPIC_DOCS}, unclean.leader.election.enable (KIP-106)",
        FindingClass.LOST,
        UNCLEAN,
    ),
    risk(
        "unclean",
        ("unclean.leader.election.enable",),
        lambda s: s.says("unclean.leader.election.enable", "true") and not _acks_all(s),
        "unclean.leader.election.enable=true: a replica outside the ISR may be elected, and acknowledged "
        "records are truncated",
        "set unclean.leader.election.enable=false",
        f"{TOPIC_DOCS}, unclean.leader.election.enable (KIP-106)",
        FindingClass.LOST,
        UNCLEAN,
    ),
    risk(
        "offsets-one-copy",
        ("offsets.topic.replication.factor",),
        lambda s: s.written.get("offsets.topic.replication.factor") == "1",
        "offsets.topic.replication.factor=1: if its broker fails, the offsets of consumer groups are lost",
        "set offsets.topic.replication.factor=3",
        f"{BROKER_DOCS}, offsets.topic.replication.factor",
        FindingClass.REDELIVERED,
    ),
    risk(
        "transactions-one-copy",
        ("transaction.state.log.replication.factor", "transaction.state.log.min.isr"),
        lambda s: (
            s.written.get("transaction.state.log.replication.factor") == "1"
            or s.written.get("transaction.state.log.min.isr") == "1"
        ),
        "the transaction log has one replica, or is acknowledged by one: if that fails, the state of open "
        "transactions is lost",
        "set transaction.state.log.replication.factor=3 and transaction.state.log.min.isr=2",
        f"{BROKER_DOCS}, transaction.state.log.min.isr",
        FindingClass.TORN_TRANSACTION,
        TRANSACTIONS,
    ),
    refused(
        "transaction-timeout",
        ("transaction.timeout.ms", "transaction.max.timeout.ms"),
        lambda s: (
            "transaction.timeout.ms" in s.written
            and s.number("transaction.timeout.ms") > s.number("transaction.max.timeout.ms")
        ),
        "transaction.timeout.ms={transaction.timeout.ms} is longer than the brokers' "
        "transaction.max.timeout.ms={transaction.max.timeout.ms}: they refuse it",
        "lower transaction.timeout.ms",
        "Kafka documentation, Producer Configs, transaction.timeout.ms",
    ),
    contradiction(
        "dirty-read",
        ("isolation.level", "transactional.id"),
        lambda s: (
            s.transactional
            and (s.consuming or "isolation.level" in s.written)
            and s.value("isolation.level") == "read_uncommitted"
        ),
        "the producer writes transactions, and the consumer reads with isolation.level=read_uncommitted "
        "(the Java client's default): it gets records of aborted ones",
        "set isolation.level=read_committed",
        f"{CONSUMER_DOCS}, isolation.level (KIP-98)",
        FindingClass.ABORTED_READ,
        TRANSACTIONS,
    ),
    risk(
        "latest",
        ("auto.offset.reset",),
        lambda s: s.consuming and s.has("auto.offset.reset", *_LATEST),
        "auto.offset.reset={auto.offset.reset}: a group without a committed offset (new, expired or out of "
        "range) starts at the end and never gets earlier records",
        "set auto.offset.reset=earliest where every record counts",
        f"{CONSUMER_DOCS}, auto.offset.reset",
        FindingClass.SKIPPED,
    ),
    risk(
        "auto-commit-java",
        ("enable.auto.commit",),
        lambda s: s.consuming and s.has("enable.auto.commit", "true"),
        "enable.auto.commit=true: poll commits the records of the previous poll. Records that were passed to "
        "another thread may be committed before they are processed, and are skipped after a crash",
        "set enable.auto.commit=false and commit what has been processed",
        f"{CONSUMER_DOCS}, enable.auto.commit",
        FindingClass.SKIPPED,
        client=ClientLibrary.JAVA,
    ),
    risk(
        "auto-commit-librdkafka",
        ("enable.auto.commit", "enable.auto.offset.store"),
        lambda s: (
            s.consuming and s.has("enable.auto.commit", "true") and s.has("enable.auto.offset.store", "true")
        ),
        "enable.auto.commit=true with enable.auto.offset.store=true: an offset is stored when the record is "
        "delivered, and may be committed before it is processed: it is skipped after a crash",
        "set enable.auto.offset.store=false and store offsets after processing",
        f"{RDK_DOCS}, enable.auto.offset.store",
        FindingClass.SKIPPED,
        client=ClientLibrary.LIBRDKAFKA,
    ),
    refused(
        "auto-commit-no-group",
        ("enable.auto.commit", "group.id"),
        lambda s: s.says("enable.auto.commit", "true") and not s.written.get("group.id"),
        "enable.auto.commit=true without a group.id: the client refuses to start",
        "set group.id",
        f"{CONSUMER_DOCS}, group.id (KIP-289)",
        client=ClientLibrary.JAVA,
    ),
    refused(
        "heartbeat",
        ("heartbeat.interval.ms", "session.timeout.ms"),
        lambda s: (
            s.names("heartbeat.interval.ms", "session.timeout.ms")
            and s.consuming
            and s.number("heartbeat.interval.ms") >= s.number("session.timeout.ms")
        ),
        "heartbeat.interval.ms={heartbeat.interval.ms} is not lower than "
        "session.timeout.ms={session.timeout.ms}: the client refuses to start",
        "set heartbeat.interval.ms to a third of session.timeout.ms",
        f"{CONSUMER_DOCS}, heartbeat.interval.ms",
        client=ClientLibrary.JAVA,
    ),
    refused(
        "poll-interval",
        ("max.poll.interval.ms", "session.timeout.ms"),
        lambda s: (
            s.names("max.poll.interval.ms", "session.timeout.ms")
            and s.consuming
            and s.number("max.poll.interval.ms") < s.number("session.timeout.ms")
        ),
        "max.poll.interval.ms={max.poll.interval.ms} is lower than session.timeout.ms={session.timeout.ms}: "
        "the client refuses to start",
        "raise max.poll.interval.ms",
        f"{RDK_DOCS}, max.poll.interval.ms",
        client=ClientLibrary.LIBRDKAFKA,
    ),
    refused(
        "assignors-mixed",
        (ASSIGNORS,),
        lambda s: len(set(s.listed(ASSIGNORS))) > 1 and _COOPERATIVE in s.listed(ASSIGNORS),
        f"{ASSIGNORS}={{{ASSIGNORS}}}: librdkafka does not mix {_COOPERATIVE} with eager assignors, and "
        "refuses to start (the Java client mixes them, to change from one to the other)",
        f"set {ASSIGNORS}={_COOPERATIVE} alone, or leave it out; for the change stop the whole group",
        f"{RDK_DOCS}, {ASSIGNORS} (KIP-429)",
        client=ClientLibrary.LIBRDKAFKA,
    ),
    refused(
        "assignor-class",
        (ASSIGNORS,),
        lambda s: any(map(is_plain, s.listed(ASSIGNORS))),
        f"{ASSIGNORS}={{{ASSIGNORS}}}: the Java client takes names of classes, finds none and refuses "
        "to start; librdkafka has short names",
        "name classes, such as org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
        f"{CONSUMER_DOCS}, {ASSIGNORS}",
        client=ClientLibrary.JAVA,
    ),
    refused(
        "sasl-mechanism",
        ("sasl.mechanism", "security.protocol"),
        _other_mechanism,
        "sasl.mechanism={sasl.mechanism} is none of GSSAPI, PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and "
        "OAUTHBEARER (upper and lower case are told apart): librdkafka refuses to start, and brokers "
        "refuse the Java client",
        "name one of these",
        f"{RDK_DOCS}, sasl.mechanisms; Kafka documentation, Authentication using SASL",
    ),
    *(
        refused(
            rule,
            (
                "group.protocol",
                "session.timeout.ms",
                "heartbeat.interval.ms",
                "partition.assignment.strategy",
            ),
            lambda s: (
                s.says("group.protocol", "consumer")
                and s.names("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy")
            ),
            "group.protocol=consumer: the brokers configure session, heartbeat and assignment, and the "
            "client refuses session.timeout.ms, heartbeat.interval.ms and partition.assignment.strategy",
            "remove them; brokers have group.consumer.session.timeout.ms and others",
            "KIP-848",
            client=client,
            since=since,
        )
        for rule, client, since in (
            ("new-protocol-java", ClientLibrary.JAVA, "4.0"),
            ("new-protocol-librdkafka", ClientLibrary.LIBRDKAFKA, None),
        )
    ),
)
