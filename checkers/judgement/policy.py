"""What retention and compaction may delete. Names and defaults: Kafka documentation, Topic and Broker
Configs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_WEEK_MS = 7 * 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Retention:
    """Retention in force for a topic: `retention_ms` and `retention_bytes` below 0 mean without limit."""

    deletes: bool
    retention_ms: int
    retention_bytes: int

    def newest_deletable_ns(self, now_ns: int | None) -> int | None:
        """Send times up to this one may have been deleted by `now_ns`; None: none by age.

        Deletion by size does not depend on time: with a size limit, every send time qualifies.
        """
        if not self.deletes:
            return None
        if self.retention_bytes >= 0:
            return 2**63 - 1
        if self.retention_ms < 0 or now_ns is None:
            return None
        return now_ns - self.retention_ms * 1_000_000


def retention(topic: Mapping[str, str], brokers: Mapping[str, str]) -> Retention:
    """Retention of a topic from its own configuration, else the brokers', else Kafka's defaults."""

    def setting(name: str, broker_name: str) -> str | None:
        return topic.get(name, brokers.get(broker_name))

    age = setting("retention.ms", "log.retention.ms")
    if age is None:
        for unit, size_ms in (("minutes", 60_000), ("hours", 3_600_000)):
            value = brokers.get(f"log.retention.{unit}")
            if value is not None:
                age = str(int(value) * size_ms if int(value) >= 0 else -1)
                break
    policy = setting("cleanup.policy", "log.cleanup.policy") or "delete"
    size = setting("retention.bytes", "log.retention.bytes") or "-1"
    return Retention(
        deletes="delete" in [word.strip() for word in policy.split(",")],
        retention_ms=_WEEK_MS if age is None else int(age),
        retention_bytes=int(size),
    )


def compacts(topic: Mapping[str, str], brokers: Mapping[str, str]) -> bool:
    """Whether a topic keeps only the newest record of each key."""
    policy = topic.get("cleanup.policy", brokers.get("log.cleanup.policy")) or "delete"
    return "compact" in [word.strip() for word in policy.split(",")]
