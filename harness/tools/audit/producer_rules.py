"""Rules about producers. Refusals were tried with Java clients 2.8.2 to 4.4.0 and librdkafka 2.16."""

from __future__ import annotations

from harness.model.finding_class import FindingClass
from harness.tools.audit.effective_settings import EffectiveSettings
from harness.tools.audit.known_settings import ClientLibrary
from harness.tools.audit.rule import JAVA_DOCS, NOT_IDEMPOTENT, RDK_DOCS, AuditRule, RuleProof, refused, risk

_IN_FLIGHT = "max.in.flight.requests.per.connection"
_TRIES = 3
"""With time for fewer tries a batch may time out unanswered: with 1,500 and 1,000 ms 33 records were written
twice."""


def _too_many_in_flight(effective: EffectiveSettings) -> bool:
    return _IN_FLIGHT in effective.written and effective.number(_IN_FLIGHT) > 5


def _may_repeat(effective: EffectiveSettings) -> bool:
    """Whether a record that was sent again may be in the log twice."""
    may = effective.producing and not effective.idempotent and effective.acks != "0"
    return may and effective.number("retries") > 0


def _gives_up_at_once(effective: EffectiveSettings) -> bool:
    return (
        effective.written.get("retries") == "0" and effective.acks != "0" and not effective.wants_idempotence
    )


def _short_delivery(effective: EffectiveSettings) -> bool:
    needed = effective.number("linger.ms") + effective.number("request.timeout.ms")
    return "delivery.timeout.ms" in effective.written and effective.number("delivery.timeout.ms") < needed


def _acks_all(effective: EffectiveSettings) -> str:
    """The topic's minimum ISR is advised only where it is known to be 1."""
    alone = effective.number("min.insync.replicas") == 1
    return "set acks=all and min.insync.replicas=2" if alone else "set acks=all"


RULES: tuple[AuditRule, ...] = (
    refused(
        "idempotence-acks",
        ("enable.idempotence", "acks"),
        lambda s: s.says("enable.idempotence", "true") and s.acks != "all",
        "an idempotent producer needs acks=all, but acks={acks}: both clients refuse to start",
        "set acks=all",
        f"{JAVA_DOCS}, enable.idempotence (KIP-98); {RDK_DOCS}, enable.idempotence",
    ),
    refused(
        "idempotence-in-flight",
        ("enable.idempotence", _IN_FLIGHT),
        lambda s: s.wants_idempotence and _too_many_in_flight(s),
        f"an idempotent producer may have 5 requests in flight, not {{{_IN_FLIGHT}}}: a broker remembers the "
        "last 5 batches of a producer. The client refuses to start",
        f"set {_IN_FLIGHT} to 5 or leave it out",
        f"{JAVA_DOCS}, {_IN_FLIGHT}; {RDK_DOCS}, enable.idempotence",
    ),
    refused(
        "default-idempotence-in-flight",
        ("enable.idempotence", _IN_FLIGHT),
        lambda s: "enable.idempotence" not in s.written and s.idempotent and _too_many_in_flight(s),
        f"an idempotent producer, which is the default, may have 5 requests in flight, not {{{_IN_FLIGHT}}}. "
        "The client refuses to start; before Kafka 4.0 it switched idempotence off",
        f"set {_IN_FLIGHT} to 5 or leave it out, or set enable.idempotence=false",
        f"{JAVA_DOCS}, {_IN_FLIGHT} (KAFKA-13673)",
        client=ClientLibrary.JAVA,
        since="4.0",
    ),
    refused(
        "idempotence-retries",
        ("enable.idempotence", "retries"),
        lambda s: s.says("enable.idempotence", "true") and s.written.get("retries") == "0",
        "an idempotent producer needs retries above 0, but retries=0: both clients refuse to start",
        "leave retries out; delivery.timeout.ms limits the time of the retries",
        f"{JAVA_DOCS}, retries; {RDK_DOCS}, enable.idempotence",
    ),
    refused(
        "transactional-not-idempotent",
        ("transactional.id", "enable.idempotence", "acks", "retries"),
        lambda s: (
            s.transactional
            and (
                s.says("enable.idempotence", "false")
                or ("enable.idempotence" not in s.written and s.rules_out_idempotence)
            )
        ),
        "transactions need idempotence, which enable.idempotence=false, acks other than all or retries=0 "
        "rule out: both clients refuse to start",
        "set enable.idempotence=true and acks=all, and leave retries out",
        f"{JAVA_DOCS}, transactional.id (KIP-98); {RDK_DOCS}, transactional.id",
    ),
    refused(
        "delivery-timeout-java",
        ("delivery.timeout.ms", "linger.ms", "request.timeout.ms"),
        _short_delivery,
        "delivery.timeout.ms={delivery.timeout.ms} is less than linger.ms={linger.ms} + "
        "request.timeout.ms={request.timeout.ms}: the client refuses to start",
        "raise delivery.timeout.ms, or lower request.timeout.ms",
        f"{JAVA_DOCS}, delivery.timeout.ms (KIP-91)",
        client=ClientLibrary.JAVA,
    ),
    refused(
        "delivery-timeout-librdkafka",
        ("delivery.timeout.ms", "linger.ms"),
        lambda s: (
            0 < s.number("delivery.timeout.ms") <= s.number("linger.ms")
            and s.names("delivery.timeout.ms", "linger.ms")
        ),
        "message.timeout.ms (delivery.timeout.ms) is {delivery.timeout.ms}, not greater than "
        "linger.ms={linger.ms}: the client refuses to start",
        "raise delivery.timeout.ms, or lower linger.ms",
        f"{RDK_DOCS}, message.timeout.ms",
        client=ClientLibrary.LIBRDKAFKA,
    ),
    refused(
        "transaction-shorter-than-delivery",
        ("transactional.id", "delivery.timeout.ms", "transaction.timeout.ms"),
        lambda s: (
            s.transactional
            and "delivery.timeout.ms" in s.written
            and s.number("delivery.timeout.ms") > s.number("transaction.timeout.ms")
        ),
        "delivery.timeout.ms={delivery.timeout.ms} is longer than "
        "transaction.timeout.ms={transaction.timeout.ms}: the client refuses to start",
        "lower delivery.timeout.ms, or raise transaction.timeout.ms",
        f"{RDK_DOCS}, message.timeout.ms",
        client=ClientLibrary.LIBRDKAFKA,
    ),
    refused(
        "gapless-not-idempotent",
        ("enable.gapless.guarantee", "enable.idempotence"),
        lambda s: s.says("enable.gapless.guarantee", "true") and not s.idempotent,
        "enable.gapless.guarantee needs enable.idempotence=true: the client refuses to start",
        "set enable.idempotence=true",
        f"{RDK_DOCS}, enable.gapless.guarantee",
        client=ClientLibrary.LIBRDKAFKA,
    ),
    risk(
        "acks-0",
        ("acks",),
        lambda s: s.producing and s.acks == "0",
        "acks=0: no broker ever answers. The client itself reports success, errors are not noticed and "
        "retries have no effect",
        "set acks=all where records matter",
        f"{JAVA_DOCS}, acks",
        FindingClass.UNCONFIRMED_ABSENT,
        RuleProof("kill-leader", ("acks=0",)),
    ),
    risk(
        "acks-1",
        ("acks",),
        lambda s: s.producing and s.acks == "1",
        "acks=1: records that only the leader has are lost if it fails, or leadership is moved as planned (a "
        "preferred election, a reassignment, a broker that is stopped), before followers have fetched them",
        _acks_all,
        f"{JAVA_DOCS}, acks; KAFKA-20554",
        FindingClass.LOST,
        RuleProof("cut-then-kill", ("acks=1",)),
    ),
    risk(
        "idempotence-switched-off",
        ("acks", "retries", _IN_FLIGHT, "enable.idempotence"),
        lambda s: (
            s.producing
            and s.idempotent_by_default
            and "enable.idempotence" not in s.written
            and not s.idempotent
        ),
        "idempotence, which is the default, is silently switched off: acks, retries or (before Kafka 4.0) "
        "more than 5 requests in flight rule it out",
        "set enable.idempotence=true with acks=all, or enable.idempotence=false to show that it is intended",
        f"{JAVA_DOCS}, enable.idempotence (KIP-679, KAFKA-13673)",
        FindingClass.DUPLICATE,
        NOT_IDEMPOTENT,
        ClientLibrary.JAVA,
        since="3.0.1",
    ),
    risk(
        "not-idempotent",
        ("enable.idempotence", "acks", "retries"),
        lambda s: _may_repeat(s) and not (s.idempotent_by_default and "enable.idempotence" not in s.written),
        "retries without idempotence: a record whose acknowledgement was lost is written again, and is in "
        "the log twice",
        "set enable.idempotence=true",
        f"{JAVA_DOCS}, enable.idempotence (KIP-98); {RDK_DOCS}, enable.idempotence",
        FindingClass.DUPLICATE,
        NOT_IDEMPOTENT,
    ),
    risk(
        "order",
        (_IN_FLIGHT, "retries", "enable.idempotence"),
        lambda s: _may_repeat(s) and s.number(_IN_FLIGHT) > 1,
        f"{{{_IN_FLIGHT}}} requests in flight and retries without idempotence: a retried batch may be "
        "written after its successor",
        f"set enable.idempotence=true, or {_IN_FLIGHT}=1",
        f"{JAVA_DOCS}, {_IN_FLIGHT}",
        FindingClass.REORDERED,
    ),
    risk(
        "no-retries",
        ("retries",),
        lambda s: _gives_up_at_once(s) and s.client is not ClientLibrary.LIBRDKAFKA,
        "retries=0: sends fail at every leader election, and the application must handle each failure",
        "leave retries out; delivery.timeout.ms limits the time of the retries",
        f"{JAVA_DOCS}, retries",
    ),
    risk(
        "no-retries-librdkafka",
        ("retries",),
        lambda s: _gives_up_at_once(s) and s.client is ClientLibrary.LIBRDKAFKA,
        "retries=0: most errors fail a send at once, but after an answer that names another leader "
        "librdkafka sends the batch again all the same, and it may be in the log twice",
        "set enable.idempotence=true, and leave retries out; delivery.timeout.ms limits their time",
        "librdkafka, rd_kafka_handle_Produce_error; findings/retries-0-sends-again.sh; KAFKA-13574",
        FindingClass.DUPLICATE,
    ),
    risk(
        "unanswered-until-delivery-timeout",
        ("enable.idempotence", "delivery.timeout.ms", "socket.timeout.ms"),
        lambda s: (
            s.producing
            and s.idempotent
            and not s.transactional
            and s.names("delivery.timeout.ms", "socket.timeout.ms")
            and 0 < s.number("delivery.timeout.ms") < _TRIES * s.number("socket.timeout.ms")
        ),
        "socket.timeout.ms={socket.timeout.ms} is more than a third of "
        "delivery.timeout.ms={delivery.timeout.ms}: after a request without an answer there is no time to "
        "send it again, and its batch times out. The producer then takes a new epoch, and writes again what "
        "was in flight behind that batch, though it is idempotent",
        "set socket.timeout.ms to a third of delivery.timeout.ms or less, or raise delivery.timeout.ms",
        f"{RDK_DOCS}, socket.timeout.ms; librdkafka 4953",
        FindingClass.DUPLICATE,
        client=ClientLibrary.LIBRDKAFKA,
    ),
    risk(
        "request-timeout-lag",
        ("request.timeout.ms", "replica.lag.time.max.ms"),
        lambda s: (
            s.producing
            and not s.idempotent
            and "replica.lag.time.max.ms" in s.written
            and s.number("request.timeout.ms") <= s.number("replica.lag.time.max.ms")
        ),
        "request.timeout.ms={request.timeout.ms} is not larger than the brokers' "
        "replica.lag.time.max.ms={replica.lag.time.max.ms}: a slow follower makes the producer send again",
        "raise request.timeout.ms, or set enable.idempotence=true",
        f"{JAVA_DOCS}, request.timeout.ms",
        FindingClass.DUPLICATE,
        NOT_IDEMPOTENT,
    ),
)
