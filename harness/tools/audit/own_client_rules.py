"""Rules that only clients with names of their own have: when each applies. The file of a client says of which
rules it has words, and they speak of no other client."""

from __future__ import annotations

from functools import partial

from harness.model.finding_class import FindingClass
from harness.tools.audit.effective_settings import EffectiveSettings
from harness.tools.audit.known_settings import ClientLibrary
from harness.tools.audit.rule import NOT_IDEMPOTENT, AuditRule, Severity

_IN_FLIGHT = "max.in.flight.requests.per.connection"
_SESSION_MS = "broker.session.timeout.ms"
_ELECTION = 1.5
"""Sessions of a broker that died until its partitions have other leaders, and clients know them."""
_MOST_RETRIES = 1000


def retry_time_ms(effective: EffectiveSettings) -> float:
    """For how long a send is tried again, without the time of the tries. The pauses of kafkajs are doubled,
    those of kafka-go grow with the square of their number, both up to a longest one."""
    retries, pause = effective.number("retries"), float(effective.number("retry.backoff.ms"))
    factor, longest = effective.number("retry.multiplier", 2), effective.number("retry.backoff.max.ms")
    numbers = range(1, min(retries, _MOST_RETRIES) + 1)
    if effective.client is ClientLibrary.KAFKA_GO:
        return sum(min(number * number * pause, longest) for number in numbers)
    if effective.client is not ClientLibrary.KAFKAJS:
        return retries * pause
    total = 0.0
    for _ in numbers:
        total, pause = total + pause, min(pause * factor, longest)
    return total


def _ends_early(effective: EffectiveSettings) -> bool:
    """Whether retries end before a leader is elected. An idempotent producer of @platformatic/kafka has no
    end of them."""
    without_end = effective.client is ClientLibrary.PLATFORMATIC and effective.idempotent
    may = effective.producing and effective.acks != "0" and effective.number("retries") > 0
    time = _ELECTION * effective.number(_SESSION_MS, 9000)
    return may and not without_end and retry_time_ms(effective) < time


def _commits(effective: EffectiveSettings) -> bool:
    """Whether a group commits by itself."""
    return effective.consuming and effective.has("enable.auto.commit", "true")


def _in_a_group(effective: EffectiveSettings) -> bool:
    return effective.consuming and bool(effective.written.get("group.id"))


def _reads_committed(effective: EffectiveSettings) -> bool:
    return effective.consuming and effective.has("isolation.level", "read_committed")


_refused = partial(AuditRule, Severity.REFUSED, says="", do="", source="")
_contradiction = partial(AuditRule, Severity.CONTRADICTION, says="", do="", source="")
_risk = partial(AuditRule, Severity.RISK, says="", do="", source="")

RULES: tuple[AuditRule, ...] = (
    _refused(
        id="idempotence-one-in-flight",
        settings=("enable.idempotence", _IN_FLIGHT),
        applies=lambda s: s.idempotent and s.number(_IN_FLIGHT) > 1,
    ),
    _refused(
        id="default-idempotence-acks",
        settings=("acks", "enable.idempotence"),
        applies=lambda s: "enable.idempotence" not in s.written and s.acks != "all",
    ),
    _refused(
        id="transaction-without-idempotence",
        settings=("transactional.id", "enable.idempotence"),
        applies=lambda s: s.transactional and not s.says("enable.idempotence", "true"),
    ),
    _refused(
        id="transaction-acks",
        settings=("transactional.id", "acks"),
        applies=lambda s: s.transactional and s.acks != "all" and not s.says("enable.idempotence", "true"),
    ),
    _refused(
        id="heartbeat-not-lower",
        settings=("heartbeat.interval.ms", "session.timeout.ms"),
        applies=lambda s: s.consuming and s.number("heartbeat.interval.ms") >= s.number("session.timeout.ms"),
    ),
    _contradiction(
        id="acks-of-the-constructor",
        settings=("constructor.acks", "acks"),
        applies=lambda s: (
            "constructor.acks" in s.written
            and not s.idempotent
            and s.value("constructor.acks") != s.value("acks")
        ),
        finding=FindingClass.LOST,
    ),
    _contradiction(
        id="read-committed-unfiltered",
        settings=("isolation.level",),
        applies=_reads_committed,
        finding=FindingClass.ABORTED_READ,
    ),
    _risk(
        id="idempotence-ruled-out",
        settings=("acks", "retries", _IN_FLIGHT, "enable.idempotence"),
        applies=lambda s: s.producing and "enable.idempotence" not in s.written and not s.idempotent,
        finding=FindingClass.DUPLICATE,
        proof=NOT_IDEMPOTENT,
    ),
    _risk(
        id="idempotent-not-awaited",
        settings=("enable.idempotence",),
        applies=lambda s: s.producing and s.idempotent,
        finding=FindingClass.REORDERED,
    ),
    _risk(
        id="retries-end-early",
        settings=("retries", "retry.backoff.ms", "retry.backoff.max.ms", _SESSION_MS),
        applies=_ends_early,
    ),
    _risk(
        id="batch-not-retried",
        settings=("retries",),
        applies=lambda s: s.producing and s.acks != "0",
    ),
    _risk(
        id="send-not-awaited",
        settings=("Async",),
        applies=lambda s: s.producing and s.says("Async", "true"),
        finding=FindingClass.UNCONFIRMED_ABSENT,
    ),
    _risk(
        id="aborted-handed-out",
        settings=("isolation.level", "transactional.id"),
        applies=lambda s: _reads_committed(s) and s.transactional,
        finding=FindingClass.ABORTED_READ,
    ),
    _risk(
        id="mode-ignores-commits",
        settings=("mode",),
        applies=lambda s: s.consuming and s.value("mode") == "latest",
        finding=FindingClass.SKIPPED,
    ),
    _risk(
        id="fallback-latest",
        settings=("mode", "auto.offset.reset"),
        applies=lambda s: (
            s.consuming and s.value("mode") == "committed" and s.has("auto.offset.reset", "latest")
        ),
        finding=FindingClass.SKIPPED,
    ),
    _risk(
        id="auto-commit-skips",
        settings=("enable.auto.commit",),
        applies=_commits,
        finding=FindingClass.SKIPPED,
    ),
    _risk(
        id="auto-commit-repeats",
        settings=("enable.auto.commit",),
        applies=_commits,
        finding=FindingClass.REDELIVERED,
    ),
    _risk(
        id="commit-before-return",
        settings=("group.id",),
        applies=_in_a_group,
        finding=FindingClass.SKIPPED,
    ),
    _risk(
        id="greedy-commit",
        settings=("GreedyAutoCommit",),
        applies=lambda s: s.consuming and s.says("GreedyAutoCommit", "true"),
        finding=FindingClass.SKIPPED,
    ),
    _risk(
        id="rebalance-in-poll",
        settings=("group.id", "BlockRebalanceOnPoll"),
        applies=lambda s: _in_a_group(s) and not s.says("BlockRebalanceOnPoll", "true"),
        finding=FindingClass.REDELIVERED,
    ),
    _risk(
        id="batch-resolved-whole",
        settings=("eachBatchAutoResolve",),
        applies=lambda s: s.consuming and s.says("eachBatchAutoResolve", "true"),
        finding=FindingClass.SKIPPED,
    ),
)
