"""What retention, compaction and the steps of an experiment may delete. Names and defaults: Kafka
documentation, Topic and Broker Configs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from checkers.int64 import INT64_MAX
from harness.model.run import RunMeta

_WEEK_MS = 7 * 24 * 3600 * 1000
_UNITS_MS = {"minutes": 60_000, "hours": 3_600_000}


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
            return INT64_MAX
        if self.retention_ms < 0 or now_ns is None:
            return None
        return now_ns - self.retention_ms * 1_000_000


def retention(topic: Mapping[str, str], brokers: Mapping[str, str]) -> Retention:
    """Retention of a topic from its own configuration, else the brokers', else Kafka's defaults."""
    age = topic.get("retention.ms", brokers.get("log.retention.ms"))
    for unit, size_ms in _UNITS_MS.items():
        value = brokers.get(f"log.retention.{unit}")
        if age is None and value is not None:
            age = str(max(int(value) * size_ms, -1))
    size = topic.get("retention.bytes", brokers.get("log.retention.bytes"))
    return Retention(
        deletes="delete" in _cleanup(topic, brokers),
        retention_ms=_WEEK_MS if age is None else int(age),
        retention_bytes=int(size or -1),
    )


def compacts(topic: Mapping[str, str], brokers: Mapping[str, str]) -> bool:
    """Whether a topic keeps only the newest record of each key."""
    return "compact" in _cleanup(topic, brokers)


def age_by_own_time(topic: Mapping[str, str], brokers: Mapping[str, str]) -> bool:
    """Whether brokers tell the age of a record by the time that its producer gave it, as they do unless the
    topic has their own time, that of the append to the log (message.timestamp.type)."""
    default = brokers.get("log.message.timestamp.type", "CreateTime")
    return topic.get("message.timestamp.type", default) != "LogAppendTime"


def _cleanup(topic: Mapping[str, str], brokers: Mapping[str, str]) -> list[str]:
    policy = topic.get("cleanup.policy", brokers.get("log.cleanup.policy")) or "delete"
    return [word.strip() for word in policy.split(",")]


def recreated(meta: RunMeta) -> tuple[int, ...]:
    """When steps deleted the run's topic and created it again (ns), in order of time."""
    return tuple(
        sorted(
            deletion.at_ns
            for deletion in meta.deletions
            if deletion.before is None and deletion.topic == meta.topic
        )
    )


@dataclass(frozen=True)
class Policy:
    """What may have deleted records of a run.

    `newest_deletable_ns`: retention may have deleted what has a time up to then (None: nothing). `own_times`:
    whether that is the record's own time (`age_by_own_time`), the time of its append, or, since the setting
    was changed, either of them. `compacts`: the topic keeps only the newest record of each key. Steps and
    faults of the experiment deleted the records below the offsets `deleted_before`, by partition (None: every
    partition), and created the topic again at `recreated_ns`; the last of them was at `deleted_ns` (None:
    there was none).
    """

    newest_deletable_ns: int | None
    own_times: frozenset[bool]
    compacts: bool
    deleted_before: Mapping[int | None, int]
    recreated_ns: int | None
    deleted_ns: int | None

    @classmethod
    def of(cls, meta: RunMeta) -> Policy:
        topic, brokers, steps = meta.topic_config, meta.cluster.properties, meta.deletions
        before: dict[int | None, int] = {}
        for step in steps:
            if step.before is not None:
                before[step.partition] = max(step.before, before.get(step.partition, 0))
        finished_ns = meta.final_read.finished_ns if meta.final_read is not None else None
        # What a fault has set for a time counts as long as it was in force.
        in_force = [(topic, finished_ns)]
        in_force += [
            ({**topic, **changed_config.config}, changed_config.until_ns or finished_ns)
            for changed_config in meta.changed_configs
        ]
        newest = (retention(config, brokers).newest_deletable_ns(until) for config, until in in_force)
        return cls(
            newest_deletable_ns=max((at_ns for at_ns in newest if at_ns is not None), default=None),
            own_times=frozenset(age_by_own_time(config, brokers) for config, _ in in_force),
            compacts=any(compacts(config, brokers) for config, _ in in_force),
            deleted_before=before,
            recreated_ns=max((step.at_ns for step in steps if step.before is None), default=None),
            deleted_ns=max((step.at_ns for step in steps), default=None),
        )
