"""Rules about what brokers delete and compact: settings that they refuse together, and times that count."""

from __future__ import annotations

from harness.model.finding_class import FindingClass
from harness.tools.audit.effective_settings import EffectiveSettings
from harness.tools.audit.known_settings import SettingKind
from harness.tools.audit.rule import BROKER_DOCS, TOPIC_DOCS, AuditRule, refused, risk

_LEAST_LAG = ("min.compaction.lag.ms", "log.cleaner.min.compaction.lag.ms")
_MOST_LAG = ("max.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms")
_NO_LIMIT = 2**63 - 1
_BY_RETENTION = -2
"""Of local.retention.*: as much as retention.* says."""
_WEEK = 7 * 24 * 3_600_000
_BROKERS_RETENTION = {
    "log.retention.ms": 1,
    "log.retention.minutes": 60_000,
    "log.retention.hours": 3_600_000,
}
"""The first one that is given counts, in milliseconds."""
_TYPES = ("message.timestamp.type", "log.message.timestamp.type")
_POLICIES = ("cleanup.policy", "log.cleanup.policy")
_OLDEST = (
    *("message.timestamp.before.max.ms", "log.message.timestamp.before.max.ms"),
    *("message.timestamp.difference.max.ms", "log.message.timestamp.difference.max.ms"),
)
"""Brokers refuse records that are older; the second pair was removed in Kafka 4.0."""


def _first(effective: EffectiveSettings, names: tuple[str, ...], otherwise: int) -> int:
    """The topic's value, else the broker's for its topics."""
    return next((effective.number(name, otherwise) for name in names if name in effective.written), otherwise)


def _text(effective: EffectiveSettings, names: tuple[str, ...], otherwise: str) -> str:
    return next((effective.written[name] for name in names if name in effective.written), otherwise)


def _retention(effective: EffectiveSettings) -> int:
    """The milliseconds that records are kept for; -1: they are not deleted by their age."""
    if "retention.ms" in effective.written:
        return effective.number("retention.ms", -1)
    given = next((name for name in _BROKERS_RETENTION if name in effective.written), None)
    if given is None:
        return _WEEK
    kept = effective.number(given, -1)
    return kept * _BROKERS_RETENTION[given] if kept >= 0 else -1


def _ages_by_producers(effective: EffectiveSettings) -> bool:
    """Whether records are deleted by the time that their producer gave them, however old that is."""
    kept = _retention(effective)
    return (
        kept >= 0
        and _text(effective, _TYPES, "CreateTime") == "CreateTime"
        and "delete" in _text(effective, _POLICIES, "delete")
        and _first(effective, _OLDEST, _NO_LIMIT) > kept
    )


def _local_above_total(effective: EffectiveSettings, what: str) -> bool:
    total = effective.number(f"retention.{what}", -1)
    local = effective.number(f"local.retention.{what}", _BY_RETENTION)
    tiered = effective.says("remote.storage.enable", "true")
    return tiered and total != -1 and (local == -1 or local > total)


_AGES = (
    ": the age of a record counts from the time that its producer gave it (CreateTime), not from when it was "
    "written. Late and imported events that are older than the retention may be deleted at once"
)

RULES: tuple[AuditRule, ...] = (
    risk(
        "create-time",
        ("message.timestamp.type", "retention.ms", "message.timestamp.before.max.ms"),
        lambda s: (
            (SettingKind.TOPIC in s.kinds or "retention.ms" in s.written)
            and s.names("retention.ms", "message.timestamp.type")
            and _ages_by_producers(s)
        ),
        "retention.ms={retention.ms}" + _AGES,
        "set message.timestamp.type=LogAppendTime; or message.timestamp.before.max.ms to retention.ms or "
        "less, so that brokers refuse such records, and the producer learns of it",
        f"{TOPIC_DOCS}, message.timestamp.type, message.timestamp.before.max.ms (KIP-32, KIP-937)",
        FindingClass.EXPIRED,
    ),
    risk(
        "create-time-broker",
        ("log.message.timestamp.type", *_BROKERS_RETENTION),
        lambda s: (
            (s.names("log.message.timestamp.type") or _retention(s) != _WEEK)
            and not s.names("retention.ms", "message.timestamp.type")
            and _ages_by_producers(s)
        ),
        "records of topics without settings of their own are kept for a limited time" + _AGES,
        "set log.message.timestamp.type=LogAppendTime; or log.message.timestamp.before.max.ms to the "
        "retention or less, so that brokers refuse such records, and the producer learns of it",
        f"{BROKER_DOCS}, log.message.timestamp.type, log.message.timestamp.before.max.ms (KIP-32, KIP-937)",
        FindingClass.EXPIRED,
    ),
    refused(
        "compaction-lag",
        (*_LEAST_LAG, *_MOST_LAG),
        lambda s: (
            _first(s, _LEAST_LAG, 0) > _first(s, _MOST_LAG, _NO_LIMIT)
            or _first(s, _LEAST_LAG[1:], 0) > _first(s, _MOST_LAG[1:], _NO_LIMIT)
        ),
        "the least time before a record is compacted (min.compaction.lag.ms, of brokers "
        "log.cleaner.min.compaction.lag.ms) is longer than the longest one (max.compaction.lag.ms): brokers "
        "refuse such a topic, and do not start if their own settings say so",
        "lower min.compaction.lag.ms, or raise max.compaction.lag.ms",
        f"{TOPIC_DOCS}, max.compaction.lag.ms (KIP-354); LogConfig.validate, and a broker of Kafka 4.4.0",
    ),
    *(
        refused(
            f"local-retention-{what}",
            (f"local.retention.{what}", f"retention.{what}", "remote.storage.enable"),
            lambda s, what=what: _local_above_total(s, what),  # type: ignore[misc]
            f"local.retention.{what}={{local.retention.{what}}} is more than "
            f"retention.{what}={{retention.{what}}}: brokers refuse such a topic with remote storage",
            f"lower local.retention.{what}, or leave it out",
            f"{TOPIC_DOCS}, local.retention.{what} (KIP-405)",
            since="3.6",
        )
        for what in ("ms", "bytes")
    ),
    refused(
        "remote-compacted",
        ("remote.storage.enable", "cleanup.policy"),
        lambda s: s.says("remote.storage.enable", "true") and "compact" in s.listed("cleanup.policy"),
        "remote.storage.enable=true with cleanup.policy={cleanup.policy}: brokers keep no compacted topic in "
        "remote storage, and refuse it",
        "set cleanup.policy=delete, or remote.storage.enable=false",
        f"{TOPIC_DOCS}, remote.storage.enable (KIP-405)",
        since="3.6",
    ),
)
