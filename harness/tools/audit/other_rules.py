"""Rules about consumers, transactions and connections."""

from __future__ import annotations

from harness.model.finding_class import FindingClass
from harness.tools.audit.effective_settings import ASSIGNORS, EffectiveSettings, is_plain
from harness.tools.audit.known_settings import ClientLibrary
from harness.tools.audit.rule import (
    CONSUMER_DOCS,
    RDK_DOCS,
    TRANSACTIONS,
    AuditRule,
    contradiction,
    refused,
    risk,
)
from harness.tools.audit.value_forms import seconds_of

_COOPERATIVE = "cooperative-sticky"
_MECHANISMS = ("GSSAPI", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_LATEST = ("latest", "largest", "end")
_BY_DURATION = "by_duration:"


def _by_brokers(effective: EffectiveSettings) -> bool:
    """Whether brokers assign partitions (KIP-848): a group then hears of new ones with a heartbeat, not with
    the next refresh of metadata."""
    return effective.has("group.protocol", "consumer")


def _discovery_ms(effective: EffectiveSettings) -> int:
    """How long a group may not know of a new partition."""
    return effective.number(
        "group.consumer.heartbeat.interval.ms" if _by_brokers(effective) else "metadata.max.age.ms",
        5_000 if _by_brokers(effective) else 300_000,
    )


def _starts_too_late(effective: EffectiveSettings) -> bool:
    """Whether a group goes back by less than the time in which it may not know of a new partition."""
    value = effective.written.get("auto.offset.reset", "")
    back = seconds_of(value.removeprefix(_BY_DURATION)) if value.startswith(_BY_DURATION) else None
    return back is not None and back * 1000 < _discovery_ms(effective)


def _instead_of_latest(effective: EffectiveSettings) -> str:
    """What keeps a group from passing over records: by_duration is Java's since Kafka 4.0 (KIP-1106)."""
    if effective.client is not ClientLibrary.JAVA or effective.kafka < (4,):
        return "set auto.offset.reset=earliest where every record counts"
    if _by_brokers(effective):
        time, longer = f"PT{-(-_discovery_ms(effective) // 1000)}S", "group.consumer.heartbeat.interval.ms"
    else:
        time, longer = f"PT{_discovery_ms(effective) // 60_000 + 1}M", "metadata.max.age.ms and a rebalance"
    return (
        "set auto.offset.reset=earliest where every record counts. Where old records are not wanted, set "
        f"auto.offset.reset={_BY_DURATION}{time}, which is longer than {longer}: a new partition is then "
        "read from its start"
    )


def _other_mechanism(effective: EffectiveSettings) -> bool:
    """Whether SASL is used with a mechanism that librdkafka does not know, or that is in another case. The
    Java client may have mechanisms of its own."""
    name = effective.value("sasl.mechanism") or ""
    unknown = name not in _MECHANISMS and (
        effective.client is ClientLibrary.LIBRDKAFKA or name.upper() in _MECHANISMS
    )
    return unknown and is_plain(name) and effective.has("security.protocol", "sasl_plaintext", "sasl_ssl")


RULES: tuple[AuditRule, ...] = (
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
        "range) starts at the end and never gets earlier records. One that owned an empty partition has "
        "often committed nothing: what is written while it is away is skipped, too. So is what is written to "
        "added partitions before a group that is reading learns of them",
        _instead_of_latest,
        f"{CONSUMER_DOCS}, auto.offset.reset (KAFKA-20539)",
        FindingClass.SKIPPED,
    ),
    risk(
        "by-duration-short",
        ("auto.offset.reset", "group.protocol", "metadata.max.age.ms"),
        lambda s: s.consuming and _starts_too_late(s),
        "auto.offset.reset={auto.offset.reset}: a group may learn of an added partition only after "
        "metadata.max.age.ms={metadata.max.age.ms} and a rebalance (with group.protocol=consumer after "
        "group.consumer.heartbeat.interval.ms). It then goes back by too little, and skips what was written "
        "before",
        _instead_of_latest,
        f"{CONSUMER_DOCS}, auto.offset.reset (KAFKA-20539)",
        FindingClass.SKIPPED,
        client=ClientLibrary.JAVA,
        since="4.0",
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
